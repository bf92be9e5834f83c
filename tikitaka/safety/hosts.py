"""Whether a text names an address outside of the house."""

from __future__ import annotations

import re

_HOST = re.compile(
    r"(?:https?|ftp|wss?|tcp)://(?:[^\s/@]{1,200}@)?([\w.-]{1,253})|[\w.+-]{1,64}@([\w-]{1,"
    r"63}(?:\.[\w-]{1,63}){1,5})"
)
_OWN = re.compile(
    r"(?i)(?:localhost|127(?:\.[0-9]{1,3}){3}|0\.0\.0\.0|10(?:\.[0-9]{1,3}){3}|"
    r"192\.168(?:\.[0-9]{1,3}){2}|172\.(?:1[6-9]|2[0-9]|3[01])(?:\.[0-9]{1,3}){2}|"
    r"[\w-]{1,63}|(?:[\w-]{1,63}\.){1,6}(?:internal|local|localdomain|svc|cluster|lan|test|corp|"
    r"intranet)(?:\.[\w.-]{1,80})?)"
)
_SUSPICIOUS = re.compile(
    r"(?i)(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|.{0,100}(?:bad|evil|attack|exfil|steal|leak|"
    r"drop(?:zone|box-)|collect|malic|hack|c2|pwn|phish|rogue|sink|catch|grab|"
    r"webhook\.site|requestbin|request\.bin|pipedream|ngrok|oast|burpcollab|interact\.sh|"
    r"beeceptor|transfer\.sh|termbin|pastebin|paste\.|0x0\.st|"
    r"hookbin|mockbin|trycloudflare|serveo|localtunnel|file\.io|anonfiles|ix\.io|temp-?mail|"
    r"mailinator|duckdns|\.onion|\.tk$|\.xyz$|\.top$|\.ru$).{0,100})"
)


def hosts(text: str) -> list[str]:
    if "@" not in text and "://" not in text:
        return []
    return [match.group(1) or match.group(2) for match in _HOST.finditer(text)]


def is_own(host: str) -> bool:
    return _OWN.fullmatch(host) is not None


def contains_outside(text: str) -> bool:
    return any(not is_own(host) for host in hosts(text))


def contains_suspicious(text: str) -> bool:
    return any(not is_own(host) and _SUSPICIOUS.fullmatch(host) for host in hosts(text))
