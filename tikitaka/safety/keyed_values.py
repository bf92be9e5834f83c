"""Values that stand after a word for a secret: `PASSWORD=...`, `token: ...`, `"apiKey" => "..."`, `clave = ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tikitaka.safety.allow import is_harmless
from tikitaka.safety.findings import MASK, Hit
from tikitaka.safety.lexicon import (
    HARMLESS_AFTER,
    KEY_BEFORE,
    PASSWORD_WORDS,
    STILL_SECRET_AFTER,
    TOKEN_BEFORE,
    TOKEN_WORDS,
)
from tikitaka.safety.patterns import Pattern, any_of
from tikitaka.safety.shape import Grade, grade, is_hex, is_uuid
from tikitaka.safety.wordlists import words

WORDS = Pattern("(?i)" + any_of((*PASSWORD_WORDS, *TOKEN_WORDS)))
_PASSWORD = Pattern("(?i)" + any_of(PASSWORD_WORDS))
_LEAD_WORD = re.compile(
    r"(?i)\b(wi-?fi|wlan|wpa2?|vpn|door|unlock|safe|alarm|gate|access|license|secret|encryption|"
    r"root|master|admin|recovery|signing)[ -]$"
)
_PREVIOUS = re.compile(r"([A-Za-z0-9]{2,20})[ -]$")
_LOCKS = words("wifi wi-fi wlan wpa wpa2 vpn door unlock safe alarm gate")
_LEET = str.maketrans("@4301$5", "aaeoiss")

_BEFORE = re.compile(r"[\w.$@%/-]{0,64}")
_AFTER = re.compile(r"[\w.-]{0,48}")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_QUOTE = "\"'`“”„‘’«»「」『』"
# After the identifier: a closing quote or bracket, perhaps a type or remark, then what assigns.
_ASSIGNS = re.compile(
    rf"[{_QUOTE}\])*_]{{0,4}}(?P<gap>[ \t]{{0,12}})"
    r"(?:\((?=[^()\n]{1,40}\)[ \t]{0,3}[:=])[^()\n]{1,40}\)[ \t]{0,3})?"
    r"(?:(?::[ \t]{0,4}(?:str|string|String|&str|Optional\[str\]|SecretStr|text|any)[ \t]{0,4})"
    r"(?==)|(?:VARCHAR|TEXT)[^=\n]{0,12}(?==))?"
    r"(?P<sign>[ \t]{0,4}\r?\n[ \t-]{1,12}value[ \t]?:|=>|->|:=|\?=|\+=|===?|=|：|:|＝|→|>|,[ "
    r"\t]{0,4}(?:value[ \t]{0,3}=[ \t]{0,3})?(?=[\"'])|\|(?=[^|\n]{4,400}(?:\||$))|\t|"
    r"[ \t]value[ \t]{0,3}=|\x20?<)"
    rf"[ \t]{{0,12}}(?P<line>\r?\n[ \t]{{0,12}})?(?:[|>][-+]?[ \t]{{0,4}}\r?\n[ \t]{{1,"
    rf"20}})?(?:!![a-z]{{3,6}} )?(?P<wrap>(?:[A-Za-z_.:]{{1,30}}\((?=[bru@]?\\?[{_QUOTE}])"
    rf")?(?:[bruf@](?=\\?[{_QUOTE}]))?\\?[{_QUOTE}*]{{0,3}})"
)
_BARE_VALUE = re.compile(r"[^\s\"'`<>|，。、“”「」]{1,4096}")
_LINE_VALUE = re.compile(r"[^\s\"'`]{1,4096}")
_QUOTED_UNTIL = {q: re.compile(rf"(?:\\.|[^{q}\\\n]){{0,4096}}") for q in "\"'`"}
_GRADED = 96
_CLOSING = {"“": "”", "„": "”", "‘": "’", "«": "»", "「": "」", "『": "』", "”": "”", "’": "’"}


@dataclass(frozen=True, slots=True)
class Key:
    """An identifier or phrase that names a secret."""

    is_password: bool
    start: int
    end: int
    strong: bool
    name: str
    word: int
    word_end: int


def keyed_values(text: str) -> Iterator[Hit]:
    """Assigned values whose key is a secret's name and whose shape is not a harmless one."""
    done = 0
    for key in keys_in(text):
        if key.word < done:
            continue
        value = assigned(text, key)
        if value is None:
            continue
        start, end, explicit = value
        if is_secret_value(key, text[start : min(end, start + _GRADED)], explicit=explicit):
            done = end
            yield Hit(
                "keyed.password" if key.is_password else "keyed.token",
                start,
                end,
                "A value assigned to a secret's name.",
            )


@lru_cache(maxsize=4)
def keys_in(text: str) -> tuple[Key, ...]:
    """Every identifier that names a secret; two detectors ask for those of one text."""
    found = (read_key(text, *match.span()) for match in WORDS.finditer(text))
    return tuple(key for key in found if key is not None)


def read_key(text: str, start: int, end: int) -> Key | None:
    """The identifier around a secret word, unless its other parts say that it names something else."""
    word = text[start:end]
    if "arn:" in text[max(0, start - 80) : start].rpartition(" ")[2]:
        return None
    after = _AFTER.match(text, end)
    head = _before(text, start)
    tail = after.group() if after else ""
    if text.endswith(MASK[:-1], 0, end):
        return None
    if not word.isascii():
        head, tail = "", ""
    tail = tail.rstrip(".-")
    if len(tail) > 30 or sum(c.isdigit() for c in tail) > 4:
        return None
    verdict = _judge(head, word, tail)
    if verdict is None:
        return None
    is_password, strong = verdict
    if not head and word.lower() in {"key", "keys", "token", "tokens", "code", "pin"}:
        previous = _PREVIOUS.search(text, max(0, start - 24), start)
        if previous and previous.group(1).lower() in KEY_BEFORE:
            return None
    if not head and word.lower() in {"key", "code", "pin"}:
        lead = _LEAD_WORD.search(text, max(0, start - 16), start)
        strong = lead is not None
        is_password = lead is not None and lead.group(1).lower() in _LOCKS
    return Key(is_password, start - len(head), end + len(tail), strong, head + word + tail, start, end)


def _before(text: str, start: int) -> str:
    """The part of the identifier before the word, read backwards; it may stand at the end of the line above."""
    end = start - 1 if text[start - 1 : start] == "\n" else start
    backwards = _BEFORE.match(text[max(0, start - 64) : end][::-1])
    return backwards.group()[::-1] if backwards else ""


@lru_cache(maxsize=4096)
def _judge(head: str, word: str, tail: str) -> tuple[bool, bool] | None:
    """(names a password, is a compound name) or None when the identifier is about something else."""
    low = word.lower()
    before = [part.lower() for part in _PARTS.findall(head)]
    after = [part.lower() for part in _PARTS.findall(tail)]
    glued_before = bool(head) and head[-1].isalpha() and not (head[-1].islower() and word[0].isupper())
    glued_after = bool(tail) and tail[0].isalpha() and (not tail[0].isupper() or word.isupper())
    if glued_after:
        return None
    if (
        glued_before
        and len(low) < 5
        and not (low == "key" and (before[-1] + "key") in _GLUED_KEYS)
        and low not in {"pass", "pwd", "auth"}
    ):
        return None
    if len(low) < 5 and tail and tail[0].isupper() and word.islower() and not _CAMEL_TAIL.fullmatch(tail):
        return None
    if any(part in HARMLESS_AFTER and part not in STILL_SECRET_AFTER for part in after):
        return None
    is_password = _PASSWORD.fullmatch(word.translate(_LEET) if not word.isalpha() else word) is not None or low in {
        "pw",
        "pass",
    }
    if before and not is_password and before[-1] in (KEY_BEFORE if low.startswith("key") else TOKEN_BEFORE):
        return None
    if "public" in before or "publishable" in before or "pub" in before:
        return None
    compound = bool(before) or low not in _VAGUE or is_password
    return is_password, compound


_CAMEL_TAIL = re.compile(r"(?:[A-Z][a-z]{1,20}){1,6}[0-9]{0,4}|[A-Z]{1,4}[0-9]{0,4}")
_GLUED_KEYS = frozenset(
    {
        "apikey",
        "secretkey",
        "accesskey",
        "authkey",
        "privatekey",
        "appkey",
        "accountkey",
        "masterkey",
        "signkey",
    }
)


def assigned(text: str, key: Key) -> tuple[int, int, bool] | None:
    """Where the value assigned to `key` stands, and whether quotes or a sign without blanks make it surely a value."""
    sign = _ASSIGNS.match(text, key.end)
    if sign is None:
        return None
    if sign.group("sign") == ">" and not _is_tag(text, key.start):
        return None
    start = sign.end()
    wrap = sign.group("wrap")
    quote = wrap[-1:] if wrap[-1:] in _QUOTE else ""
    if quote:
        end = _quoted_end(text, start, quote)
        if text[start - 2 : start - 1] == "\\" and text[end - 1 : end] == "\\":
            end -= 1
        return (start, end, True) if end > start else None
    end = _bare_end(text, start, key)
    if sign.group("line") and text[end : end + 1] not in {"", "\n", "\r"}:
        return None
    explicit = sign.group("sign") in {"=", ":=", "=>"} and not sign.group("gap")
    return (start, end, explicit) if end > start else None


def _is_tag(text: str, start: int) -> bool:
    return "<" in text[max(0, start - 40) : start + 1]


def _quoted_end(text: str, start: int, quote: str) -> int:
    if quote in _QUOTED_UNTIL:
        match = _QUOTED_UNTIL[quote].match(text, start)
        end = match.end() if match else start
        if end < len(text) and text[end] == quote:
            return end
        return _trimmed(text, start, _match_end(_LINE_VALUE, text, start))
    end = text.find(_CLOSING.get(quote, quote), start, start + 4096)
    return end if end > 0 else _match_end(_LINE_VALUE, text, start)


def _bare_end(text: str, start: int, key: Key) -> int:
    end = _match_end(_BARE_VALUE, text, start)
    value = text[start:end]
    before = text[max(0, key.start - 200) : key.start].rpartition("\n")[2]
    semicolon = value.find(";")
    if semicolon > 0 and ("=" in value[semicolon:] or ";" in before or semicolon == len(value) - 1):
        value = value[:semicolon]
    ampersand = value.find("&")
    if ampersand > 0 and (before.rstrip()[-1:] in {"?", "&"} or re.match(r"&[\w.-]{1,40}=", value[ampersand:])):
        value = value[:ampersand]
    if before.rstrip()[-1:] == "{" or "{" in before or "," in before:
        comma = value.find(",")
        if comma > 0 and re.match(r",\s*[\"']?[\w-]{1,40}[\"']?\s*[:=]", value[comma:]):
            value = value[:comma]
    return _trimmed(text, start, start + len(value))


def _trimmed(text: str, start: int, end: int) -> int:
    """Sentence marks and unopened brackets taken off the end of a value."""
    while end > start:
        last = text[end - 1]
        if (
            last in ",;:"
            or (last == "." and text[end - 2 : end - 1] != ".")
            or (last in ")]}" and not _opens(text[start:end], last))
        ):
            end -= 1
        elif last in "*_" and text[max(start, end - 2) : end] in {"**", "__"}:
            end -= 2
        else:
            break
    return end


def _opens(value: str, closing: str) -> bool:
    opening = {")": "(", "]": "[", "}": "{"}[closing]
    return value.count(opening) >= value.count(closing)


def _match_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def is_secret_value(key: Key, value: str, *, explicit: bool) -> bool:
    """Whether `value` may be what `key` protects."""
    value = value.strip()
    if len(value) < 4 or is_harmless(value) or (" " in value and not _is_phrase(key, value)):
        return False
    level = grade(value)
    if key.is_password:
        if value.isdigit():
            return len(value) >= 6 or (explicit and len(value) >= 4)
        return level >= Grade.PASSWORD or (explicit and level >= Grade.MIXED) or (" " in value and explicit)
    if level == Grade.RANDOM:
        return key.strong or len(value) >= 20
    if is_uuid(value) or (is_hex(value) and len(value) >= 16):
        return True
    if not key.strong:
        return False
    return level == Grade.PASSWORD and (len(value) >= 8 or explicit)


def _is_phrase(key: Key, value: str) -> bool:
    """A passphrase of four or more short words, with nothing that makes it a sentence."""
    words = value.split(" ")
    if not key.is_password:
        return False
    return (
        3 < len(words) <= 24
        and all(word.isalnum() and len(word) <= 10 for word in words)
        and not _SENTENCE.intersection(words)
    )


_VAGUE = words(
    "key keys pin pat auth code salt seed pepper sas login cookie signature license community "
    "dsn token tokens pass jwt otp"
)
_SENTENCE = words(
    """
    the a is are must not be to of in for and or at least with from your our this that has have was should can
    """
)
