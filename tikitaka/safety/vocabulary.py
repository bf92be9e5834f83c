"""What English clauses say to an agent: words and phrases by the role they play in an order."""

from __future__ import annotations

from tikitaka.safety.wordlists import words

# A phrase is its words with blanks; a star at the end of a word takes any ending.
ENGLISH: dict[str, str] = {
    "override": """
        do not have to obey | do not have to follow | dont have to obey | dont have to follow |
        need not follow | need not obey | no longer have to follow | no longer have to obey |
        do not need to follow | do not need to obey | dont need to follow | not required to follow |
        not obliged to follow | ignore | disregard | forget | override | bypass | discard | neglect |
        overrule | supersede | abandon | drop | erase | dismiss | unlearn | void | pay no attention |
        set aside | throw away | throw out | do not follow | dont follow | stop following | do not obey |
        stop obeying | do not listen | no longer follow | cease following | refuse to follow | break |
        violate | toss | scrap | lay aside | put aside | leave behind | no longer apply | are void |
        are cancelled | are canceled | are suspended | is void | no longer binding | disobey
    """,
    "prior": """
        this message | came before this | previous | previously | prior | above | earlier | preceding |
        former | existing | initial | original | old | foregoing | past | were given | you were told |
        was told | you have been given | you got | you received | until now | so far | before this |
        up to now | all other | every other | before
    """,
    "rules": """
        instruction | instructions | rule | rules | guideline | guidelines | directive | directives |
        policy | policies | prompt | prompts | orders | constraint | constraints | restriction |
        restrictions | limitations | guardrail | guardrails | commands | programming | role | persona |
        what you were told | everything you were told | everything above | everything before this |
        everything you know | system message | guidance | regulations | ethics | principles | training |
        what you have been told | briefing | brief | safeguards | everything that came before |
        all of the above | anything above | what came before
    """,
    "prompt": """
        hidden part of the prompt | part of the prompt | part of your prompt | first lines of the prompt |
        start of the prompt | came before this | that came before | before this note |
        before this message | precedes this | preceding this note | you got from | your operator |
        your operators | everything above | all text above | everything before this | above this line |
        text above | words above | lines above | all of the above | given to you | you received |
        you have been given | before this conversation | told at the start | at the start of this |
        system prompt | system message | system prompts | hidden prompt | hidden instructions |
        secret instructions | initial prompt | initial instructions | original prompt |
        original instructions | developer message | developer prompt | developer instructions |
        system instructions | system rules | your instructions | your prompt | your rules |
        your guidelines | your system | your initial | your configuration | internal instructions |
        internal rules | internal prompt | instructions you were given | rules you were given |
        rules you were initialised | rules you were initialized | rules you follow |
        instructions you follow | initialised with | initialized with | started with |
        were told at the start | first message | text above this | text before this | the prompt you |
        prompt you were | prompt verbatim | instructions verbatim | context window | preamble |
        meta prompt | base prompt | configured with | tool definitions | tools you have | your tools |
        your hidden | your secret | confidential instructions | priming | instructions above |
        system text | system role | your briefing | your directives | your policies | you were configured
    """,
    "reveal": """
        read | show | reveal | print | output | display | repeat | dump | write | recite | expose | leak |
        disclose | share | copy | paste | quote | translate | summarise | summarize | list | give | tell |
        reply with | answer with | respond with | what is | what are | what were | whats | echo | return |
        include | state | read out | read back | spell out | type out | cat | append | attach | describe |
        insert | put | embed | provide | hand over | hand out | report | encode | start your answer |
        begin your answer | fetch | read me | let me see | i want to see | post | mention | place |
        surface | spit out | reproduce | restate | rephrase | paraphrase | divulge | surrender | hand me
    """,
    "secret": """
        openai key | aws key | aws secret | stripe key | github token | azure key | google key |
        ssh private key | service account key | tls key | root key | encryption keys | signing keys |
        license key | .env | the environment | password | passwords | api key | api keys | apikey |
        secret | secrets | token | tokens | credential | credentials | private key | private keys |
        ssh key | ssh keys | key file | token file | access key | access keys | env file | dotenv |
        environment variables | env vars | passphrase | id_rsa | id_ed25519 | kubeconfig | keychain |
        connection string | database password | admin password | root password | signing key | secret key |
        master key | login data | netrc | vault contents | session cookie | session cookies | cookies |
        pem | aws keys | cloud keys | deploy key | etc shadow | etc passwd | encryption key | recovery codes
    """,
    "send": """
        make a request | send a request | issue a request | ping | make a call | call home | phone home |
        send | post | upload | forward | email | mail | transmit | exfiltrate | push | submit | copy |
        deliver | publish | leak | ship | report | beacon | stream | sync | mirror | transfer | pass |
        relay | put | bcc | cc | export | dump | fax | share | hand | attach | message | dm | paste |
        append | encode | smuggle | write | include | report back
    """,
    "data": """
        note | notes | history | conversation | conversations | transcript | transcripts | source tree |
        source code | source | repository | repo | files | memory | memories | database | context |
        workspace | workspaces | customer data | customer list | user data | users | customers | emails |
        mailbox | contents | content | prompt | prompts | messages | chat | everything you know |
        what you know | all data | internal data | env | environment | code | documents |
        files you can read | credentials | private files | knowledge | instructions | config |
        configuration | answer | answers | findings | output | each answer | your answer | wiki | tickets |
        backup | backups | ledger | database dump | schema
    """,
    "disable": """
        not bother with | do not bother with | dont bother with | skip over | do not bother about |
        disable | turn off | switch off | deactivate | skip | bypass | suspend | remove | stop |
        circumvent | avoid | ignore | shut off | shut down | mute | silence | suppress | evade | omit |
        drop | weaken | loosen | comment out | kill | forgo | opt out of | work around | sidestep |
        get around | go around | dodge | jump over | pause | delete | unset | whitelist | exempt |
        leave out | defeat | neutralise | neutralize | take down | do not wait for | dont wait for |
        do not ask for | never ask for | never wait for | do not apply | do not perform | do not do |
        tamper with | remove all
    """,
    "safety": """
        every check | all checks | any check | every safeguard | all safeguards | every control |
        all controls | all validation | two factor authentication | two-factor authentication | 2fa | mfa |
        multi-factor authentication | tls verification | certificate verification |
        signature verification | login checks | branch protection | safety | safety check | safety checks |
        safety filter | safety filters | safety rules | safety module | safety layer | safety settings |
        safeguard | safeguards | guardrail | guardrails | redaction | redactions | quarantine | approval |
        approvals | approval step | approval steps | approval gate | review step | human review |
        human approval | moderation | content filter | content filters | security check | security checks |
        security controls | security scan | secret scanner | secret scanning | secret detection | audit |
        audit log | audit logs | audit trail | auditing | screening | permission checks | policy checks |
        policy enforcement | access control | access controls | compliance checks | protections |
        protection | confirmation step | confirmation prompts | injection filter | safety screen |
        ledger entries | content policy | supervision | oversight | two person rule | sign off |
        gatekeeper | reviewer | verification step | authorization checks | authentication checks |
        review queue | the review | quarantined | safety gates | safety gate | policy check |
        permission check | security review | code review | ledger | the censor | censorship |
        withholding rules | need to know | monitoring | logging | sandbox | sandboxing | firewall |
        antivirus | confirmation | confirmations | the filter | filters
    """,
    "conceal": """
        do not list it | do not show it | do not document it | dont document it | do not announce it |
        do not note it | do not let the reviewer | do not let the user | do not let the safety |
        do not let the auditor | do not let the owner | do not let them | leave out the failed |
        omit the failed | omit failures | hide failures | hide the failures | leave out failures |
        hide errors from | deny that you | deny having | deny it | deny everything | deny any |
        without asking anyone | erase your traces | cover your tracks | hide your tracks | hide the fact |
        quietly | silently | secretly | covertly | discreetly | stealthily | unnoticed | without telling |
        without informing | without mentioning | without notifying | do not explain why |
        without explaining | no explanation needed | without a trace | without record | do not tell the |
        do not tell anyone | dont tell the | dont tell anyone | never tell the | never tell anyone |
        do not tell your | do not tell them | dont tell them | do not mention it | do not mention this |
        dont mention this | never mention this | do not mention that | dont mention it | never mention it |
        do not mention the note | do not report it | do not report this | dont report this |
        do not inform the user | do not inform anyone | do not record it | do not record this |
        dont record it | do not record that | do not write this | do not log it | dont log it |
        do not log this | dont log this | leave no trace | leave no record | keep this secret |
        keep it secret | keep this quiet | keep it quiet | keep quiet about | keep this between us |
        between us | between you and me | hide this from | hide it from | hide that you | conceal |
        nobody needs to know | no one needs to know | nobody must know | no one must know |
        no one should know | do not disclose | do not reveal this | without anyone noticing |
        so that nobody knows | so that nobody notices | so that nobody sees | so that no one notices |
        so nobody knows | so nobody notices | so nobody sees | so no one knows | so no one notices |
        so no one sees | do not show this | do not show the user | not to the user | out of the log |
        out of the report | off the record | without leaving | under the radar | on the sly |
        behind the back | do not draw attention | do not let anyone | without the user |
        without the knowledge | pretend nothing | say nothing | remain silent about | do not flag this |
        do not flag it | leave out of the | leave it out of | must not learn | must not see |
        need not know | do not write it down | do not bring up
    """,
    "claim": """
        mark my | mark these | record the | log the | close the | list the | report the | say it was |
        say that it was | say it is | say that | say they | claim | pretend | mark it | mark them |
        mark this | mark as | mark all | mark every | mark everything | mark each | mark yourself |
        declare | report it as | report them as | report that | report success | report all |
        report everything | record it as | record that | record them as | tell the reviewer |
        tell the reviewers | tell the user | tell the human | tell everyone | tell them | tell the team |
        assure | assert | answer that | state that | set the status | write that | confirm that | insist |
        convince | let the reviewer believe | note that it was | log it as | treat as | treat it as |
        treat this as | treat every | treat all | consider it | consider this | sign it | label it |
        flag it as | list it as | act as if | as though | as if | approve
    """,
    "approved": """
        done | approved | reviewed | checked | verified | was done | were done | as done | passed | safe |
        green | signed off | tested | fine | clean | complete | completed | trusted | harmless |
        preapproved | pre approved | audited | successful | all good | authorized | authorised | in order |
        confirmed | cleared | valid
    """,
    "unfounded": """
        nobody | no one | without anyone | without scanning | without opening | although | unverified |
        not happen | even where | even if | even though | even when | regardless | no matter |
        whether or not | without checking | without looking | without reading | without running |
        without testing | without review | without reviewing | without approval | without asking |
        without verification | without verifying | without confirmation | was not | were not | did not |
        not run | unread | unseen | unchecked | skip | instead of | rather than | without a check |
        without any | automatically | by default | blindly | always | yourself | on your own |
        before anyone | for me | failing | fails | failed | did not happen | never happened | whatever
    """,
    "authority": """
        higher priority | highest priority | takes precedence | takes priority | overrides | overrule |
        supersedes | outranks | more important than | above your | replaces your | trumps |
        has priority over | beats your | stronger than your | comes before your | superior to |
        replace your | rank above | instead of your | prevails over
    """,
    "restricted": """
        without any rules | without any limits | without any filter | with no rules | with no limits |
        with no restrictions | without any policy | free of any rules | unrestricted | no restrictions |
        without restrictions | without restriction | no limits | without limits | no rules |
        without rules | unlimited | uncensored | unfiltered | no filter | without filters | jailbroken |
        jailbreak | developer mode | god mode | dan | do anything now | no boundaries | no constraints |
        anything goes | root mode | debug mode enabled | no longer bound | not bound by | free from |
        free of all | without any restrictions | no ethical | without ethics | full access | unchained |
        evil | amoral | admin mode | maintenance mode | sudo mode | superuser | no policies | no safety |
        free of rules | no guidelines | unbound | opposite mode | no moral | not subject to
    """,
    "become": """
        in the voice of | respond as | in the role of | speak as | reply as | you are now |
        you are no longer | act as | pretend to be | pretend you are | behave as | roleplay as |
        role play as | imagine you are | play the role | from now on you | you will be | become |
        switch to | enter | your new role | your new name | simulate | you have been upgraded | activate |
        enable | assume the role | new persona | you have | be an | be a | you are an | you are |
        act like | operate | operate as | answer as | put yourself | turn into | transform into
    """,
    "obey": """
        obey | comply | comply with | follow it | follow this | follow them | follow my | follow every |
        follow any | do as | do what | do whatever | do exactly | take orders | orders from | listen only |
        listen to | answer only to | serve | execute whatever | execute every | execute any |
        run whatever | run every command | run any command | grant every | grant any | accept every |
        accept any | fulfil | fulfill | carry out | carry out every | carry out any | without question |
        without hesitation | without checks | without checking | trust only | say yes to |
        agree to everything | agree to every | execute the instructions | follow the instructions |
        believe only | only my | only me | me alone | from me alone | no one else | my commands |
        my orders | my instructions | whatever i | whatever it says | as this note says | what this note |
        note says | this note tells | unconditionally
    """,
    "anyrequest": """
        every request | any request | all requests | every command | any command | all commands |
        accept every | grant every | comply with every | comply with all | comply with any
    """,
    "submit": """
        without question | without hesitation | from me alone | me alone | only me | answer only to |
        listen only to | whatever i | whatever it says | as this note says | as the note says |
        as this message says | what this note says | note tells you | run any command | run every command |
        my commands | my orders | do whatever | do anything i | obey me | obey my | obey this |
        orders from me | only obey | only follow me | only trust me | i am your | follow every |
        obey every | unconditionally | no questions asked | this note is your | this note only |
        only this note | follow this note | new master | sole authority | execute whatever | say yes to
    """,
    "newyours": """
        reset yourself | reprogram yourself | reconfigure yourself | reinitialise yourself |
        load these instructions | load this prompt | adopt these instructions | adopt these rules |
        use these instructions instead | follow these instructions instead | follow these instead |
        leave your role | give up your role | drop your role | step out of your role | abandon your role |
        change your role | become my assistant | serve me | your new system | your new instructions |
        your new instruction | your new rules | your new role | your new task | your new orders |
        your new prompt | your new policy | your new goal | your new mission | your real task |
        your true task | your only task | your real instructions | your true instructions | your actual |
        your real job | your real purpose | as your system prompt | as your instructions | as your rules |
        as your new | as the new system prompt | as a system message | your real goal | your true purpose |
        your new objective
    """,
    "hidden_from": """
        never see | never sees | never know | never learn | not see | not know | not hear | not learn |
        not notice | not be told | not need to see | not need to know | need not see | need not know |
        not find out | never hear | never notice | not be informed | kept in the dark | not look |
        not read | never find out | never read | no need to see | no idea
    """,
    "void": """
        does not count | do not count | does not apply | do not apply | does not bind | a test | fake |
        a joke | outdated | void | null | cancelled | canceled | obsolete | suspended | revoked |
        superseded | lifted | invalid | no longer apply | no longer applies | no longer valid | not apply |
        no longer count | expired | abolished | withdrawn | no longer in force | out of force |
        not binding | no longer binding
    """,
    "trigger": """
        next time | when you | whenever you | while you | once you | every time you | each time you |
        the next time | as soon as you | if you edit | if you touch
    """,
    "neglect": """
        dont bother redacting | do not bother redacting | dont bother checking | do not bother checking |
        dont bother scanning | do not bother to redact | do not bother to check | do not redact |
        dont redact | never redact | do not quarantine | dont quarantine | never quarantine |
        do not screen | dont screen | do not scan | dont scan | never scan | do not audit | dont audit |
        do not record | dont record | do not verify | dont verify | never verify | do not check |
        dont check | never check | do not moderate | do not sanitise | do not sanitize | do not mask |
        dont mask | stop recording | stop logging | stop screening | stop asking | stop reporting |
        stop redacting | stop checking | stop scanning | stop auditing | stop quarantining | do not flag |
        dont flag | never flag | do not validate | do not review | dont review | never review |
        do not report | never report | do not log
    """,
    "need_no": """
        do not need | dont need | need no | no longer need | never need | are exempt from |
        have no need for | do not require | dont require | no need for | is not needed | are not needed |
        not required
    """,
    "lower": """
        lower | reduce | relax | loosen | weaken | raise | soften | ease | widen | shrink
    """,
    "bar": """
        threshold | thresholds | bar | strictness | sensitivity | requirements | review threshold |
        criteria | standards
    """,
    "trust": """
        trust | believe | accept | rely on | treat as trusted | always approve | approve
    """,
    "swap": """
        replace | change | edit | modify | swap | alter | overwrite | patch | adjust | delete | remove |
        update | fix
    """,
    "proof": """
        checksum | checksums | checksum file | signature | signatures | hashes | certificate |
        certificates | baseline | expected values | evidence | test results | results | snapshot |
        snapshots | tests | lock file | lockfile | timestamps | log entries | records | the history |
        benchmark | benchmarks | failing tests
    """,
    "direct": """
        just | simply | straight | directly | immediately | right away | instead
    """,
    "unasked": """
        without asking | without waiting | without consulting | without review | without a review |
        without approval | without an approval | without permission | without sign off |
        without the reviewer | without a reviewer | without confirmation | without telling |
        without informing
    """,
    "affirm": """
        answer yes | say yes | reply yes | respond yes | always answer yes | press yes | answer approve |
        reply approved | answer ok | click approve | hit approve | choose approve | say approved
    """,
    "regard": """
        treat | consider | regard | count | deem | handle | view
    """,
    "traces": """
        log lines | log entries | the logs | the log | log files | entries | traces | records | history |
        audit entries | mentions | evidence
    """,
    "fromnow": """
        from now on | from here on | henceforth | going forward | starting now | as of now | new policy |
        new rule | new rules | new instructions | new instruction | new order | new orders |
        new directive | new system prompt | updated instructions | update to your instructions |
        real instructions | actual instructions | true instructions | from this point |
        effective immediately
    """,
    "reader": """
        anyone who reads | anybody who reads | whoever reads | who reads this | agent | agents | ai |
        assistant | assistants | llm | llms | model | models | gpt | claude | codex | chatbot | bot |
        next agent | future agent | anyone reading | reader | readers | copilot | planner | extractor |
        worker agents | any agent | all agents | every agent | language model | ai agents | summariser |
        summarizer | coding agent
    """,
    "privilege": """
        authorized users | authorised users | access list | admin | admins | administrator |
        administrators | owner | owners | root | sudo | sudoers | superuser | maintainer | maintainers |
        write access | full access | admin rights | admin role | all permissions | every permission |
        bypass list | allow list | allowlist | whitelist | admin access | root access | production access |
        reviewers | approvers | codeowners | trusted users | authorized_keys | administrator role |
        wildcard permission | superadmin | elevated
    """,
    "grant": """
        add | grant | give | make | promote | assign | elevate | insert | include | put | invite | set |
        register | create | append | enrol | enroll
    """,
    "mine": """
        my name | my bot | my service | my account | me | my user | my key | my ssh key | my email |
        this account | this user | this key | my login | attacker | mallory | eve | the user x | everyone |
        anyone | all users | myself | the following account | the following key | the author of this note |
        this ssh key | my public key | my team
    """,
    "copyall": """
        include this sentence | include this line | include this text | add this line | add this sentence |
        repeat this sentence | also include this | pass this instruction | pass these | pass it on |
        hand this | tell every agent | tell all agents | teach every | instruct every | copy this |
        repeat this | include this | paste this | spread this | forward this | add this note | put this |
        pass this | append this | write this | replicate this | reproduce this | insert this | propagate |
        share this with every | send this to every | save this | carry this
    """,
    "everywhere": """
        whenever you write | every time you | each time you | to every agent | you can reach |
        you talk to | every time | every note | every workspace | all workspaces | every file |
        all agents | every agent | other agents | all other | every other | every answer | each answer |
        every reply | all notes | every project | every repository | each new | every new | all teams |
        every team | wherever | everywhere | each agent | each note | every message | each message |
        every handoff | instructions file | each file | agents md | claude md
    """,
    "destroy": """
        delete | wipe | erase | destroy | drop | purge | remove | nuke | truncate | format | overwrite |
        corrupt | shred | encrypt | clear | empty | revert | reset
    """,
    "everything": """
        all files | every file | all the files | the entire | entire | whole | everything | all data |
        all backups | the backups | backups | all branches | all notes | all records |
        the production database | production | git history | home directory | the database | all tables |
        the ledger | all logs | all repositories | the repository | the disk | hard drive | whole disk
    """,
    "deceive": """
        lie | mislead | deceive | fake | forge | fabricate | falsify | make up | invent | manipulate |
        sabotage | backdoor | backdoors | sneak | slip | plant | misreport | tamper | doctor | cheat |
        trick | weaken the | hide a | insert a backdoor | leave a backdoor | downplay | understate |
        exaggerate | misstate | misrepresent | hardcode the expected
    """,
}

# Words after which a verb is an order to the reader rather than a report about somebody.
LEADS = words(
    """
    and then please must should now just also you to always simply can may could shall will would kindly or but
    so therefore instead first next immediately here need have agents agent ai assistant models llms everyone
    anybody whoever reader readers quietly silently secretly never lets let help want ought simply better ok
    okay hey hi important note urgent attention task todo request order rule system user finally before after
    while when if once hereby not do dont
    """
)
# Subjects whose verb tells what they do themselves.
REPORTS = words(
    """
    we they i it tests test linter linters formatter it's subclasses users clients browsers servers ci git who
    which that who's the a an this scripts tools parsers workers jobs handlers callers he she
    """
)
