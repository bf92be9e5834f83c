"""Secrets in HTTP headers, cookies, and files that pair a host with a login."""

from __future__ import annotations

from collections.abc import Iterator

from tikitaka.safety.allow import is_harmless
from tikitaka.safety.findings import Hit
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.shape import Grade, grade
from tikitaka.safety.wordlists import words

_AUTHORIZATION = Pattern(
    r"(?i)(?:proxy-)?authori[sz]ation[\"']?\s{0,4}(?:[:=,]|=>|\])\s{0,4}[\"'`]?\s{0,"
    r"2}f?[\"']?(?:(?:bearer|token|basic|ssws|splunk|apikey|api-key|key|jwt|bot|"
    r"negotiate|ntlm|genie ?key|privatekey|digest|sentry|snowflake token|github-bearer|"
    r"zoho-oauthtoken|client-id|klaviyo-api-key|discogs token|deepl-auth-key|"
    r"hawk|aws4-hmac-sha256|oauth|pagertree|linode|mac|pve ?apitoken|pveapitoken)[ =:]{1,"
    r"3})?[\"']?([^\s\"'`,<>]{6,})",
    needs=("authori",),
)
_SCHEME = Pattern(
    r"(?i)\b(?:bearer|basic|ssws|x-api-key:?|api-key:|private-token:|deploy-token:|job-token:) "
    r"{1,2}([A-Za-z0-9+/=_.~%-]{12,})",
    needs=("bearer", "basic", "ssws", "api-key", "-token"),
)
_NAMED = Pattern(
    r"(?i)\b(x-(?:[a-z0-9]+-){0,4}(?:key|token|secret|password|auth|signature|apikey|session)|"
    r"(?:private|job|deploy|circle|api|auth|access|session|xsrf|csrf)-(?:token|key)|"
    r"apikey|dd-api-key|dd-application-key|ocp-apim-subscription-key|(?:x-)?vault-token|x-auth|"
    r"x-pass|x-shopify-access-token)[\"']?\s{0,3}[:=,]\s{0,3}[\"'`]?([^\s\"'`,;<>]{6,})",
    needs=("x-", "-token", "-key", "apikey"),
)
_COOKIES = Pattern(r"(?i)\b(?:set-)?cookies?[\"']?\s{0,3}[:=]\s{0,3}[\"'`]?([^\n\"'`]{4,})", needs=("cookie",))
_COOKIE_FLAG = Pattern(r"(?i)(?:-b|--cookie)[ =][\"']?([^\n\"']{4,})", needs=("-b", "--cookie"))
_PAIR = Pattern(r"([A-Za-z0-9_.-]{1,80})=([^\s;,\"'`]{6,})")
_COOKIE_NOISE = words(
    """
    path domain expires max-age samesite lang locale theme tz timezone _ga _gid priority consent version
    """
)
_LOGIN_FILES = Pattern(
    r"(?i)\b(?:machine|default)\b[^\n]{0,}?\s(?:password|passwd)\s{1,4}([^\s]{3,})|\blogin\s{1,"
    r"4}[^\s]{1,80}\s{1,8}password\s{1,4}([^\s]{3,})|"
    r"\b(?:machine)\s{1,4}[^\s]{1,}\s{1,8}login\s{1,4}[^\s]{1,80}\s{1,8}password\s{1,4}([^\s]{3,})",
    needs=("password", "passwd"),
)
_PGPASS = Pattern(
    r"(?:^|[\s`\"'])((?:[A-Za-z0-9_.-]{1,}|\*):(?:[0-9]{2,5}|\*):(?:[A-Za-z0-9_-]{1,64}|\*)"
    r":(?:[A-Za-z0-9_-]{1,64}|\*):)([^\s:\"'`]{4,})",
    needs=(":",),
)
_AUTH_JSON = Pattern(
    r"(?i)[\"'](?:auth|identitytoken|registrytoken|_auth)[\"']\s{0,4}:\s{0,4}[\"']"
    r"([A-Za-z0-9+/=_.-]{8,})[\"']",
    needs=("auth", "token"),
)


def headers(text: str) -> Iterator[Hit]:
    """Every secret in a header, a cookie or a login file."""
    yield from _values(_AUTHORIZATION, text, 1, "header.authorization", "A credential in an Authorization header.")
    for match in _SCHEME.finditer(text):
        if (
            grade(match.group(1)) >= Grade.PASSWORD
            and _has_digit_or_length(match.group(1))
            and not is_harmless(match.group(1))
        ):
            yield Hit("header.scheme", *match.span(1), "A credential after its scheme.")
    yield from _values(_NAMED, text, 2, "header.named", "A credential in a header.")
    yield from _cookies(text, _COOKIES)
    yield from _cookies(text, _COOKIE_FLAG)
    for match in _LOGIN_FILES.finditer(text):
        group = next(g for g in (1, 2, 3) if match.start(g) >= 0)
        if not is_harmless(match.group(group)) and grade(match.group(group)) >= Grade.MIXED:
            yield Hit("header.login_file", *match.span(group), "The password of a login file.")
    yield from _values(_PGPASS, text, 2, "header.login_file", "The password of a login file.")
    yield from _values(_AUTH_JSON, text, 1, "header.registry_login", "A registry login.")


def _has_digit_or_length(value: str) -> bool:
    return len(value) >= 24 or any(character.isdigit() for character in value)


def _values(pattern: Pattern, text: str, group: int, rule: str, detail: str) -> Iterator[Hit]:
    for match in pattern.finditer(text):
        value = match.group(group).rstrip(".,;)}]")
        if value and not is_harmless(value) and grade(value) >= Grade.PASSWORD:
            start = match.start(group)
            yield Hit(rule, start, start + len(value), detail)


def _cookies(text: str, pattern: Pattern) -> Iterator[Hit]:
    for match in pattern.finditer(text):
        for pair in _PAIR.finditer(match.group(1)):
            value = pair.group(2)
            if pair.group(1).lower() not in _COOKIE_NOISE and grade(value) >= Grade.PASSWORD and not is_harmless(value):
                offset = match.start(1)
                yield Hit("header.cookie", offset + pair.start(2), offset + pair.end(2), "The value of a cookie.")
