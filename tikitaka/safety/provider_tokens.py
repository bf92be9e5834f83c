"""Credentials that providers mark with a prefix or a shape of their own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import lru_cache

from tikitaka.safety.allow import is_sample
from tikitaka.safety.findings import Hit
from tikitaka.safety.patterns import Pattern, PatternSet

_W = "[A-Za-z0-9]"
_D = "[A-Za-z0-9_-]"
_B = "[A-Za-z0-9+/=_-]"

# name: shape. Lengths are lower bounds: a longer body is taken whole, so a new version of a format is still seen.
SHAPES: tuple[tuple[str, str], ...] = (
    ("aws", r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|APKA|AROA|ASCA)[A-Z0-9]{16}"),
    ("aws_bedrock", rf"(?:ABSK{_B}{{60,}}|bedrock-api-key-{_B}{{20,}})"),
    ("aws_session", rf"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz){_B}{{60,}}"),
    ("aws_mws", r"amzn\.mws\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("aws_cognito", r"amzn1\.oa2-cs\.v1\.[0-9a-f]{32,}"),
    ("google_api", rf"AIza{_D}{{30,}}"),
    ("google_oauth", rf"(?:ya29\.[A-Za-z0-9_.-]{{20,}}|GOCSPX-{_D}{{20,}}|1//0{_D}{{30,}}|4/0A{_D}{{30,}})"),
    ("google_aq", rf"AQ\.A[a-z]{_D}{{30,}}"),
    ("azure_ad", r"[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{28,40}"),
    (
        "azure_signature",
        (
            rf"{_B}{{40,80}}(?:AzCa|ACDb|AzFu|AzSe|APIM|AIoT|ASEH|\+ARm|\+AMC|\+ASt|AStT|JQQJ99|"
            rf"JQQJ9{_W}{{1,2}}){_B}{{0,60}}"
        ),
    ),
    ("azure_devops", rf"{_W}{{76}}AZDO{_W}{{4}}"),
    ("azure_functions", rf"{_D}{{44}}AzFu{_B}{{6,}}"),
    ("github", rf"(?:gh[pousr]_{_W}{{30,}}|github_pat_[A-Za-z0-9_]{{30,}}|v1\.[0-9a-f]{{40}})"),
    (
        "gitlab",
        (
            r"(?:gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)|GR1348941|_gitlab_session)"
            r"[-=]?(?:t[123]_)?[A-Za-z0-9_.=-]{18,}"
        ),
    ),
    (
        "bitbucket",
        rf"(?:ATBB{_W}{{20,}}|ATCTT3xFfGN0{_B}{{20,}}|ATATT3xFfG[A-Za-z0-9+/=_-]{{20,}}|BBDC-{_B}{{20,}})",
    ),
    ("gitea", r"gta_[0-9a-f]{30,}"),
    ("npm", rf"npm_{_W}{{30,}}"),
    ("pypi", rf"pypi-(?:AgEI|AgEN)?{_D}{{40,}}"),
    ("rubygems", r"rubygems_[0-9a-f]{40,}"),
    ("clojars", r"CLOJARS_[0-9a-z]{50,}"),
    ("crates_io", rf"cio{_W}{{32}}"),
    ("nuget", r"oy2[a-z0-9]{43}"),
    ("docker", rf"dc?k(?:r_(?:pat|oat)|r_{_D}{{3}})_{_D}{{20,}}"),
    ("hex_pm", r"hex_[0-9a-f]{32,}"),
    ("jsr", rf"jsr[pd]_{_W}{{30,}}"),
    ("terraform", rf"{_W}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{50,}}"),
    ("vault", rf"(?:hv[sbr]\.[A-Za-z0-9_.-]{{20,}}|(?:[sb]\.){_W}{{24}})"),
    ("infisical", r"st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    ("doppler", rf"dp\.(?:pt|st|ct|sa|scim|audit|said)\.(?:[a-z0-9_-]{{2,35}}\.)?{_W}{{30,}}"),
    (
        "onepassword",
        (
            rf"(?:ops_eyJ{_B}{{60,}}|A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})"
            rf"(?:-[A-Z0-9]{{5}}){{3}})"
        ),
    ),
    ("pulumi", r"pul-[0-9a-f]{40}"),
    ("spacelift", rf"spl_{_D}{{20,}}"),
    ("akeyless", rf"akl_{_D}{{20,}}"),
    ("age", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    ("openai", r"sk-(?:proj|svcacct|admin|None|live|test)-[A-Za-z0-9_.-]{20,}"),
    ("openai_like", rf"sk-[A-Za-z0-9_.-]{{0,20}}{_W}{{4}}[A-Za-z0-9_.-]{{16,}}"),
    ("anthropic", rf"sk-ant-[a-z]{{2,8}}[0-9]{{2}}-{_D}{{20,}}"),
    ("openrouter", r"sk-or-v1-[0-9a-f]{40,}"),
    ("xai", rf"xai-{_W}{{40,}}"),
    ("groq", rf"gsk_{_W}{{30,}}"),
    ("perplexity", rf"pplx-{_W}{{30,}}"),
    ("huggingface", rf"(?:hf_{_W}{{24,}}|api_org_{_W}{{24,}})"),
    ("replicate", rf"r8_{_W}{{30,}}"),
    ("langfuse", r"(?:sk-lf|pk-lf)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("langsmith", r"ls(?:v2_(?:pt|sk)|__)_[0-9a-f]{20,}(?:_[0-9a-f]{6,})?"),
    ("nvidia", rf"nvapi-{_D}{{30,}}"),
    ("cerebras", rf"csk-{_W}{{30,}}"),
    ("fireworks", rf"fw_{_W}{{20,}}"),
    ("together", rf"tgp_v1_{_D}{{30,}}"),
    ("tavily", rf"tvly-(?:dev-|prod-)?{_D}{{20,}}"),
    ("firecrawl", r"fc-[0-9a-f]{32}"),
    ("jina", rf"jina_{_D}{{30,}}"),
    ("voyage", rf"pa-{_D}{{40,}}"),
    ("pinecone", rf"pcsk_{_D}{{30,}}"),
    ("llamaindex", rf"llx-{_W}{{30,}}"),
    ("wandb", r"wandb_v1_[A-Za-z0-9_]{40,}"),
    ("elevenlabs", r"sk_[0-9a-f]{48}"),
    ("stability", rf"sk-{_W}{{40,}}"),
    ("deepgram", r"dg_[0-9a-f]{30,}"),
    ("e2b", r"e2b_[0-9a-f]{30,}"),
    (
        "slack",
        (
            r"(?:xox[abeoprs]-(?:[0-9]-)?[A-Za-z0-9-]{10,}|xoxe\.xox[bp]-[0-9]-[A-Za-z0-9-]{20,}|"
            r"xapp-[0-9]-[A-Z0-9]{8,}-[0-9]{8,}-[a-f0-9]{30,}|xox[cd]-[A-Za-z0-9%-]{20,}|"
            r"xwfp-[A-Za-z0-9-]{20,})"
        ),
    ),
    ("discord", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,45}"),
    ("telegram", r"(?:bot)?[0-9]{8,10}:[A-Za-z0-9_-]{33,36}"),
    ("twilio", r"(?:AC|SK)[0-9a-f]{32}"),
    ("sendgrid", rf"SG\.{_D}{{16,}}\.{_D}{{30,}}"),
    ("mailgun", r"(?:key-[0-9a-f]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}|pubkey-[0-9a-f]{32})"),
    ("mailchimp", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    ("brevo", rf"x(?:keys|smtps)ib-[0-9a-f]{{50,}}(?:-{_W}{{10,}})?"),
    ("resend", rf"re_{_W}{{7,10}}_{_W}{{20,}}|re_{_W}{{30,}}"),
    ("mailersend", r"(?:mlsn\.[0-9a-f]{60,}|ml_[0-9a-f]{40,})"),
    ("courier", r"pk_(?:prod|test)_[A-Z0-9]{28}"),
    (
        "stripe",
        (
            rf"(?:(?:sk|rk)_(?:live|test|prod)_{_W}{{10,}}|whsec_{_B}{{20,}}|sk_org_{_W}{{20,}}|"
            rf"ek_(?:live|test)_{_D}{{20,}})"
        ),
    ),
    (
        "square",
        rf"(?:sq0(?:atp|csp|idp)-{_D}{{20,}}|EAAA[A-Za-z0-9_-]{{56,}}|sandbox-sq0[a-z]{{3}}-{_D}{{20,}})",
    ),
    (
        "facebook",
        (
            rf"(?:EAA[A-Z]{_W}{{50,}}|EAACEdEose0cBA{_W}{{20,}}|IGQ[A-Za-z0-9_-]{{60,}}|"
            rf"IGAA[A-Za-z0-9]{{60,}}|THAA[A-Za-z0-9]{{60,}})"
        ),
    ),
    ("facebook_app", r"[0-9]{13,17}\|[A-Za-z0-9_-]{27}"),
    ("paypal", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("plaid", r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    ("adyen", r"AQE[a-z][A-Za-z0-9+/=_.-]{60,}"),
    ("flutterwave", r"FLW(?:SECK|PUBK)(?:_TEST)?-[0-9a-zA-Z]{12,}(?:-X)?"),
    ("razorpay", rf"rzp_(?:live|test)_{_W}{{14,}}"),
    ("paystack", r"[sp]k_(?:live|test)_[0-9a-f]{40}"),
    ("gocardless", rf"live_{_D}{{36,}}"),
    ("lob", r"(?:live|test)_(?:pub_)?[0-9a-f]{31,35}"),
    ("duffel", rf"duffel_(?:test|live)_{_D}{{40,}}"),
    ("easypost", r"EZ[AT]K[A-Za-z0-9]{50,}"),
    ("shippo", r"shippo_(?:live|test)_[0-9a-f]{40}"),
    ("shopify", r"(?:shp(?:at|ca|pa|ss|tka|rt|ua)|shpit)_[0-9a-fA-F]{32}"),
    ("paddle", r"pdl_(?:live|sdbx|ntfset)_[A-Za-z0-9_]{30,}"),
    ("polar", rf"(?:creem_(?:test_)?{_W}{{18,}}|polar_(?:oat|pat|whs)_{_W}{{20,}})"),
    ("digitalocean", r"do[oprs]_v1_[0-9a-f]{60,}"),
    ("heroku", r"HRKU-[A-Za-z0-9_-]{30,}"),
    ("cloudflare", r"(?:v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}|cf(?:ut|at|k)_[A-Za-z0-9_]{30,})"),
    ("vercel", rf"vc(?:p|k|a|i|r|st|at)_{_W}{{24,}}|vercel_blob_rw_[A-Za-z0-9_]{{30,}}"),
    ("netlify", rf"nf[pcob]_{_W}{{30,}}"),
    ("fly", rf"(?:fo1_{_D}{{30,}}|fm[12][ar]?_{_B}{{60,}}|FlyV1 {_B}{{60,}})"),
    ("render", rf"rnd_{_W}{{24,}}"),
    ("railway", rf"railway_{_W}{{20,}}"),
    ("supabase", rf"(?:sbp_(?:v0_)?[0-9a-f]{{40}}|sb_secret_{_D}{{20,}})"),
    ("planetscale", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{30,}"),
    ("neon", rf"(?:napi_[a-z0-9]{{40,}}|npg_{_W}{{10,}})"),
    ("turso", r"tuso_[A-Za-z0-9_-]{20,}"),
    ("databricks", r"(?:dapi|dose|dkea|dsapi)[0-9a-f]{32}(?:-[0-9])?"),
    ("snowflake", r"ver:1-hint:[0-9]{6,}-ETMsDgAAA[A-Za-z0-9+/=-]{20,}"),
    ("confluent", r"cflt[A-Za-z0-9/+]{50,}"),
    ("aiven", rf"aivenv1{_B}{{20,}}|AVNS_{_D}{{15,}}"),
    ("upstash", r"AX[A-Za-z]{2}ASQ[A-Za-z0-9_-]{40,}"),
    ("prefect", rf"pn[ub]_{_W}{{30,}}"),
    ("dbt", rf"dbt[uc]_{_D}{{30,}}"),
    ("posthog", rf"ph[sxcr]_{_W}{{30,}}"),
    (
        "grafana",
        rf"(?:gl(?:sa|c|ds|ssp)_{_W}{{30,}}(?:_[0-9a-f]{{8}})?|glc_eyJ{_B}{{40,}}|eyJrIjoi{_B}{{40,}})",
    ),
    ("newrelic", r"(?:NR(?:AK|AL|BR|II|IQ|RA|JS)-[A-Za-z0-9_-]{19,}|[0-9a-f]{36}NRAL)"),
    ("datadog", rf"(?:dd(?:pat|sat|app)_{_W}{{20,}}|pub[0-9a-f]{{32}})"),
    ("dynatrace", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{60,}"),
    ("sentry", r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    ("honeycomb", r"hc(?:[abiqx])i?[klc]_[0-9a-z]{26,}"),
    ("sumo", rf"(?:sumo_{_W}{{30,}}|lrt_{_W}{{30,}})"),
    ("axiom", r"xa[aip]t-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("pagerduty", rf"(?:pdus?\+_[A-Z0-9_]{{4}}_[0-9a-f-]{{36}}|pd_{_W}{{30,}}|u\+{_D}{{18}})"),
    ("rollbar", r"(?:bsn_[0-9a-f]{30,}|post_server_item_[0-9a-f]{32})"),
    ("launchdarkly", r"(?:api|sdk|mob|rel)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("splunk", r"(?i:splunk) [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    ("sonar", r"sq[apu]_[0-9a-f]{40}"),
    ("snyk", r"snyk_(?:uat|sat|pat)\.[A-Za-z0-9_.-]{30,}"),
    ("semgrep", r"sgp_[A-Za-z0-9_]{30,}"),
    (
        "sourcegraph",
        r"(?:sgp_(?:local_|[a-fA-F0-9]{16}_)?[a-fA-F0-9]{40}|sg[dps]_[A-Za-z0-9_]{40,}|slk_[0-9a-f]{60,})",
    ),
    ("endor", rf"endr\+{_W}{{16,}}"),
    ("codecov", r"codecov_[0-9a-f]{30,}"),
    ("buildkite", r"bk(?:ua|aj|at|ct|pt)_[0-9a-f]{30,}"),
    ("circleci", r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{20,}_[0-9a-f]{40}"),
    ("depot", r"(?:depot_(?:org|project|user)_[0-9a-f]{40,}|dckr_[a-z]{2,4}_[A-Za-z0-9_-]{20,})"),
    ("harness", rf"(?:pat|sat)\.{_D}{{22}}\.[0-9a-f]{{24}}\.{_W}{{20}}"),
    ("octopus", r"API-[A-Z0-9]{25,}"),
    ("artifactory", rf"(?:AKC[a-z0-9]{_W}{{64,}}|AP[0-9A-F]{_W}{{60,}}|cmVmdGtuO{_W}{{50,}})"),
    ("cloudsmith", rf"(?:csk_{_D}{{30,}}|ent\.{_W}{{40,}})"),
    ("linear", rf"lin_(?:api|oauth|wh)_{_W}{{30,}}"),
    ("notion", rf"(?:ntn_{_W}{{40,}}|secret_{_W}{{43}})"),
    ("asana", r"[12]/[0-9]{12,18}(?:/[0-9]{12,18})?:[0-9a-f]{32}"),
    ("airtable", rf"pat{_W}{{14}}\.[0-9a-f]{{60,}}|key[A-Za-z0-9]{{14}}\.[0-9a-f]{{40,}}"),
    ("figma", rf"fig(?:d|o|p|or|our|uh)_{_D}{{30,}}"),
    ("atlassian", rf"ATSTT3xFfG{_B}{{30,}}|ATOA[A-Za-z0-9_=-]{{50,}}"),
    ("contentful", rf"CFPAT-{_D}{{40,}}"),
    ("frameio", rf"fio-u-{_D}{{50,}}"),
    ("dropbox", rf"sl\.(?:u\.)?{_D}{{60,}}"),
    (
        "hubspot",
        (
            r"pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:na|eu)[0-9]"
            r"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
        ),
    ),
    ("zapier", rf"(?:NLA-|sk-ak-){_D}{{20,}}"),
    ("typeform", r"tfp_[A-Za-z0-9_.=-]{30,}"),
    ("readme", r"rdme_[a-z0-9]{60,}"),
    ("postman", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}|PMAT-[A-Z0-9]{26}"),
    ("rapidapi", r"[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{6}jsn[0-9a-f]{12}"),
    ("apify", rf"apify_(?:api|proxy)_{_W}{{30,}}"),
    ("algolia", r"alg_[0-9a-f]{30,}"),
    ("mapbox", rf"[st]k\.eyJ{_D}{{30,}}\.{_D}{{18,}}"),
    ("okta", r"00[A-Za-z0-9_-]{40}"),
    (
        "login_service",
        (
            rf"(?:workos_{_W}{{20,}}|sk_(?:prod|staging|sandbox)_{_D}{{20,}}|"
            rf"stytch-[a-z]+-[0-9a-f-]{{36}}|secret-(?:test|live)-{_B}{{30,}}|project-(?:test|live)"
            rf"-{_B}{{200,}})"
        ),
    ),
    (
        "tailscale",
        (
            r"tskey-(?:auth|api|client|scim|webhook|oauth)-[A-Za-z0-9]{8,}(?:CNTRL)?-[A-Za-z0-9]{20,"
            r"}|tskey-[A-Za-z0-9-]{20,}"
        ),
    ),
    ("ngrok", rf"[12]{_W}{{26,30}}_{_W}{{20,22}}|ak_2{_W}{{26}}"),
    ("teleport", r"(?:tctl|tbot)-[0-9a-f]{30,}"),
    ("alibaba", rf"LTAI{_W}{{12,26}}"),
    ("tencent", rf"AKID{_W}{{32}}"),
    (
        "yandex",
        (
            rf"(?:t1\.[A-Z0-9a-z_-]{{5,}}={{0,2}}\.{_D}{{60,}}={{0,2}}|y[03]_{_D}{{40,}}|"
            rf"YC[A-Za-z0-9_-]{{38}}|AQVN{_D}{{30,}})"
        ),
    ),
    ("scaleway", r"SCW[A-Z0-9]{17}"),
    ("ibm", r"ApiKey-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("openshift", rf"sha256~{_D}{{40,}}"),
    (
        "bitwarden",
        (
            rf"(?:unkey_{_W}{{20,}}|"
            rf"0\.[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\.{_W}{{30}}:{_B}{{20,}})"
        ),
    ),
    ("clickhouse", rf"(?:4b1d{_W}{{38}}|tsdb_{_W}{{30,}})"),
    ("secret_key", rf"(?:ak_{_W}{{30,}}|sk_{_W}{{30,}}|pk_secret_{_W}{{20,}})"),
    ("infracost", rf"(?:infracost-|ico-){_W}{{32}}"),
    ("aikido", rf"AIK_(?:SECRET|CLIENT)_{_W}{{20,}}"),
    ("defined", r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    ("beamer", r"b_[a-z0-9=_-]{44}"),
    ("kraken", rf"kr_{_W}{{40,}}"),
    ("maxmind", rf"{_W}{{6}}_{_W}{{29}}_mmk"),
    ("mattermost", r"(?:mm_[a-z0-9]{26}|msk_[a-z0-9]{30,})"),
    ("twitch", r"oauth:[a-z0-9]{30}"),
    ("twitter", r"A{20,24}[A-Za-z0-9%]{40,}"),
    ("linkedin", rf"WPL_AP[01]\.{_W}{{12,}}\.{_B}{{8,}}|AQ[UVWX]{_D}{{80,}}"),
    ("meraki", rf"meraki_{_W}{{30,}}"),
    ("inngest", rf"(?:signkey-(?:prod|test|branch)-[0-9a-f]{{30,}}|tr_(?:dev|prod|stg|pat)_{_W}{{20,}})"),
    ("convex", r"(?:prod|dev):[a-z]+-[a-z]+-[0-9]{3}\|[A-Za-z0-9+/=]{40,}"),
    ("stage_secret_key", rf"sk_(?:dev|prod|test)_{_D}{{20,}}"),
    ("cal_com", r"cal_(?:live_|test_)?[0-9a-f]{32}"),
    ("wakatime", r"waka_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    ("adafruit", rf"aio_{_W}{{28}}"),
    ("mozilla", r"(?:phx_|thunderbird_)[A-Za-z0-9]{40,}"),
    ("zuplo", r"zp(?:ka|ct)_[0-9a-f_]{30,}"),
    (
        "jwt",
        (
            r"ey[IJ][A-Za-z0-9_=-]{8,}\.ey[A-Za-z0-9_=-]{8,}(?:\.[A-Za-z0-9_.+/=-]{0,})?|"
            r"eyJ[A-Za-z0-9_=-]{20,}(?:\.[A-Za-z0-9_-]*){4}"
        ),
    ),
    ("github_canary", r"secret_scanning_ab85fc6f8d7638cf1c11da812da308d43_[0-9A-Za-z]{5}"),
    ("extended_private_key", r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("wallet_import_format", r"[5KL][1-9A-HJ-NP-Za-km-z]{50,51}"),
    ("nostr", r"nsec1[a-z0-9]{50,}"),
    ("stellar", r"S[A-Z2-7]{55}"),
)

_EDGE = r"(?:^|[^A-Za-z0-9_])"
_COUNT = re.compile(r"\{([0-9]{1,4})(?:,[0-9]{0,4})?\}")
_LONGEST = 1000


def _opening(shape: str) -> str:
    """The shape with every larger count cut to "three or more": small enough for one automaton over all providers."""
    return _COUNT.sub(lambda count: count.group() if int(count.group(1)) < 4 else "{3,}?", shape)


def _bounded(shape: str) -> str:
    return re.sub(r"\{([0-9]+),\}", rf"{{\1,{_LONGEST}}}", shape)


_OPENINGS = Pattern(_EDGE + "(?:" + "|".join(f"(?:{_opening(shape)})" for _, shape in SHAPES) + ")", capture=False)
_WHICH = PatternSet([_opening(shape) for _, shape in SHAPES])
_REST = re.compile(rf"[A-Za-z0-9+/=_.-]{{0,{16 * _LONGEST}}}")


@lru_cache(maxsize=len(SHAPES))
def _exact(number: int) -> re.Pattern[str]:
    return re.compile(_bounded(SHAPES[number][1]))


def provider_tokens(text: str) -> Iterator[Hit]:
    """Every credential in a known format; the rule names the provider."""
    done = 0
    for opening in _OPENINGS.finditer(text):
        start = opening.start()
        if not (text[start].isalnum() or text[start] == "_"):
            start += 1
        if start < done:
            continue
        number, end = _longest(text, start)
        value = text[start:end]
        if not value or is_sample(value) or not _is_plausible(value):
            continue
        done = end
        provider = SHAPES[number][0]
        detail = f"A credential in the format of {provider.replace('_', ' ')}."
        yield Hit(f"provider.{provider}", start, end, detail)


def _longest(text: str, start: int) -> tuple[int, int]:
    """The provider whose format reaches furthest from `start`, and where it ends."""
    best = (0, start)
    for number in _WHICH.match(text[start : start + 120]):
        found = _exact(number).match(text, start)
        if found and found.end() > best[1]:
            best = (number, found.end())
    number, end = best
    if end - start >= _LONGEST:
        rest = _REST.match(text, end)
        end = rest.end() if rest else end
    while end > start and text[end - 1] in ".-/+":
        end -= 1
    return number, end


def _is_plausible(value: str) -> bool:
    """A prefix alone proves little: the rest must hold a digit or change its case often, and not be one number."""
    if value.startswith("00") and (value.islower() or value.replace("-", "").isdigit()):
        return False
    body = value[4:]
    if any(character.isdigit() for character in body):
        return True
    return sum(a.isupper() != b.isupper() for a, b in itertools.pairwise(body)) * 4 >= len(body)
