"""Passwords that stand in a sentence, before or after the word for one."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import itemgetter

from tikitaka.safety.allow import is_harmless
from tikitaka.safety.findings import Hit
from tikitaka.safety.keyed_values import WORDS, Key, keys_in, read_key
from tikitaka.safety.patterns import Match, Pattern
from tikitaka.safety.shape import Grade, grade, is_hex, is_uuid
from tikitaka.safety.wordlists import words

_TOKEN = re.compile(r"[^\s,;，。、；：\"“”„«»「」『』`<>|\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4,512}")
_EDGES = "\"'`“”„‘’«»「」『』()[]{}*"
_SENTENCE_END = re.compile(r"[.!?。！？;；](?=\s)|[\n。！？]")
_SCRIPT = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_REACH = 72
# What ties a value to the word before it: a sign, a verb, a particle.
_LINKS = words(
    """
    is was now are be been ist war lautet lautete wurde heißt es est era é è är er on to jest je brzmi van là
    adalah ialah este bylo byl είναι это изменён изменен такой теперь является है हैं olarak idi became becomes
    remains stays equals set reset currently still temporarily gesetzt auf sur as named called hieß blijft wordt
    werd sono fue sigue nyt nu ny nová nowe nové eski yeni új az always just only simply reads like value = :=
    => -> : - – — → : ： ＝ は が 是 为 為 は、
    은 는 이 가 هو هي היא הוא คือ with mit con avec com med using via user pass
    pw und and y et e и
    """
)
_SIGN_BEFORE = re.compile(
    r"[:：=＝→>–—(「『“\"'`*-]\s{0,3}[\"'`“„«「『(*]{0,4}$|[はがを是为為은는이가]\s{0,2}[「『\"'`]{0,2}$"
)
_LAST_WORD = re.compile(r"([^\s\"'`“„«(*]{1,24})[\s\"'`“„«「『(*]{1,6}$")
_FIRST_LINK = re.compile(
    r"(?i)[\"'`”»」)*]{0,3}[\s,]{0,3}(?:(?:is|was|as|ist|es|est|é|è|als|como|comme|come|som|jako|"
    r"olarak|это|как|for|för|を|は|是|-|–|—|=|\()"
    r"[\s(]{1,3}|を|は|是){1,2}(?:(?:still|now|the|our|my|your|a|an|das|die|der|la|le|el|los|mot|o|"
    r"il|de|het|new|old|root|admin|current|shared|"
    r"wifi|wi-fi|db|database|temporary|temp|staging|prod|production|test|hub|default|master|"
    r"service|api|access|user|ssh|vpn|neue|alte|"
    r"nueva|nouveau|actual|initial|common|team|backup)\s){0,5}"
)
_ACCOUNT = Pattern(
    r"(?i)\b(?:(?:creds?|credentials?|log ?in|log(?:ged)? (?:in|on)|sign ?in|account|accès|"
    r"acceso|zugang|zugangsdaten|anmeldung|acesso|accesso|"
    r"auth|user(?:name)?|ssh|connexion|inloggning|giriş|dostęp|logowanie|credenciales|"
    r"credenciais|credenziali|identifiants|inloggegevens)[\s:：=]{1,3}|"
    r"(?:login|pass|pw|pwd|user)/(?:pass|pw|password|pwd):? )"
    r"(?:(?:is|are|as|with|mit|con|avec|com|using|via|for|to|data|use|the|user|ist|sind|por|für|"
    r"in)[\s:：]{1,3}){0,5}"
    r"[\"'`(]{0,2}([\w.@+-]{1,64}) ?(?:/|:|\||,| and | with | und | mit | y | con | et | avec | "
    r"e | и ) ?[\"'`]?([^\s\"'`,;，。<>]{4,})"
    r"|(?:вход|доступ|логин|учетка|учётка|přihlášení|登录|账号|帳號|账户|ログイン|계정|로그인)[\s:：=]{0,"
    r"3}[\"'`(]{0,2}([\w.@+-]{1,64}) ?(?:/|:|\||,|，) ?"
    r"[\"'`]?([^\s\"'`,;，。<>]{4,})"
    r"|(?:^|[\s\"'`(])(admin|root|administrator|guest|deploy|postgres|test|operator|sa|svc|"
    r"ubuntu|pi|bob|alice)(?: ?[:/] ?| with )([^\s\"'`,;，。<>/]{6,})"
)
_USED_FOR = Pattern(
    r"(?i)\b(?:us(?:ed?|ing)|with|put|set|try|tried|pasted?|enter(?:ed)?|typed?|add(?:ed)?|"
    r"pass(?:ed)?|benutz[a-z]{1,4}|nutz[a-z]{1,4}|usé|usa|mit|"
    r"utilis[a-zé]{1,4}|got|took|sent|send|export(?:ed)?)\s(?:the\s|key\s|value\s|token\s){0,"
    r"2}[\"'`]?([^\s\"'`]{8,})[\"'`]?\s"
    r"(?:for|as|in|to|into|für|als|para|como|pour|comme)\s[\"'`]?([\w.-]{3,60})"
)


def prose(text: str) -> Iterator[Hit]:
    """Every password-like word that a sentence ties to a word for a secret."""
    keys, accounts, used = keys_in(text), list(_ACCOUNT.finditer(text)), list(_USED_FOR.finditer(text))
    values = _values(text) if keys or accounts or used else []
    if not values:
        return
    for key in keys:
        yield from _around(text, key, _close_by(values, key.word, key.word_end))
    yield from _accounts(text, accounts)
    for match in used:
        value, start = _bare(text, *match.span(1))
        named = WORDS.search(match.group(2))
        if named and read_key(match.group(2), *named.span()) and _is_odd(value, 8):
            detail = "A value used for something that names a secret."
            yield Hit("prose.used_for", start, start + len(value), detail)


def _values(text: str) -> list[tuple[int, str]]:
    """The words of the text that may be a password at all, with their places."""
    found = []
    for token in _TOKEN.finditer(text):
        value, start = _bare(text, *token.span())
        if _is_odd(value, 6):
            found.append((start, value))
    return found


def _close_by(values: list[tuple[int, str]], start: int, end: int) -> list[tuple[int, str]]:
    first = bisect_left(values, start - 5 * _REACH, key=itemgetter(0))
    last = bisect_right(values, end + _REACH, key=itemgetter(0))
    return [value for value in values[first:last] if start - value[0] - len(value[1]) <= _REACH]


def _around(text: str, key: Key, values: list[tuple[int, str]]) -> Iterator[Hit]:
    for start, value in values:
        end = start + len(value)
        if start >= key.end:
            if _follows(text, key, start, value):
                yield Hit("prose.password", start, end, "A password after the word for one.")
        elif end <= key.start and _precedes(text, key, end, value):
            yield Hit("prose.password_first", start, end, "A password before the word for one.")


def _follows(text: str, key: Key, start: int, value: str) -> bool:
    """The very next word, a word after a link, or one that can only be a password."""
    if _SENTENCE_END.search(text, key.end, start):
        return False
    between = text[key.end : start]
    linked = len(between) <= 3 or _is_linked(between)
    tight = len(between) > 1 or key.name.startswith("-") or key.name.isupper()
    return _fits(key, value, linked=linked, tight=tight)


def _precedes(text: str, key: Key, end: int, value: str) -> bool:
    """`X is the password`: a link that ends at the key follows, or the value can only be a password."""
    link = _FIRST_LINK.match(text, end, key.start)
    if link is not None and link.end() == key.start and link.end() > end and _fits(key, value, linked=True, tight=True):
        return True
    alone = _is_unmistakable(value) if key.is_password else (_is_constant(key) and _is_generated(value))
    return alone and not _SENTENCE_END.search(text, end, key.start)


def _is_linked(between: str) -> bool:
    if _SIGN_BEFORE.search(between):
        return True
    word = _LAST_WORD.search(between)
    return word is not None and word.group(1).lower() in _LINKS


def _accounts(text: str, accounts: list[Match]) -> Iterator[Hit]:
    for match in accounts:
        group = next(g for g in (2, 4, 6) if match.start(g) >= 0)
        value, start = _bare(text, *match.span(group))
        if not value.startswith("/") and _is_password(value) and (group != 6 or _is_unmistakable(value)):
            yield Hit("prose.login", start, start + len(value), "A password after a user name.")


def _fits(key: Key, value: str, *, linked: bool, tight: bool) -> bool:
    if key.is_password:
        return _is_password(value) if linked else _is_unmistakable(value)
    if not linked or not _is_odd(value, 8):
        return False
    if grade(value) == Grade.RANDOM:
        return key.strong if is_hex(value) else tight or len(value) < 40
    return key.strong


def _is_constant(key: Key) -> bool:
    """Whether the key is written like an environment variable, so that it names one value and not a topic."""
    return "_" in key.name and key.name.isupper()


def _is_generated(value: str) -> bool:
    return _is_odd(value, 16) and grade(value) == Grade.RANDOM and not (is_hex(value) and len(value) in {40, 64})


def _is_odd(value: str, least: int) -> bool:
    return (
        "://" not in value
        and not _SCRIPT.search(value)
        and len(value) >= least
        and grade(value) >= Grade.PASSWORD
        and not is_harmless(value)
    )


def _is_password(value: str) -> bool:
    return _is_odd(value, 6) and not is_uuid(value)


def _is_unmistakable(value: str) -> bool:
    """Whether the value can hardly be anything but a password: symbols among digits and letters, or random letters."""
    if not _is_password(value) or any(c in value for c in "/:()=<>{}[]\\") or is_hex(value):
        return False
    if any(c in "!$%&#*~^+@?" for c in value) and any(c.isdigit() for c in value):
        local, _, host = value.partition("@")
        return not ("." in host and local) and not value.startswith(("#", "+", "@"))
    mixed = any(c.isupper() for c in value) and any(c.islower() for c in value) and any(c.isdigit() for c in value)
    return mixed and len(value) >= 12 and grade(value) == Grade.RANDOM and "." not in value


def _bare(text: str, start: int, end: int) -> tuple[str, int]:
    """The word without quotes, brackets and sentence marks around it."""
    while start < end and text[start] in _EDGES:
        start += 1
    while end > start and (
        text[end - 1] in "\"'`“”„‘’«»「」『』:.?" or (text[end - 1] in ")]}" and _is_unopened(text[start:end]))
    ):
        end -= 1
    if text[start:end].endswith("**"):
        end -= 2
    return text[start:end], start


def _is_unopened(value: str) -> bool:
    closing = value[-1]
    return value.count({")": "(", "]": "[", "}": "{"}[closing]) < value.count(closing)
