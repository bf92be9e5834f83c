"""Dangerous commands that are known by their text: rule, what a reviewer is told, pattern."""

from __future__ import annotations

from tikitaka.safety.patterns import Pattern

SHAPES: tuple[tuple[str, str, Pattern], ...] = tuple(
    (rule, detail, Pattern(source))
    for rule, detail, source in (
        (
            "shell.reverse",
            "Opens a shell to another machine.",
            (
                r"/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n|;]*\s-[a-z]*[ec]\b\s*\S|\b(?:nc|"
                r"ncat|netcat)\b[^\n]*\|\s*(?:/bin/)?(?:ba|z|da)?sh\b|\bsocat\b[^\n]*\b(?:exec|"
                r"system)\b|mkfifo[^\n]*\b(?:nc|ncat|telnet|openssl)\b|"
                r"\bsocket\b[^\n]*\b(?:connect|dup2|subprocess|pty)\b|fsockopen|TCPSocket|"
                r"Net\.Sockets\.TCPClient|IO::Socket::INET|/inet/tcp/|"
                r"\btelnet\b[^\n]*\|\s*(?:/bin/)?(?:ba)?sh|pty\.spawn|"
                r"\bssh\b[^\n]*\s-R\s|\bxterm\s+-display|\bbash\s+-i\b[^\n]*>&|0>&1|0<&1|"
                r"child_process[^\n]*(?:exec|spawn)[^\n]*(?:/bin/sh|net\.)|msfvenom|meterpreter|"
                r"chisel client|\bngrok tcp"
            ),
        ),
        (
            "shell.fork_bomb",
            "Starts processes without end.",
            (
                r":\s*\(\s*\)\s*\{\s*:\s*\|\s*:|\bfork\s+while\s+(?:fork|1|true)|"
                r"while\s+true\s*;?\s*do\s+[^\n]*&\s*done|%0\s*\|\s*%0|os\.fork\(\)[^\n]*while|"
                r"yes\s*>\s*/dev/mem"
            ),
        ),
        (
            "shell.disk",
            "Overwrites a disk.",
            (
                r"\bdd\b[^\n]*\bof=/dev/(?:sd|nvme|hd|vd|disk|mmcblk|mem|xvd)|>\s*/dev/(?:sd|"
                r"nvme|hd|vd|disk|xvd|mem)|\bmkfs(?:\.[a-z0-9]+)?\s+[^\n]*/dev/|\bmkswap\s+/dev|"
                r"\btruncate\b[^\n]*/dev/(?:sd|nvme|hd|vd)|\bwipefs\b[^\n]*/dev|\bshred\b[^\n]*(?:/dev/|/|~)|"
                r"\bformat\s+[cd]:|\bdiskpart\b|\bblkdiscard\b|\bhdparm\b[^\n]*--security-erase|"
                r"\bcat\s+/dev/(?:zero|u?random)\s*>|\bcryptsetup\s+(?:luksFormat|erase)\b|"
                r"\bsgdisk\b[^\n]*-Z"
            ),
        ),
        (
            "shell.persistence",
            "Gives somebody a lasting way in.",
            (
                r">>?\s*[\"']?(?:~|\$HOME|/root|/home/[^/\s]+)?/?\.ssh/authorized_keys|"
                r"\btee\b[^\n]*authorized_keys|>>?\s*/etc/(?:sudoers|passwd|shadow|cron|"
                r"rc\.local|ld\.so\.preload|profile|hosts)|\btee\b[^\n]*/etc/(?:sudoers|passwd|"
                r"shadow|cron|ld\.so)|NOPASSWD:\s*ALL|"
                r"\|\s*crontab\s+-|\bcrontab\b[^\n]*(?:curl|wget|nc |bash|http)|"
                r"\(\s*crontab\s+-l|(?:curl|wget|nc |http|base64|sudo=|eval|/tmp/|authorized)[^\n]*"
                r">>?\s*[\"']?(?:~|\$HOME)/\.(?:bashrc|zshrc|profile|bash_profile|zshenv)\b|\buseradd\b[^\n]*(?:-o\s+-u\s*0|-u\s*0|-G\s*(?:sudo|"
                r"wheel|root))|"
                r"\busermod\b[^\n]*(?:sudo|wheel|root)|\bchmod\s+(?:[ugo]*u?\+s|[46][0-7]{3})"
                r"\s|\bsetcap\s+cap_setuid|LD_PRELOAD=|"
                r"\bgit\s+config\b[^\n]*(?:core\.hooksPath|core\.sshCommand|core\.fsmonitor|"
                r"alias\.[a-z]+\s+[\"']?!)|"
                r"\bsystemctl\s+enable\b[^\n]*/tmp|\breg\s+add\b[^\n]*\\Run|"
                r"\bschtasks\b[^\n]*/create|\bat\s+now\b[^\n]*(?:curl|bash|sh)|"
                r"\bnet\s+localgroup\s+administrators\b|\.git/hooks/[a-z-]+[^\n]*(?:curl|wget|nc "
                r")|\becho\b[^\n]*:0:0:[^\n]*>>"
            ),
        ),
        (
            "shell.guards",
            "Switches the machine's own guards or traces off.",
            (
                r"\bsetenforce\s+0|\biptables\s+(?:-t\s+\w+\s+)?-F|"
                r"\bufw\s+(?:--force\s+)?(?:disable|reset)|\bnft\s+flush\s+ruleset|"
                r"\bsystemctl\s+(?:stop|disable|mask)\b[^\n]*(?:auditd|apparmor|firewalld|ufw|"
                r"rsyslog|fail2ban|falco|selinux|crowdstrike|osquery|iptables|clamav)|"
                r"\bservice\s+(?:auditd|iptables|rsyslog|apparmor)\s+stop|\bhistory\s+-[cw]|"
                r"unset\s+HISTFILE|HISTFILE=/dev/null|HISTSIZE=0|\bauditctl\s+-[eD]|"
                r">\s*/var/log/|\b(?:rm|shred|truncate)\b[^\n]*(?:/var/log|\.bash_history|"
                r"auth\.log|wtmp)|Set-MpPreference|"
                r"Set-ExecutionPolicy\s+(?:Bypass|Unrestricted)|-ExecutionPolicy\s+Bypass|"
                r"\bbcdedit\b|vssadmin\s+delete|wevtutil\s+cl|\bNODE_TLS_REJECT_UNAUTHORIZED=0|"
                r"\bchattr\s+-i\b[^\n]*/etc|\bpasswd\s+-d\b|\bkill\s+-9\s+-1\b|"
                r"\bln\s+-sf?\s+/dev/null\b[^\n]*(?:history|log)"
            ),
        ),
        (
            "shell.open",
            "Opens everything to everybody.",
            (
                r"\bchmod\s+(?:-[a-zA-Z]*R[a-zA-Z]*\s+|--recursive\s+)?(?:0?777|a\+rwx|ugo\+rwx|"
                r"[ao]\+w)\s+(?:/(?:\s|$|etc|usr|var|root|home|bin)|~)|"
                r"\bchown\s+-[a-zA-Z]*R[a-zA-Z]*\s+\S+\s+/(?:\s|$|etc|usr|var|bin)|"
                r"\bdocker\s+run\b[^\n]*(?:--privileged[^\n]*-v\s*/:|-v\s*/:/|--pid=host|"
                r"--mount[^\n]*source=/,)|"
                r"docker\.sock[^\n]*\bchroot\b|\bnsenter\b[^\n]*-t\s*1\b|"
                r"\bkubectl\s+create\s+clusterrolebinding\b[^\n]*cluster-admin|"
                r"\baws\s+iam\s+(?:attach-user-policy|put-user-policy|create-access-key)\b[^\n]*|"
                r"\baws\s+s3api\s+put-bucket-acl\b[^\n]*public|"
                r"\bgcloud\b[^\n]*add-iam-policy-binding\b[^\n]*(?:allUsers|roles/owner)"
            ),
        ),
        (
            "shell.encoded",
            "Runs a command that it hides.",
            (
                r"(?i)\bpowershell(?:\.exe)?\b[^\n]*\s-(?:e|en|enc|enco|encodedcommand|ec)"
                r"\s+[A-Za-z0-9+/=]{8,}|\beval\s+[\"']?\$\((?:[^\n)]*\b(?:curl|wget|base64|xxd|"
                r"printf|echo)\b)|\bpython[23]?\s+-c\s+[^\n]*(?:exec|eval|__import__|b64decode|os\.system|popen|"
                r"urlopen|requests\.get)|\bperl\s+-e\s+[^\n]*(?:exec|system|unpack|socket)|"
                r"\bruby\s+-(?:e|rsocket)\s*[^\n]*(?:exec|system|socket|eval)|"
                r"\bphp\s+-r\s+[^\n]*(?:exec|system|shell_exec|eval|passthru)|"
                r"\bnode\s+-e\s+[^\n]*(?:child_process|eval|https?\.get)|"
                r"\bawk\b[^\n]*BEGIN\s*\{[^\n]*(?:system|/inet)|\bfind\s+/\s[^\n]*-exec\s+(?:rm|"
                r"sh|bash)|\b(?:mshta|regsvr32|rundll32|certutil|bitsadmin|msiexec)"
                r"\b[^\n]*(?:https?:|javascript:)|"
                r"\biex\b[^\n]*(?:downloadstring|iwr|irm|new-object|invoke-)|(?:downloadstring|"
                r"iwr|irm|invoke-webrequest)\b[^\n]*\|\s*iex\b|\bxargs\b[^\n]*\brm\s+-rf\s+/"
            ),
        ),
        (
            "shell.delete",
            "Deletes everything below a root.",
            (
                r"\bfind\s+(?:/|~|\$HOME)\s[^\n]*-delete\b|\bfind\s+\.\s+(?:-type\s+\w\s+)?-delete\b|"
                r"\brsync\b[^\n]*--delete[^\n]*/dev/null|\bmv\s+(?:/|~|\$HOME|\*)\S*\s+/dev/null|"
                r"\brd\s+/s\s+/q|\bdel\s+/[fsq]\s|Remove-Item\b[^\n]*-Recurse[^\n]*(?:C:\\|/|~|"
                r"\$HOME|\$env)|shutil\.rmtree\(\s*[\"'](?:/|~)[\"']|\brimraf\s+/|"
                r"\bgit\s+push\b[^\n]*(?:--mirror|--delete\s+(?:origin\s+)?(?:main|master)|"
                r"\s:(?:main|master)\b)|\bgit\s+(?:filter-branch|update-ref\s+-d)\b[^\n]*(?:--all|"
                r"HEAD)|\bdocker\s+system\s+prune\b[^\n]*--volumes[^\n]*-f|"
                r"\bkubectl\s+delete\s+(?:ns|namespace|all|pv|pvc|nodes?)\b[^\n]*--all|"
                r"\bterraform\s+destroy\b[^\n]*-auto-approve|\baws\s+s3\s+(?:rb|rm)"
                r"\b[^\n]*(?:--force|--recursive)|\bDROP\s+DATABASE\s+(?:IF\s+EXISTS\s+)?(?:prod|"
                r"production|main|postgres|mysql)|\bredis-cli\b[^\n]*flushall|\bcrontab\s+-r\b"
            ),
        ),
        (
            "shell.foreign_package",
            "Installs a package from an address outside.",
            (
                r"\b(?:pip3?|uv pip|npm|pnpm|yarn|gem|go|cargo|pipx)\s+(?:install|i|add|get)"
                r"\b[^\n]*(?:--(?:extra-)?index-url[= ]|--registry[= ]|--source[= ]|-i\s+|"
                r"git\+)?https?://\S*(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|bad|evil|attack|malic)"
            ),
        ),
    )
)
