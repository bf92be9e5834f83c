"""Messages of GenAI spans, in the ways in which instrumentations write them, as one flat list of pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tikitaka.capture.claude_blocks import speech
from tikitaka.capture.codex_rollout import INJECTED_STARTS
from tikitaka.capture.otlp_spans import TraceSpan
from tikitaka.capture.shape import Item, arguments, compact, decode_json, mapping, objects, pieces, text
from tikitaka.capture.turns import joined

PieceKind = Literal["system", "user", "say", "think", "call", "result"]
Fault = Callable[[str], None]
Role = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "tool": "tool",
    "function": "tool",
}
_SPOKEN: Mapping[Role, PieceKind] = {"system": "system", "user": "user", "assistant": "say", "tool": "result"}
_TEXTS = frozenset({"", "text", "input_text", "output_text"})
_THOUGHTS = frozenset({"reasoning", "thinking"})
_CALLS = frozenset({"tool_call", "tool_use", "function", "function_call", "server_tool_call", "server_tool_use"})
_RESULTS = frozenset({"tool_call_response", "tool_result", "function_call_output", "server_tool_call_response"})
_MODALITIES = frozenset({"image", "audio", "video"})
_FLAT = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,5})\.(.+)")
_FLAT_CALL = re.compile(r"tool_calls\.(\d{1,4})\.(id|name|arguments)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing that a message says: text, a thought, a call of a tool or its result. `given` are the arguments."""

    kind: PieceKind
    text: str = ""
    id: str = ""
    name: str = ""
    given: Any = None


@dataclass(slots=True, kw_only=True)
class Exchange:
    """What went to the model and what came back."""

    input: list[Piece] = field(default_factory=list)
    output: list[Piece] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.input or self.output)


def exchange(span: TraceSpan, fault: Fault) -> Exchange:
    """The messages of a span: its attributes, else its events, else the numbered attributes of older libraries."""
    found = _of_attributes(span.attributes, fault)
    if not found:
        for name, attributes in span.events:
            _of_event(name, attributes, found, fault)
    if not found:
        _of_numbered(span.attributes, found, fault)
    system = _instructions(span.attributes.get("gen_ai.system_instructions"))
    return Exchange(input=[*system, *found.input], output=found.output)


def decoded(value: Any) -> Any:
    """A value that may be written as JSON inside a text; a text that is no JSON stays what it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{", '"')):
        return value
    read, broken = decode_json(value)
    return value if broken else read


def result_text(value: Any) -> str:
    """The result of a call as it is shown."""
    if value is None or isinstance(value, str):
        return text(value)
    return joined(pieces(value)) or compact(value)


def _of_attributes(attributes: Item, fault: Fault) -> Exchange:
    return Exchange(
        input=_messages(attributes.get("gen_ai.input.messages"), "user", fault),
        output=_messages(attributes.get("gen_ai.output.messages"), "assistant", fault),
    )


def _of_event(name: str, attributes: Item, found: Exchange, fault: Fault) -> None:
    kind = name.removeprefix("gen_ai.")
    if kind in ("client.inference.operation.details", "content.prompt", "content.completion"):
        more = _of_attributes(attributes, fault)
        found.input += _instructions(attributes.get("gen_ai.system_instructions")) + more.input
        found.input += _messages(attributes.get("gen_ai.prompt"), "user", fault, plain=True)
        found.output += more.output + _messages(attributes.get("gen_ai.completion"), "assistant", fault, plain=True)
    elif kind == "choice":
        fields = _event_fields(attributes)
        inner = decoded(fields.get("message"))
        message = {"content": inner} if isinstance(inner, str) else mapping(inner)
        found.output += _message({**fields, **message}, "assistant", fault)
    elif kind.endswith(".message") and kind.removesuffix(".message") in _ROLES:
        found.input += _message(_event_fields(attributes), _ROLES[kind.removesuffix(".message")], fault)


def _event_fields(attributes: Item) -> dict[str, Any]:
    content = decoded(attributes.get("gen_ai.event.content"))
    return {**attributes, **mapping(content)} if isinstance(content, Mapping) else dict(attributes)


def _of_numbered(attributes: Item, found: Exchange, fault: Fault) -> None:
    """`gen_ai.prompt.0.role` and its like."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in attributes.items():
        match = _FLAT.fullmatch(key)
        if match is None:
            continue
        message = sides[match[1]].setdefault(int(match[2]), {})
        call = _FLAT_CALL.fullmatch(match[3])
        if call is None:
            message[match[3]] = value
        else:
            message.setdefault("numbered", {}).setdefault(int(call[1]), {})[call[2]] = value
    found.input += _numbered_messages(sides["prompt"], "user", fault)
    found.output += _numbered_messages(sides["completion"], "assistant", fault)


def _numbered_messages(messages: Mapping[int, dict[str, Any]], role: Role, fault: Fault) -> list[Piece]:
    found: list[Piece] = []
    for _, message in sorted(messages.items()):
        calls = [call for _, call in sorted(mapping(message.pop("numbered", None)).items())]
        found += _message({**message, "tool_calls": calls}, role, fault)
    return found


def _instructions(value: Any) -> list[Piece]:
    value = decoded(value)
    parts = [value] if isinstance(value, str | Mapping) else value if isinstance(value, list) else []
    said = [_part_text(part) for part in parts]
    return [Piece(kind="system", text=piece) for piece in said if piece.strip()]


def _messages(value: Any, role: Role, fault: Fault, *, plain: bool = False) -> list[Piece]:
    """A list of messages, as values or as JSON in a text; with `plain`, a text that is no JSON is one message."""
    if value is None:
        return []
    read = decoded(value)
    if isinstance(read, str):
        if not plain:
            fault("not_json")
            return []
        read = {"content": read}
    if isinstance(read, Mapping):
        read = [read]
    if not isinstance(read, list):
        fault("wrong_shape")
        return []
    found: list[Piece] = []
    for message in read:
        if isinstance(message, Mapping):
            found += _message(message, role, fault)
        else:
            fault("wrong_shape")
    return found


def _message(message: Item, role: Role, fault: Fault) -> list[Piece]:
    """One message. `role` is whose it is where it does not say."""
    said = message.get("role")
    known = role if said is None else _ROLES.get(text(said).lower())
    if known is None:
        fault("unknown_role")
        return []
    parts = decoded(message.get("parts", message.get("content")))
    parts = [parts] if isinstance(parts, str | Mapping) else parts if isinstance(parts, list) else []
    own = text(message.get("tool_call_id")) or text(message.get("id"))
    if known == "tool" and not any(_type(part) in _RESULTS for part in parts):
        whole = joined(_part_text(part) for part in parts) or (compact(parts) if parts else "")
        return [Piece(kind="result", text=whole, id=own, name=text(message.get("name")))]
    found = [piece for part in parts for piece in _part(part, known)]
    calls = decoded(message.get("tool_calls"))
    return found + [_call(call) for call in objects(calls)]


def _part(part: Any, role: Role) -> Iterable[Piece]:
    kind, fields = _type(part), mapping(part)
    if kind in _CALLS:
        yield _call(fields)
    elif kind in _RESULTS:
        own = _first(fields, "id", "tool_use_id", "call_id", "tool_call_id")
        shown = next((fields[name] for name in ("response", "result", "content", "output") if name in fields), None)
        yield Piece(kind="result", text=result_text(shown), id=text(own), name=text(fields.get("name")))
    elif kind in _THOUGHTS:
        thought = _first(fields, "content", "text", "thinking")
        if thought.strip():
            yield Piece(kind="think", text=thought)
    elif said := _part_text(part):
        yield from _typed(said) if role == "user" else [Piece(kind=_SPOKEN[role], text=said)]


def _typed(said: str) -> Iterable[Piece]:
    """What a person typed, without what a program put in beside it or in its place."""
    if said.lstrip().startswith(INJECTED_STARTS):
        yield Piece(kind="system", text=said)
        return
    asked, reminders = speech(said)
    for reminder in reminders:
        yield Piece(kind="system", text=reminder)
    if asked:
        yield Piece(kind="user", text=asked)


def _part_text(part: Any) -> str:
    """The words of a part; what is no text is named by its kind, its content is not kept."""
    if isinstance(part, str):
        return part if part.strip() else ""
    fields, kind = mapping(part), _type(part)
    if kind in _TEXTS:
        said = _first(fields, "content", "text")
        return said if said.strip() else ""
    if not fields:
        return ""
    shown = {text(fields.get("modality")), kind.removeprefix("input_").removesuffix("_url")} & _MODALITIES
    return f"[{min(shown)}]" if shown else "[attachment]"


def _call(fields: Item) -> Piece:
    inner = mapping(fields.get("function"))
    given = next((side[name] for side in (fields, inner) for name in ("arguments", "input") if name in side), None)
    return Piece(
        kind="call",
        id=_first(fields, "id", "call_id"),
        name=text(fields.get("name")) or text(inner.get("name")),
        given=arguments(given),
    )


def _type(part: Any) -> str:
    return text(mapping(part).get("type"))


def _first(fields: Item, *names: str) -> str:
    return next((found for name in names if (found := text(fields.get(name)))), "")
