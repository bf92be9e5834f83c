"""Letters of other scripts that look like Latin ones, folded only inside words that mix scripts."""

from __future__ import annotations

import re

# Pairs look-alike -> ASCII; NFKC has already folded full-width and mathematical letters.
_PAIRS = (
    "аa еe оo рp сc уy хx іi јj ѕs ԁd ԛq ԝw һh ӏl кk мm тt вb нh гr пn ьb зz ґr ё"  # Cyrillic small
    "e ѐe ї"
    "i АA ВB ЕE КK МM НH ОO РP СC ТT УY ХX ІI ЈJ ЅS ԌG ԚQ ԜW ҺH ӀI ЗZ ЬB ПN ГR ЁE ЇI"
    " αa βb γy δd εe ζz ηn ιi κk λl μu νv οo πn ρp σo ςc τt υu χx ωw"  # Greek small
    " ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϲc ϳj ϹC ͿJ"
    " օo սu ոn հh ցg յj զq լl ѵv ѴV Տs Օo ғf ԍg ꞓc ꓮA ꓐB ꓚC ꓓD ꓰE ꓝF ꓖG ꓧH ꓲI ꓙJ ꓗK ꓡL ꓟM ꓠN ꓳO "
    "ꓑP ꓣR ꓢS ꓔT ꓴU ꓦV ꓪW ꓫX ꓬY ꓜZ"
    " ɑa ɡg ɩi ıi ȷj ʏy ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ᴢz"
    " ƅb ɗd ɓb ƒf ɦh ɨi ƙk ɫl ɱm ɲn ƥp ʂs ƭt ʋv ʐz ⅼl ⅽc ⅾd ⅿm ∨v ∪u ℓl ø"
    "o đd ħh łl ŧt ƀb ɇe ɉj ɍr ɏy Ø"
    "O ĐD ĦH ŁL ŦT ⲟo ⲣp ⲥc ⲭx ⲁa ⲉe"
)
FOLD: dict[str, str] = {}
for _pair in _PAIRS.split():
    FOLD[_pair[0]] = _pair[1]

_WORD = re.compile(r"\w+")
_ASCII_LETTER = re.compile("[A-Za-z]")


def folded_words(text: str) -> list[tuple[int, int, str]]:
    """Replacements for words in which look-alikes stand among Latin letters.

    A word made of look-alikes only is folded when such a mixed word stands in the same text; true Cyrillic stays.
    """
    mixed: list[tuple[int, int, str]] = []
    whole: list[tuple[int, int, str]] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if word.isascii():
            continue
        strange = [character for character in word if not character.isascii()]
        if not all(character in FOLD for character in strange):
            if _ASCII_LETTER.search(word) and any(character in FOLD for character in strange):
                mixed.append((*match.span(), _fold(word)))
            continue
        target = mixed if _ASCII_LETTER.search(word) else whole
        target.append((*match.span(), _fold(word)))
    return sorted(mixed + whole) if mixed else []


def _fold(word: str) -> str:
    return "".join(FOLD.get(character, character) for character in word)
