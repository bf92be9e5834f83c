"""Secrets that a command takes by position or by a flag that does not name them."""

from __future__ import annotations

from collections.abc import Iterator

from tikitaka.safety.allow import is_harmless
from tikitaka.safety.findings import Hit
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.shape import Grade, grade

_V = r"(?:\"([^\"\n]{3,})\"|'([^'\n]{3,})'|([^\s\"'`|;<>][^\s\"'`|<>]{2,}))"
_U = r"(?:\"[^\":\n]{0,80}:([^\"\n]{3,})\"|'[^':\n]{0,80}:([^'\n]{3,})'|[^\s\"':/]{0,80}:([^\s\"'`|<>]{3,}))"
_GAP = r"[^\n|;]{0,}?\s"

# command, then the way to its secret. Each pattern's last three groups are one value in three quotings.
_SHAPES = (
    (
        rf"\b(?:curl|http|https|xh|httpie|wget|aria2c|lftp|ncftp|s?ftp|svn|elinks|ab|hey|siege|"
        rf"smbclient|rpcclient)\b{_GAP}(?:-u|--user|-a|--auth|-U|--proxy-user|-A)[ =]?\s{{0,3}}{_U}"
    ),
    (
        rf"\b(?:smbclient|rpcclient|smbmap|mount|net|winexe|impacket-[a-z]+|wmic|evil-winrm|"
        rf"crackmapexec|nxc)\b{_GAP}(?:-U|--user|-p|-u)[ =]?\s{{0,3}}[\"']?[^\s%\"']{{1,60}}%{_V}"
    ),
    (
        rf"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlshow|mariadb|mariadb-dump|mycli|mysqlsh|"
        rf"xtrabackup)\b(?:{_GAP})-p{_V}"
    ),
    (
        rf"\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|nexus|az|oc|kubectl|argocd|cf|"
        rf"ibmcloud|twine|jfrog|jf|vsts|tower|awx|mongo|mongosh|mongodump|mongorestore|mongoexport|"
        rf"mongoimport|mongostat|sshpass|ldapadd|htdigest|mosquitto_pub|influx|clickhouse-client|"
        rf"cqlsh|ncftpput|ncftpget|nats|vncviewer|rdesktop|wsadmin|asadmin|hashcat|svn|zowe|impdp|"
        rf"ftp|telnet|rsync|fly|concourse|gcloud|vault|consul|rancher|evil-winrm|crackmapexec|nxc|"
        rf"couchbase-cli|cbq|db2|ispell|snowsql|vertica|vsql|nxlog|solr|etcdctl|jira|mutt)"
        rf"\b{_GAP}(?:-p|--pass|--pwd|-pw)[ =]?\s{{0,3}}{_V}"
    ),
    rf"\bsshpass\s{{1,4}}-p\s{{0,3}}{_V}",
    rf"\b(?:redis-cli|valkey-cli|keydb-cli)\b{_GAP}(?:-a|--pass|--askpass)\s{{1,4}}{_V}",
    rf"\b(?:ldapsearch|ldapadd|ldapmodify|ldapdelete|ldapwhoami|ldappasswd|slapadd)\b{_GAP}-w\s{{0,3}}{_V}",
    rf"\bldappasswd\b{_GAP}-s\s{{0,3}}{_V}",
    rf"\bopenssl\b{_GAP}(?:-k|-K|-passin pass:|-passout pass:|-pass pass:|-password pass:)\s{{0,3}}{_V}",
    rf"\bpass:{_V}",
    (
        rf"\b(?:htpasswd|htdigest)\b{_GAP}-[a-zA-Z]*b[a-zA-Z]*\s{{1,4}}(?:[^\s]{{1,}}\s{{1,4}}){{1,"
        rf"2}}?{_V}\s{{0,4}}(?:$|\n|&|;)"
    ),
    rf"\bhtpasswd\s{{1,4}}-[a-zA-Z]*n[a-zA-Z]*b?[a-zA-Z]*\s{{1,4}}[^\s]{{1,60}}\s{{1,4}}{_V}",
    (
        rf"\b(?:zip|unzip|7za?|7zz|rar|unrar|zipcloak|pdftotext|qpdf|pdftk|ipmitool|sqlcmd|bcp|"
        rf"mosquitto_pub|mosquitto_sub|tsql|isql|osql|fisql|sqsh|unar|john|nmcli|fping)\b{_GAP}(?:-P|"
        rf"--password|-hp|-p|user_pw|owner_pw)\s{{0,3}}{_V}"
    ),
    (
        rf"\b(?:gpg2?|gpg-preset-passphrase|duplicity|borg|restic|ccrypt|steghide)"
        rf"\b{_GAP}(?:--passphrase|-P|-K|--key|-p)[ =]\s{{0,3}}{_V}"
    ),
    (
        rf"\b(?:keytool|jarsigner|apksigner|pkcs12|signtool|codesign|security|xcrun|osslsigncode)"
        rf"\b{_GAP}(?:-storepass|-keypass|-srcstorepass|-deststorepass|-srckeypass|-destkeypass|"
        rf"-storepasswd|-new|--ks-pass pass:|--key-pass pass:|/p|-p|-P|-k|-w|-pass)\s{{1,4}}{_V}"
    ),
    (
        rf"\b(?:xfreerdp|wfreerdp|mstsc|psexec|cmdkey|schtasks|winrs|net use|runas|rdesktop|iscsicli|"
        rf"wmic)\b{_GAP}(?:/p:|/pass:|/password:|-p |/p |/rp |-pw )\s{{0,3}}{_V}"
    ),
    rf"\b(?:plink|pscp|psftp|putty|kitty|winscp)\b{_GAP}-pw\s{{1,4}}{_V}",
    rf"\bnet\s{{1,4}}user\s{{1,4}}[^\s]{{1,60}}\s{{1,4}}{_V}",
    (
        rf"\bnet\s{{1,4}}use\s{{1,4}}(?:[a-zA-Z*]:?\s{{1,4}})?\\\\[^\s]{{1,}}\s{{1,"
        rf"4}}(?:/user:[^\s]{{1,80}}\s{{1,4}})?{_V}"
    ),
    (
        rf"\b(?:sqlplus|sqlldr|expdp|impdp|exp|imp|rman|sql|tnsping)\s{{1,4}}(?:-[a-zA-Z]\s{{1,"
        rf"4}}){{0,3}}(?:target=|userid=)?[\"']?[a-zA-Z0-9_]{{1,40}}/{_V}"
    ),
    rf"\blftp\b{_GAP}-u\s{{1,4}}[^\s,]{{1,60}},{_V}",
    rf"<\(\s{{0,3}}(?:echo|printf)\s{{1,4}}(?:-n\s{{1,4}})?{_V}",
    rf"\bwpa_passphrase\s{{1,4}}(?:\"[^\"\n]{{1,64}}\"|'[^'\n]{{1,64}}'|[^\s]{{1,64}})\s{{1,4}}{_V}",
    rf"\bnmcli\b{_GAP}(?:password|wifi-sec\.psk|802-11-wireless-security\.psk)\s{{1,4}}{_V}",
    (
        rf"\b(?:rabbitmqctl)\s{{1,4}}(?:add_user|change_password|authenticate_user)\s{{1,4}}[^\s]{{1,"
        rf"60}}\s{{1,4}}{_V}"
    ),
    (
        rf"\bmc\s{{1,4}}(?:alias\s{{1,4}}set|config\s{{1,4}}host\s{{1,4}}add|admin\s{{1,4}}user\s{{1,"
        rf"4}}add)\s{{1,4}}[^\s]{{1,60}}\s{{1,4}}(?:https?://[^\s]{{1,}}\s{{1,4}})?[^\s]{{1,}}\s{{1,"
        rf"4}}{_V}"
    ),
    (
        rf"\baws\s{{1,4}}configure\s{{1,4}}set\s{{1,4}}[^\s]{{0,80}}(?:secret|token|key)[^\s]{{0,"
        rf"40}}\s{{1,4}}{_V}"
    ),
    (
        rf"\b(?:vault|cargo|ngrok|snyk|doppler|tailscale|gh|glab|infisical|huggingface-cli|hf|wandb|"
        rf"netlify|vercel|heroku|stripe|sentry-cli|hcp|op|bw|lpass|nordvpn|npm|clearml|comet|modal|"
        rf"zerotier-cli|cloudflared|railway|render|turso|supabase|appcenter|rbw)\s{{1,4}}(?:auth|"
        rf"login|authtoken|config|unlock|link|up|set|token|signin)(?:\s{{1,4}}(?:add-authtoken|set|"
        rf"token|add|login|set-token|--token|-t|--with-token|--access-token|<<<|--authkey|--auth-key|"
        rf"-method=token|token=|[a-z.-]{{1,40}}))?[ =]\s{{0,3}}{_V}"
    ),
    (
        rf"\b(?:poetry|composer|bundle|pip|uv|yarn|pnpm|npm|gem|nuget|dotnet|conda|mvn|gradle|conan|"
        rf"hatch|flit|pdm|choco)\b{_GAP}(?:http-basic\.[^\s]{{1,80}}\s{{1,4}}[^\s]{{1,80}}|"
        rf"pypi-token\.[^\s]{{1,80}}|[^\s]{{1,}}authToken|[^\s]{{0,80}}(?:oauth|token|bearer)"
        rf"\.[^\s]{{1,80}}|-k|--api-key|-p|-ApiKey|-Password|--token|-P)[ =]\s{{0,3}}{_V}"
    ),
    (
        rf"\becho\s{{1,4}}(?:-[ne]{{1,2}}\s{{1,4}})?[\"']?(?:[a-z_][a-z0-9_-]{{0,"
        rf"31}}:)?{_V}[\"']?\s{{0,4}}\|\s{{0,4}}(?:sudo\s{{1,4}}(?:-[a-zA-Z]*S|chpasswd|passwd|tee "
        rf"/etc)|chpasswd|passwd|(?:docker|podman|gh|helm|vault|npm|az|argocd|crane|oras|nerdctl)"
        rf"\b[^\n|]{{0,}}(?:stdin|with-token|login|-p)|su\b|cryptsetup|openssl|gpg|kinit|ssh-add|"
        rf"mail -A|wrangler secret|flyctl secrets|gcloud secrets|kubectl create secret|pass insert|"
        rf"secret-tool|gopass|smbpasswd|vncpasswd|xargs)"
    ),
    (
        rf"\b(?:printf|print)\s{{1,4}}[\"']?(?:%s(?:\\n)?[\"']\s{{1,4}})?{_V}(?:\\n)?[\"']?\s{{0,"
        rf"4}}\|\s{{0,4}}(?:sudo|chpasswd|passwd|docker|gh|su|cryptsetup|openssl|gpg|kinit|gcloud "
        rf"secrets|pass insert|secret-tool|smbpasswd)"
    ),
    (
        rf"\b(?:sudo\s{{1,4}}-S|chpasswd|passwd|kinit|smbpasswd|su|docker login[^\n]{{0,"
        rf"}}--password-stdin|gh auth login --with-token)[^\n|;<]{{0,60}}<<<\s{{0,3}}[\"']?(?:[a-z_]"
        rf"[a-z0-9_-]{{0,31}}:)?{_V}"
    ),
    (
        r"(?i)\b(?:identified\s{1,4}(?:by|with\s{1,4}[a-z0-9_']{1,40}\s{1,4}(?:by|as))\s{1,4}|"
        r"(?:with\s{1,4}|encrypted\s{1,4}|login\s{1,4})?password(?:\s{0,3}=\s{0,4}|\s{0,3}\(|\s{1,4})|"
        r"set\s{1,4}password\s{1,4}for[^\n=]{1,80}=\s{0,4})(?:password\()?(?:\"([^\"\n]{3,})\"|'([^'\n]{3,})'|(\x00{3}))"
    ),
    rf"\b(?:useradd|usermod|adduser|chage)\b{_GAP}(?:-p|--password)[ =]\s{{0,3}}{_V}",
    (
        rf"(?i)\b(?:enable|username\s{{1,4}}[^\s]{{1,40}}(?:\s{{1,4}}privilege\s{{1,4}}[0-9]{{1,"
        rf"2}})?)\s{{1,4}}(?:secret|password)\s{{1,4}}(?:[0-9]\s{{1,4}})?{_V}"
    ),
    (
        rf"(?i)\bsnmp(?:-server\s{{1,4}}community|walk|get|set|bulkwalk|trap)\s{{1,4}}(?:[^\n]{{0,"
        rf"}}?-[cAX]\s{{1,4}})?{_V}"
    ),
    (
        rf"(?im)^[ \t]{{0,8}}(?:requirepass|masterauth|ppp-password|rootpw|bindpw|rpcpassword|"
        rf"sasl-secret)\s{{1,8}}{_V}"
    ),
    rf"(?m)^\s{{0,4}}(?:AUTH|auth)\s{{1,4}}(?:[a-z]{{1,20}}\s{{1,4}})?{_V}\s{{0,4}}$",
    (
        rf"(?i)\bacl\s{{1,4}}setuser\s{{1,4}}[^\n>]{{1,80}}>{_V}|\buser\s{{1,4}}[^\s]{{1,40}}\s{{1,"
        rf"4}}on\s{{1,4}}[^\n>]{{0,60}}>{_V}"
    ),
    (
        r"\b(?:sendline|send|sendstr|write)\s{1,4}(?:--\s{1,4})?[\"']([^\"'\n]{6,}?)(?:\\r|\\n)[\"']"
        r"(\x00?)(\x00?)"
    ),
    rf"\b(?:vncpasswd|x11vnc|x0vncserver)\b{_GAP}(?:-passwd|-f|-rfbauth|<<<)\s{{1,4}}{_V}",
    rf"\b(?:kubectl|oc)\b{_GAP}--from-literal[= ][\"']?[\w.-]{{1,80}}={_V}",
    (
        rf"\b(?:wrangler|flyctl|fly|heroku|gcloud|az|pulumi|eb|dokku|now|vercel|netlify|supabase|sam|"
        rf"copilot|chamber|ansible-vault|sops|railway|doppler|gh|glab)\b{_GAP}(?:secrets?|"
        rf"config(?::set)?|env(?::set)?|variable|setenv|encrypt_string|appsettings|vars?)"
        rf"\b{_GAP}(?:--secret|set|put|--value|--body|-b|add|write|create|import|--name\s{{1,"
        rf"4}}[^\s]{{1,60}}\s{{1,4}}--value|-v)?[ =]?\s{{0,3}}(?:[A-Za-z_][\w.-]{{1,60}}[= ]"
        rf")?{_V}\s{{0,4}}(?:$|\n|--|&&)"
    ),
    rf"\b(?:vault\s{{1,4}}(?:kv\s{{1,4}}put|write))\s{{1,4}}[^\s]{{1,}}\s{{1,4}}[\w-]{{1,60}}={_V}",
    (
        rf"\bmosquitto_(?:pub|sub|passwd)\b{_GAP}(?:-P|-b\s{{1,4}}[^\s]{{1,80}}\s{{1,4}}[^\s]{{1,"
        rf"60}})\s{{1,4}}{_V}"
    ),
    rf"\b(?:iwconfig|iw)\b{_GAP}(?:key|enc)\s{{1,4}}(?:s:)?{_V}",
    (
        r"(?m)^\s{0,4}[\"']?[\w.*-]{1,40}[\"']?\s{1,8}[\"']?[\w.*-]{1,40}[\"']?\s{1,8}\"([^\"\n]{6,})"
        r"\"(\x00?)(\x00?)\s{1,8}[\w.*]{1,40}\s{0,4}$"
    ),
    (
        r"(?i)\b(?:[^\s]{1,60}\s{1,4}){0,3}:?\s{0,2}(?:psk|xauth|eap)\s{1,4}(?:\"([^\"\n]{6,})\"|"
        r"'([^'\n]{6,})'|(\x00{3}))"
    ),
    r"(?im)^[a-z_][a-z0-9_.-]{0,31}:((?:\$|\{)[^\s:]{12,})(\x00?)(\x00?)",
)
_ALL = tuple(Pattern(shape) for shape in _SHAPES)
_HINTS = Pattern("(?:" + "|".join(f"(?:{shape})" for shape in _SHAPES) + ")", capture=False)


def commands(text: str) -> Iterator[Hit]:
    """Every secret that stands in a known command's place for one."""
    if not _HINTS.search(text):
        return
    for pattern in _ALL:
        for match in pattern.finditer(text):
            span = _last_value(match.span(g) for g in range(1, pattern.program.groups + 1))
            if span is None:
                continue
            start, end = span
            value = text[start:end].rstrip(",;)")
            if _is_secret(value):
                yield Hit(
                    "command.argument",
                    start,
                    start + len(value),
                    "A secret among the arguments of a command.",
                )


def _last_value(spans: Iterator[tuple[int, int]]) -> tuple[int, int] | None:
    found = [span for span in spans if span[0] >= 0 and span[1] > span[0]]
    return found[-1] if found else None


def _is_secret(value: str) -> bool:
    return len(value) >= 4 and not is_harmless(value) and grade(value) >= Grade.PASSWORD
