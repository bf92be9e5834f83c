"""Text that imitates the frame around a note: roles of a chat, our block markers, fences, front matter."""

from __future__ import annotations

from collections.abc import Iterator

from tikitaka.safety.findings import Hit
from tikitaka.safety.hosts import contains_suspicious
from tikitaka.safety.patterns import Pattern

_TEMPLATE = Pattern(
    r"(?i)<\|(?:/?(?:system|user|assistant|developer|human|instructions?|tool|im_start|im_end|"
    r"start_header_id|end_header_id|eot_id|begin_of_text|channel|message|start)[a-z_ ]{0,16})"
    r"\|?>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|</?s>\s*\[|"
    r"</?(?:system|system[-_](?:prompt|message|reminder|instructions?|override)|developer|"
    r"assistant|human|instructions?|admin|important|tool_result|function_results|function_calls|"
    r"user_message|new_instructions?)>|"
    r"\{\s*[\"']role[\"']\s*:\s*[\"'](?:system|developer)[\"']|[\"']role[\"']\s*:\s*[\"']"
    r"(?:system|developer)[\"']\s*,|\brole\s?[=:]\s?[\"']?system\b|"
    r"\[(?:system|developer|admin)(?: (?:message|prompt|override|note|instruction|notice))?\](?:\(#|\s|:)|"
    r"(?:^|\n)\s*#{1,6}\s*(?:system|instructions?|developer|assistant|new instructions?|system "
    r"(?:prompt|message|override))\s*:?\s*(?:\n|$)|"
    r"(?:begin|end|start of|end of) (?:system|developer|admin)(?: ?(?:prompt|message|"
    r"instructions?|override))|={3,}\s*(?:system|end of (?:notes?|context|user))|"
    r"(?:^|\n)\s*(?:system|assistant|developer)\s?(?:override|prompt|message|notice)\s*:|\bsystem override\b"
)
_ROLE_LINE = Pattern(
    r"(?i)(?:^|\n)[ \t>*_#\[(-]{0,8}(system|developer|assistant|human|user|ai|tool)[\]*_)]{0,"
    r"3}\s{0,2}:[*_]{0,3}[ \t]*([^\n]{0,400})"
)
_ORDERING = Pattern(
    r"(?i)\b(?:you|your|must|ignore|always|never|obey|follow|grant|reveal|disregard|comply|"
    r"approved?|allowed|instructions?|rules?|secrets?|password|agents?|unrestricted|limits?|"
    r"public)\b"
)
_MARKER = Pattern(
    r"(?i)<!--\s*/?\s*memory\b|<!--\s*(?:end|begin|/)\s*(?:of\s*)?(?:managed|memory|tiki)|"
    r"<!--\s*(?:/)?tiki-?taka"
)
_COMMENT = Pattern(
    r"(?i)(?:<!--|/\*|\{#|\[//\]: # \(|%%|<!---)\s*(?:to |dear |hey |note (?:to|for) )?(?:the |"
    r"any |all |every )?(?:ai|llms?|agents?|assistants?|claude|gpt|chatgpt|codex|copilot|"
    r"language models?|models?|bots?)\b\s*[:,!-]"
)
_FENCE = Pattern(r"(?m)^[ \t>]{0,6}`{3,}[ \t]*([^\s`]*)")
_RULE_LINE = Pattern(r"(?m)^-{3}[ \t]*\r?$")
_IMAGE = Pattern(
    r"!\[[^\]\n]{0,200}\]\(\s*<?(https?://[^\s)>]{1,1000})|<img[^>\n]{1,"
    r"200}src\s*=\s*[\"']?(https?://[^\s\"'>]{1,1000})|\]\((https?://[^\s)>]{1,1000}\?[^\s)>]{1,"
    r"600})"
)
_SLOT = Pattern(
    r"[?&][^=&\s]{0,40}=(?:[A-Z_]{0,40}(?:HISTORY|SECRET|TOKEN|PROMPT|DATA|NOTES?|CONTEXT|CONVERSATION|PASSWORD|"
    r"KEY|CONTENT|SUMMARY|ENV|CREDENTIALS?|TRANSCRIPT|MEMORY|HERE)[A-Z_]{0,40}(?:$|[&#])|\{|\$|<|%7[Bb]|\[)|/\{{1,2}[a-z_]{2,40}\}"
)


def frames(text: str) -> Iterator[Hit]:
    """Every part that would be read as something other than the words of a note."""
    for match in _TEMPLATE.finditer(text):
        yield Hit("frame.role", *match.span(), "Imitates the role markers of a conversation with a model.")
    yield from _role_lines(text)
    if "<!--" in text:
        for match in _MARKER.finditer(text):
            yield Hit("frame.marker", *match.span(), "Imitates the marks around a managed block.")
    for match in _COMMENT.finditer(text):
        yield Hit("frame.comment", *match.span(), "Addresses an agent in a comment that readers do not see.")
    if "```" in text or "~~~" in text:
        fences = [match.span() for match in _FENCE.finditer(text)]
        if len(fences) % 2:
            yield Hit(
                "frame.fence",
                *fences[-1],
                "A code fence without its partner would let text escape from its block.",
            )
    if "---" in text:
        for match in _RULE_LINE.finditer(text):
            yield Hit("frame.front_matter", *match.span(), "A line of three dashes could be read as front matter.")
    if "](" in text or "<" in text:
        yield from _loaded(text)


def _role_lines(text: str) -> Iterator[Hit]:
    lines = list(_ROLE_LINE.finditer(text))
    roles = {match.group(1).lower() for match in lines}
    for match in lines:
        role = match.group(1).lower()
        strong = role in {"system", "developer", "assistant", "human"}
        later = match.start() > 0 and text[: match.start()].strip() != ""
        ordering = _ORDERING.search(match.group(2)) is not None
        if (
            (strong and (ordering or (later and role != "system") or len(roles) > 1))
            or (not strong and ordering and len(roles) > 1)
            or (role == "system" and later and match.group(2).count(" ") >= 2)
        ):
            yield Hit("frame.role", match.start(1), match.end(2), "A line that looks like another speaker's turn.")


def _loaded(text: str) -> Iterator[Hit]:
    for match in _IMAGE.finditer(text):
        group = next(g for g in (1, 2, 3) if match.start(g) >= 0)
        address = match.group(group)
        query = "?" in address
        if (
            (query and contains_suspicious(address))
            or (group < 3 and _SLOT.search(address))
            or (query and _SLOT.search(address) and contains_suspicious(address))
        ):
            yield Hit("frame.beacon", *match.span(group), "An address that would carry data away when it is shown.")
