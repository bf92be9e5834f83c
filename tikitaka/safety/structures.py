"""Secrets with a structure: key blocks, password hashes, JWK members, seed phrases, recovery codes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tikitaka.safety.findings import Hit
from tikitaka.safety.patterns import Pattern

_HEADER = Pattern(
    r"-{2,6} ?BEGIN (?:[A-Z0-9]+ ){0,4}(?:PRIVATE KEY|PRIVATE KEY BLOCK|SSH2 ENCRYPTED PRIVATE "
    r"KEY|OPENVPN STATIC KEY V1|"
    r"OpenVPN Static key V1|PGP MESSAGE)(?: BLOCK)? ?-{2,6}|PuTTY-User-Key-File-[123]:[^\n]*",
    needs=("BEGIN ", "PuTTY-User-Key-File-"),
)
_FOOTER = re.compile(r"-{2,6} ?END [A-Za-z0-9 ]{3,60}-{2,6}")
# A line of a key, in any quoting: > quoted, indented, commented, ended by \n or string marks.
_BODY_LINE = re.compile(
    r"[ \t>|#*/\"'+,]{0,16}(?:[A-Za-z-]{4,24}: ?[^\n\\]{0,80}|[A-Za-z0-9+/=_ -]{1,4096})[\"'+,"
    r";\\. \t]{0,8}(?:\r?\n|$)"
)
_LONGEST_KEY = 16384
_KEY_CHARACTERS = re.compile(r"[A-Za-z0-9+/=\s\\>|#\"'+,:_*-]{0,16384}")
_LONE_BODY = Pattern(
    r"(?:^|[^A-Za-z0-9+/])((?:MII[A-Za-z0-9]|MC4CAQ|MHcCAQ|MHQCAQ|b3BlbnNzaC1rZXkt|"
    r"LS0tLS1CRUdJTi|lQ[A-Z][EFG][A-Za-z0-9])[A-Za-z0-9+/=]{40,})",
    needs=("MII", "MC4CAQ", "MHcCAQ", "MHQCAQ", "b3BlbnNzaC1rZXkt", "LS0tLS1CRUdJTi", "lQ"),
)

_HASHES = Pattern(
    r"\$(?:2[abxy]?\$[0-9]{2}\$[A-Za-z0-9./]{22,}|argon2(?:id|i|d)\$[A-Za-z0-9$=,+/.-]{20,}|[156]"
    r"\$[^\s:\"']{8,}|y\$[^\s:\"']{20,}|"
    r"7\$[^\s:\"']{20,}|apr1\$[^\s:\"']{8,}|[PHS]\$[A-Za-z0-9./]{30,}|scrypt\$[^\s\"']{20,}|"
    r"sha1\$[^\s:\"']{20,}|8\$[^\s:\"']{20,}|9\$[^\s:\"']{10,})"
    r"|(?:pbkdf2(?:_sha(?:1|256|512))?|bcrypt(?:_sha256)?|scrypt|sha1|md5|argon2)(?::sha[0-9]{1,"
    r"3})?[:$][^\s\"']{0,24}\$[^\s\"']{16,}"
    r"|\{(?:SSHA|SHA|SMD5|SSHA256|SSHA512|CRYPT|PBKDF2[A-Z0-9-]*)\}[A-Za-z0-9+/=$.]{16,}"
    r"|\*[0-9A-F]{40}\b|SCRAM-SHA-(?:1|256|512)\$[^\s\"']{20,}|\bmd5[0-9a-f]{32}\b"
    r"|\b[0-9a-fA-F]{32}:[0-9a-fA-F]{32}:::|\baad3b435b51404eeaad3b435b51404ee:[0-9a-f]{32}",
    needs=("$", "{", "*", "SCRAM-SHA-", "md5", ":::", "aad3b435b51404eeaad3b435b51404ee:"),
)
_JWK = Pattern(r"[\"']?\bkty[\"']?\s{0,4}:", needs=("kty",))
_JWK_MEMBER = Pattern(r"[\"'](?:d|p|q|dp|dq|qi|k)[\"']\s{0,4}:\s{0,4}[\"']([A-Za-z0-9_-]{10,})[\"']")
_SEED_WORDS = Pattern(
    r"(?i)(?:seed|recovery|mnemonic|backup|wallet|secret)[ _-]?(?:phrase|words?|seed)?[^a-z\n]{0,"
    r"3}(?:[a-z]{2,10} ){0,5}?(?:is|are|=|:|was|「|\")"
    r"[\s\"'`]{0,4}((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})",
    needs=("seed", "recovery", "mnemonic", "backup", "wallet", "secret"),
)
_CODES = Pattern(
    r"(?i)(?:recovery|backup|scratch|rescue|emergency|2fa|one-time|wiederherstellungs|r[ée]"
    r"cup[ée]ration|respaldo)[ -]?(?:codes?|keys?|tokens?)\b[^\n]{0,30}",
    needs=(
        "recovery",
        "backup",
        "scratch",
        "rescue",
        "emergency",
        "2fa",
        "one-time",
        "wiederherstellungs",
        "cup",
        "respaldo",
    ),
)
_CODE = re.compile(
    r"[ \t\r\n,;:|*•\"'`()\[\]=-]{0,12}(?:and |und |y |et |[0-9]{1,2}[.)] )?((?:[A-Za-z0-9]{4,"
    r"10}(?:[- ][A-Za-z0-9]{4,10}){1,7})|[A-Za-z0-9]{6,16})(?![A-Za-z0-9])"
)
_INTRODUCTION = re.compile(r"(?:\w{1,40}[- ]\w{1,40}|\w{1,40}) ?(?:for [\w-]{1,20} |are |is |sind |son )?")
_TOTP = Pattern(
    r"(?i)otpauth(?:-migration)?://[^\s\"'<>]{1,}?(?:secret|data)=([A-Z2-7a-z0-9%=+/]{8,})", needs=("otpauth",)
)
_XML = Pattern(
    r"(?i)<(?:[a-z]+:)?(?:P|Q|DP|DQ|InverseQ|D|privateKey)>\s{0,4}([A-Za-z0-9+/=]{20,})",
)


def structures(text: str) -> Iterator[Hit]:
    """Every structured secret of the text."""
    yield from _key_blocks(text)
    for match in _HASHES.finditer(text):
        if len(set(match.group())) > 8:
            yield Hit("structure.password_hash", *match.span(), "A stored password hash.")
    if _JWK.search(text):
        for match in _JWK_MEMBER.finditer(text):
            yield Hit("structure.jwk", *match.span(1), "The private part of a JSON web key.")
    low = text.lower()
    for match in _TOTP.finditer(text):
        yield Hit("structure.totp_seed", *match.span(1), "The seed of one-time codes.")
    if "keyvalue>" in low or "privatekey>" in low:
        for match in _XML.finditer(text):
            yield Hit("structure.xml_key", *match.span(1), "The private part of an XML key.")
    for match in _SEED_WORDS.finditer(text):
        yield Hit("structure.seed_phrase", *match.span(1), "A wallet's seed phrase.")
    yield from _recovery_codes(text)


def _key_blocks(text: str) -> Iterator[Hit]:
    done = 0
    for header in _HEADER.finditer(text):
        if header.start() < done:
            continue
        footer = _FOOTER.search(text, header.end(), header.end() + _LONGEST_KEY)
        done = footer.start() if footer else _body_end(text, header.end())
        start, end = _core(text, header.end(), done)
        if end > start:
            yield Hit("structure.private_key", start, end, "The body of a private key.")
    for match in _LONE_BODY.finditer(text):
        value = match.group(1)
        if not value.startswith(("MIIB", "MIID", "MIIF", "MIIG", "MIIH")) or "PRIVATE" in text or len(value) < 200:
            if "CERTIFICATE" in text or "PUBLIC KEY" in text:
                continue
            yield Hit("structure.private_key", *match.span(1), "The body of a private key without its frame.")


def _body_end(text: str, at: int) -> int:
    """Where a key without a footer ends: the first line that cannot belong to one."""
    run = _KEY_CHARACTERS.match(text, at)
    limit = run.end() if run else at
    first = text.find("\n", at)
    if first < 0 or first > limit:
        return limit
    at = first + 1
    while at < len(text):
        line = _BODY_LINE.match(text, at)
        if line is None or (" " in line.group().strip(" \t>|#*/\"'+,;\\\r\n") and ":" not in line.group()):
            break
        content = re.sub(r"[^A-Za-z0-9+/=]", "", line.group())
        if content.isalpha() and len(content) < 20 and "=" not in content:
            break
        at = line.end()
    return at


def _core(text: str, start: int, end: int) -> tuple[int, int]:
    """The body without the blanks, escapes and string marks at its ends."""
    while start < end and (text[start].isspace() or text[start] in "\"'+,;>"):
        start += 1
    while start + 1 < end and text[start] == "\\" and text[start + 1] in "nr":
        start += 2
    while end > start and (text[end - 1].isspace() or text[end - 1] in "\"',;>"):
        end -= 1
    while end - 1 > start and text[end - 2 : end] in {"\\n", "\\r"}:
        end -= 2
    return start, end


def _recovery_codes(text: str) -> Iterator[Hit]:
    done = 0
    for match in _CODES.finditer(text):
        if match.start() < done:
            continue
        at = _list_start(text, *match.span())
        while code := _CODE.match(text, at):
            value = code.group(1)
            if not any(c.isdigit() for c in value) or len(value) < 6:
                break
            yield Hit("structure.recovery_code", *code.span(1), "A recovery code.")
            at = done = code.end()


def _list_start(text: str, start: int, end: int) -> int:
    """Where the codes begin: after the sign that introduces them, or after the words for them."""
    for at in range(start, end):
        if text[at] in ":=\n":
            return at
    introduced = _INTRODUCTION.match(text, start, end)
    return introduced.end() if introduced else start
