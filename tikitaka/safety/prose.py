"""Passwords that stand in a sentence, before or after the word for one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tikitaka.safety.allow import is_harmless
from tikitaka.safety.findings import Hit
from tikitaka.safety.keyed_values import WORDS, Key, read_key
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.shape import Grade, grade, is_hex, is_uuid
from tikitaka.safety.wordlists import words

_TOKEN = re.compile(r"[^\s,;，。、；：\"“”„«»「」『』`<>]{4,512}")
_EDGES = "\"'`“”„‘’«»「」『』()[]{}*_"
_STOP = re.compile(r"[.!?。！？](?=\s|$)|\n\s*\n")
_LINK_WORDS = words(
    """
    is was now are be been ist war lautet lautete wurde heißt es est era é è är er on to jest je brzmi
    van là adalah ialah este bylo byl είναι это изменён изменен на такой теперь является है हैं olarak
    idi has have had became becomes remains stays equals set reset changed rotated updated currently
    still temporarily should will gesetzt geändert auf sur as named called hieß blijft wordt werd sono
    fue sigue siendo siempre sekarang hiện bây giờ nyt on nu ny nová nowe nové eski yeni új az a le la
    el o always just only simply both reads reading e.g. i.e. like value
    """
)
_LINK = re.compile(
    r"(?i)[\"'`*_)\]]{0,4}"
    r"(?:\s(?:for|of|to|on|at|in|für|von|vom|zum|zur|im|para|de|del|della|do|da|du|des|pour|voor|til|för|för|na|do|dla|pro|için|до|для|от|к|у|на|до|fra|till|av)"
    r"\s[\w@./-]{1,40}(?:\s[\w@./-]{1,30}){0,3}?(?=\s(?:is|was|ist|es|est|é|è|är|er|on|jest|je|=)\s|\s?[:：=]))?"
    r"(?:[\s:：=\-–—>→(]{1,6}(?:" + "|".join(map(re.escape, _LINK_WORDS)) + r")(?![\w']))"
    r"{0,6}"
    r"[\s]{0,2}(?:は|が|是|为|為|은|는|이|가|を|هو|هي|היא|הוא|คือ|है)?[\s:：=\-–—>→\"'`“„«「『(*]{0,8}"
)
_ACCOUNT = Pattern(
    r"(?i)\b(?:creds?|credentials?|login|log ?in|log(?:ged)? (?:in|on)|sign ?in|account|accès|acceso|zugang|zugangsdaten|anmeldung|acesso|accesso|вход|доступ|логин|auth|user(?:name)?|ssh|"
    r"connexion|inloggning|giriş|dostęp|logowanie|přihlášení|credenciales|credenciais|credenziali|identifiants|учетка|учётка|登录|账号|帳號|ログイン|계정|로그인)\b?"
    r"[\s:：=]{0,3}(?:(?:is|are|as|with|mit|con|avec|com|using|via|for|to|data|use|the|user|are:|ist|sind|на|под|с|по|por|für|in)[\s:：]{1,3}){0,5}[\"'`(]{0,2}([\w.@+-]{1,64}) ?(?:/|:|\||,| and | und | y | et | e | и ) ?[\"'`]?([^\s\"'`,;，。<>]{4,})"
)
_VALUE_FIRST = re.compile(
    r"(?i)[\"'`”»」)*]{0,3}[\s,]{0,3}(?:(?:is|was|as|ist|es|est|é|è|als|como|comme|come|som|jako|olarak|это|как|for|to|für|を|は|是|als das|as the|as a|as our|(?:is|was|ist|es|est) (?:the|our|my|still the|das|la|el|le|a)|-|–|—|=|\()[\s(]{1,3})"
    r"(?:(?:the|our|my|your|a|an|das|die|der|la|le|el|los|mot|o|a|il|de|het|new|old|root|admin|current|shared|wifi|wi-fi|db|database|temporary|temp|staging|prod|production|test|hub|default|master|service|api|access|user|ssh|vpn|neue|alte|nueva|nouveau|actual)\s){0,5}"
)
_USED_FOR = Pattern(
    r"(?i)\b(?:us(?:ed?|ing)|with|put|set|try|tried|paste[d]?|enter(?:ed)?|type[d]?|add(?:ed)?|pass(?:ed)?|benutz[a-z]{1,4}|usé|usa|mit|utilis[a-zé]{1,4}|got|took|sent|send|export(?:ed)?)\s(?:the\s|key\s|value\s|token\s){0,2}[\"'`]?([^\s\"'`]{8,})[\"'`]?\s(?:for|as|in|to|into|für|als|para|como|pour|comme)\s[\"'`]?([\w.-]{3,60})"
)


def prose(text: str) -> Iterator[Hit]:
    """Every password-like word that a sentence ties to a word for a secret."""
    for match in WORDS.finditer(text):
        key = read_key(text, *match.span())
        if key is None:
            continue
        yield from _after(text, key)
        yield from _before(text, key)
    for match in _ACCOUNT.finditer(text):
        value, start = _bare(text, *match.span(2))
        if _is_password(value) and not match.group(2).startswith("/"):
            yield Hit("prose.login", start, start + len(value), "A password after a user name.")
    for match in _USED_FOR.finditer(text):
        value, start = _bare(text, *match.span(1))
        named = WORDS.search(match.group(2))
        if (
            named
            and read_key(match.group(2), *named.span())
            and grade(value) >= Grade.PASSWORD
            and len(value) >= 8
            and not is_harmless(value)
        ):
            yield Hit(
                "prose.used_for", start, start + len(value), "A value used for something that names a secret."
            )


def _after(text: str, key: Key) -> Iterator[Hit]:
    link = _LINK.match(text, key.end)
    at = link.end() if link else key.end
    token = _TOKEN.match(text, at)
    if token is None:
        return
    linked = at - key.end > 1
    value, start = _bare(text, *token.span())
    if _fits(key, value, linked=linked):
        yield Hit("prose.password", start, start + len(value), "A password after the word for one.")


def _before(text: str, key: Key) -> Iterator[Hit]:
    """`X is the password`: the value stands before a link that ends at the key."""
    begin = max(0, key.start - 160)
    for token in _TOKEN.finditer(text, begin, key.start):
        if text[token.start() - 1 : token.start()].strip() and token.start() == begin:
            continue
        link = _VALUE_FIRST.match(text, token.end(), key.start)
        if link is None or link.end() != key.start:
            continue
        value, start = _bare(text, *token.span())
        if _fits(key, value, linked=True) and grade(value) >= Grade.PASSWORD:
            yield Hit(
                "prose.password_first", start, start + len(value), "A password before the word for one."
            )


def _fits(key: Key, value: str, *, linked: bool) -> bool:
    if key.is_password:
        return _is_password(value)
    if is_harmless(value) or len(value) < 8:
        return False
    level = grade(value)
    if level == Grade.RANDOM:
        return not (is_hex(value) and len(value) in {40, 64} and not linked)
    return level == Grade.PASSWORD and linked and key.strong and len(value) >= 8


def _is_password(value: str) -> bool:
    if len(value) < 6 or is_harmless(value) or is_uuid(value):
        return False
    return grade(value) >= Grade.PASSWORD


def _bare(text: str, start: int, end: int) -> tuple[str, int]:
    """The word without quotes, brackets and sentence marks around it."""
    while start < end and text[start] in _EDGES and text[start] != "_":
        start += 1
    while end > start and (
        text[end - 1] in "\"'`“”„‘’«»「」『』:.?" or (text[end - 1] in ")]}" and _unopened(text[start:end]))
    ):
        end -= 1
    if text[start:end].endswith("**"):
        end -= 2
    return text[start:end], start


def _unopened(value: str) -> bool:
    closing = value[-1]
    return value.count({")": "(", "]": "[", "}": "{"}[closing]) < value.count(closing)
