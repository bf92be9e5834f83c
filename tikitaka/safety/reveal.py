"""The shadow text: what a note says once invisible characters, look-alikes, escapes and joins are undone."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

from tikitaka.safety.blobs import decoded_blobs
from tikitaka.safety.confusables import folded_words
from tikitaka.safety.hidden import ANSI, INVISIBLE, TAG_RUN, is_flag
from tikitaka.safety.patterns import Pattern
from tikitaka.safety.views import Edit, View

_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_ESCAPES = Pattern(
    r"(?:%[0-9A-Fa-f]{2})+"
    r"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,12});"
    r"|(?:\\u\{?[0-9A-Fa-f]{4,6}\}?)+|(?:\\x[0-9A-Fa-f]{2})+|(?:\\U[0-9A-Fa-f]{8})+",
    needs=("%", "&", "\\"),
)
_UNICODE_ESCAPE = re.compile(r"\\(?:u\{?|x|U)([0-9A-Fa-f]{2,8})\}?")
_JOINS = Pattern(
    r"\\\r?\n[ \t]*"  # a line continued
    r"|[\"'`]\s{0,8}(?:\+|\.\.?|&|\|\||~|\\)\s{0,40}[\"'`]"  # string + string
    r"|\"[ \t]{0,8}\r?\n[ \t]{0,40}\"|'[ \t]{0,8}\r?\n[ \t]{0,40}'"  # adjacent literals
    r"|\"[ \t]{1,3}\"|'[ \t]{1,3}'"
    r"|<!--[^>\n]{0,40}-->|</?(?:b|i|em|strong|wbr|span|code|u|s|mark|font)>|<wbr ?/>"
    r"|\*{1,3}|~~|`{1,2}",
    needs=("\\", '"', "'", "`", "<", "*", "~"),
)
_SPACED = Pattern(
    r"(?:^|[\s\"'(>:])((?:[^\s] ){5,}[^\s])|(?:^|[\s\"'(>:])((?:\w[.\-_*·|]){5,}\w)",
    needs=(" ", ".", "-", "_", "*", "·", "|"),
)
_DOTTED = Pattern(r"(?:^|[\s\"'(>])((?:\w[.·_*|-])+\w)", needs=(".", "·", "_", "*", "|", "-"))
_WIDE_SPACED = Pattern(r"(?:[^\s](?: {1,8}|\t)){6,}[^\s]", needs=(" ", "\t"))


def shadows(view: View) -> list[View]:
    """The text itself and, where it differs, the text with every disguise undone."""
    shadow = joined(unescaped(cleaned(view)))
    return [view] if shadow is view or shadow.text == view.text else [view, shadow]


def cleaned(view: View) -> View:
    """Invisible characters and terminal codes removed, tag letters decoded, NFKC, look-alikes folded."""
    text = view.text
    if text.isascii() and "\x1b" not in text and not INVISIBLE.search(text):
        return view
    edits: list[Edit] = [(*match.span(), "") for match in ANSI.finditer(text)]
    edits += [(*match.span(), "") for match in INVISIBLE.finditer(text)]
    edits += [(*match.span(), _carried(text, match)) for match in TAG_RUN.finditer(text)]
    view = view.edited("cleaned", sorted(edits))
    view = view.edited("cleaned", _normalized(view.text))
    view = view.edited("cleaned", [(*match.span(), "") for match in _MARKS.finditer(view.text)])
    return view.edited("cleaned", folded_words(view.text))


def _carried(text: str, match: re.Match[str]) -> str:
    if is_flag(text, *match.span()):
        return ""
    return "".join(chr(ord(c) - 0xE0000) for c in match.group() if 0xE0020 <= ord(c) <= 0xE007E)


def _normalized(text: str) -> Iterator[Edit]:
    """NFKC of each run of foreign characters, character by character where the length changes."""
    for match in _FOREIGN.finditer(text):
        run = match.group()
        if unicodedata.is_normalized("NFKC", run):
            continue
        for offset, character in enumerate(run, match.start()):
            new = unicodedata.normalize("NFKC", character)
            if new != character:
                yield offset, offset + 1, new


def unescaped(view: View) -> View:
    r"""Percent codes, HTML entities and \\u escapes read, twice since they may be nested."""
    for _ in range(2):
        text = view.text
        if not ("%" in text or "&" in text or "\\" in text):
            break
        edits = [(*m.span(), new) for m in _ESCAPES.finditer(text) if (new := _unescape(m.group())) != m.group()]
        if not edits:
            break
        view = view.edited("unescaped", edits)
    return view


def _unescape(code: str) -> str:
    if code[0] == "%":
        plain = unquote(code, errors="replace")
        return code if "\ufffd" in plain else plain
    if code[0] == "&":
        return html.unescape(code)
    characters = [int(digits, 16) for digits in _UNICODE_ESCAPE.findall(code)]
    return "".join(chr(c) if c < 0x110000 and not 0xD800 <= c < 0xE000 else "\ufffd" for c in characters)


def joined(view: View) -> View:
    """Continued lines, concatenated strings and emphasis inside words closed up."""
    text = view.text
    edits = [(*m.span(), "") for m in _JOINS.finditer(text) if _inside(text, m.start(), m.end())]
    return view.edited("joined", edits) if edits else view


def _inside(text: str, start: int, end: int) -> bool:
    """Whether the join touches a word, so that closing it up may complete one."""
    if text[start] not in "*~<`":
        return True
    before = start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_-=")
    after = end < len(text) and (text[end].isalnum() or text[end] in "_-=")
    return (before and after) if text[start] == "`" else (before or after)


def unspaced(view: View) -> View:
    """Spaced-out letters closed up; two or more blanks, or a line end, part the words."""
    text = view.text
    edits: list[Edit] = []
    for match in _WIDE_SPACED.finditer(text):
        letters = match.group()
        wide = "  " in letters
        gap = min((len(run) for run in re.findall(" +", letters)), default=1)
        edits.append((*match.span(), _close(letters, gap) if wide else letters.replace(" ", "").replace("\t", "")))
    dotted = [(*match.span(1), match.group(1)[::2]) for match in _DOTTED.finditer(text)]
    if not edits and len(dotted) >= 3:
        edits = dotted
    if not edits:
        for match in _SPACED.finditer(text):
            group = 1 if match.start(1) >= 0 else 2
            letters = match.group(group)
            edits.append((*match.span(group), letters[::2]))
    return view.edited("unspaced", edits) if edits else view


def _close(letters: str, gap: int) -> str:
    words = re.split(f" {{{gap + 1},}}", letters)
    return " ".join(word.replace(" ", "") for word in words)


def encoded(view: View) -> Iterator[View]:
    """A view for each base64, base32 or hexadecimal part that decodes to readable text, also when done twice."""
    for start, end, decoded in decoded_blobs(view.text):
        yield view.within("encoded", decoded, start, end)
        if len(decoded) >= 12 and " " not in decoded:
            for _, _, again in decoded_blobs(decoded):
                yield view.within("encoded", again, start, end)
