"""Secrets inside addresses: user information, signed parameters, paths of webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from tikitaka.safety.allow import is_harmless, is_reference
from tikitaka.safety.findings import Hit
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.shape import Grade, grade, is_hex, is_uuid

_AUTHORITY = Pattern(
    r"(?i)\b[a-z][a-z0-9+.-]{1,30}://([^\s\"'`<>]{1,})|\bjdbc:[a-z]+:[a-z]*:?([^\s\"'`<>]{1,"
    r"}@[^\s\"'`<>]{1,})"
)
_BARE_USERINFO = Pattern(
    r"(?:^|[\s\"'`=(])([A-Za-z0-9_.-]{1,64}):([^\s\"'`/@]{4,})@([a-z0-9.-]{1,}(?:\.[a-z]{2,12}|:[0-9]{2,5}))"
)
_PARAMETERS = Pattern(
    r"(?i)(?:[?&;#]|&amp;)((?:x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|"
    r"credential)|signature|sig|sign|hmac|token|"
    r"access_token|id_token|refresh_token|auth(?:_token|_key|key)?|api[_-]?key|apikey|key|secret|"
    r"client_secret|password|passwd|pwd|pass|code|"
    r"private_token|job_token|sas|se?ssion(?:_?id)?|jwt|ticket|hash|policy|user_?token|"
    r"subscription-key|appid|sv_token|h|otp|invite|reset_token|"
    r"[a-z_-]{2,24}(?:token|secret|key|password|signature)))=([^\s&\"'`<>#;)]{4,})"
)
_WEBHOOKS = Pattern(
    r"(?i)(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?:[A-Z0-9]+/)+([A-Za-z0-9]{8,})|"
    r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{5,}/([A-Za-z0-9_-]{20,})|"
    r"(?:[a-z0-9-]+\.)?webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{40,})|"
    r"outlook\.office(?:365)?\.com/webhook/([A-Za-z0-9@/-]{40,})|"
    r"hooks\.zapier\.com/hooks/catch/[0-9]+/([A-Za-z0-9]{5,})|maker\.ifttt\.com/(?:trigger|use)"
    r"/(?:[^\s/]+/with/key/)?([A-Za-z0-9_-]{10,})|"
    r"hook\.(?:[a-z0-9]+\.)?(?:make|integromat)\.com/([a-z0-9]{16,})|"
    r"api\.telegram\.org/(?:file/)?bot([0-9]{5,}:[A-Za-z0-9_-]{20,})|"
    r"(?:open\.feishu\.cn|open\.larksuite\.com)/open-apis/bot/v2/hook/([A-Za-z0-9-]{20,})|"
    r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=([a-z0-9-]{20,})|"
    r"oapi\.dingtalk\.com/robot/send\?access_token=([a-f0-9]{40,})|"
    r"events\.pagerduty\.com/integration/([a-z0-9]{20,})|"
    r"hc-ping\.com/([0-9a-f-]{22,}|[A-Za-z0-9_-]{20,})|ntfy\.sh/([A-Za-z0-9_-]{16,})|"
    r"api\.opsgenie\.com/v1/json/[a-z]+\?apikey=([a-z0-9-]{20,})|"
    r"deploy/[a-z0-9-]+\?key=([A-Za-z0-9_-]{8,})|api\.netlify\.com/build_hooks/([0-9a-f]{20,})|"
    r"api\.vercel\.com/v1/integrations/deploy/([A-Za-z0-9_/-]{20,})|"
    r"mattermost[a-z0-9.-]*/hooks/([a-z0-9]{20,})|[a-z0-9.-]+/hooks/([a-z0-9]{26})|"
    r"rocket\.?chat[a-z0-9.-]*/hooks/([A-Za-z0-9/]{30,})|"
    r"(?:webhooks?|hooks?)/(?:[a-z0-9-]{1,40}/)?([A-Za-z0-9_-]{24,})|"
    r"trello\.com/[a-z0-9/]*\?[^\s]*token=([a-f0-9]{60,})|"
    r"prod-[0-9]+\.[a-z]+\.logic\.azure\.com[^\s\"']*sig=([A-Za-z0-9_%-]{30,})|"
    r"infura\.io/v3/([0-9a-f]{32})|alchemy\.com/v2/([A-Za-z0-9_-]{30,})|"
    r"quiknode\.pro/([0-9a-f]{30,})|t\.me/(?:joinchat/|\+)([A-Za-z0-9_-]{16,})|"
    r"capability/([A-Za-z0-9_-]{30,})|magic(?:-?link)?/([A-Za-z0-9_.-]{24,})|"
    r"(?:reset|invite|verify|confirm)(?:-?password)?/([A-Za-z0-9_-]{28,}))"
)
_PUBLIC_USERS = {
    "git",
    "guest:guest",
    "user:password",
    "user:pass",
    "username:password",
    "root:root",
    "postgres:postgres",
    "foo:bar",
}


def addresses(text: str) -> Iterator[Hit]:
    """Every secret inside an address of the text."""
    if "://" in text or "jdbc:" in text:
        for match in _AUTHORITY.finditer(text):
            group = 1 if match.start(1) >= 0 else 2
            yield from _user_information(text, *match.span(group))
    if "@" in text:
        for match in _BARE_USERINFO.finditer(text):
            if grade(match.group(2)) >= Grade.PASSWORD and not is_harmless(match.group(2)):
                yield Hit("address.password", *match.span(2), "A password before the host of an address.")
    if "=" in text:
        for match in _PARAMETERS.finditer(text):
            if _is_secret_parameter(match.group(1).lower(), match.group(2)):
                yield Hit("address.parameter", *match.span(2), "A secret parameter of an address.")
    if "/" in text:
        yield from _webhooks(text)


def _user_information(text: str, start: int, end: int) -> Iterator[Hit]:
    """The password is what stands between the first colon and the last @ that a host follows."""
    address = text[start:end]
    at = _last_at(address)
    if at < 0:
        return
    user, colon, password = address[:at].partition(":")
    if "/" in user or "?" in user:
        return
    if not colon:
        if grade(user) == Grade.RANDOM and len(user) >= 16 and ".ingest." not in address and "sentry" not in address:
            yield Hit("address.token", start, start + at, "A token before the host of an address.")
        return
    if f"{user}:{password}" in _PUBLIC_USERS or not password:
        return
    begin = start + len(user) + 1
    if is_reference(password) or _is_dummy(user, unquote(password)):
        if user not in {"x-oauth-basic"} and grade(user) == Grade.RANDOM and len(user) >= 20:
            yield Hit("address.token", start, start + len(user), "A token before the host of an address.")
        return
    yield Hit("address.password", begin, start + at, "A password before the host of an address.")
    if user and grade(user) == Grade.RANDOM and len(user) >= 20:
        yield Hit("address.token", start, start + len(user), "A token before the host of an address.")


def _last_at(address: str) -> int:
    """The @ before the host; one in a path or query follows a complete authority and does not count."""
    first = address.find("@")
    if first < 0:
        return -1
    best = first
    for position in range(first + 1, min(len(address), first + 200)):
        if address[position] == "@":
            between = address[best + 1 : position]
            if "/" in between and _is_host(between.split("/", 1)[0]):
                break
            if _is_host(address[position + 1 :].split("/", 1)[0].split("?", 1)[0]):
                best = position
    return best


def _is_host(name: str) -> bool:
    host, _, port = name.partition(":")
    return (
        bool(host)
        and host.replace(".", "").replace("-", "").replace("_", "").isalnum()
        and (not port or port[:1].isdigit())
    )


def _is_dummy(user: str, password: str) -> bool:
    if password.lower() == user.lower() and len(password) < 12 and password.isalpha():
        return True
    low = password.lower()
    if low in {"x-oauth-basic", "...", "pass", "pw", "***"} or (
        is_harmless(password) and not any(c.isdigit() for c in password)
    ):
        return True
    return set(password) <= {"*", "x", "X", ".", "•"}


def _is_secret_parameter(name: str, value: str) -> bool:
    if is_harmless(value) or len(value) < 6:
        return False
    level = grade(unquote(value))
    if name in {"code", "h", "hash", "policy", "appid", "key", "invite", "ticket", "sign"}:
        return (
            level == Grade.RANDOM
            and (len(value) >= 20 or is_uuid(value))
            and not (name in {"hash", "h"} and is_hex(value))
        )
    if name.startswith(("page", "next", "prev", "sync", "cursor", "continuation")):
        return False
    return level >= Grade.PASSWORD or is_hex(value)


def _webhooks(text: str) -> Iterator[Hit]:
    for match in _WEBHOOKS.finditer(text):
        group = next((g for g in range(1, 40) if match.start(g) >= 0), 0)
        value = match.group(group)
        if group and not is_harmless(value) and any(c.isdigit() for c in value):
            yield Hit("address.webhook", *match.span(group), "The secret path of a webhook.")
