"""Traces as instrumentations of GenAI programs write them."""

from __future__ import annotations

import json
from typing import Any

BEGAN = 1_764_497_680


def any_value(value: Any) -> dict:
    """A plain value as OTLP writes it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    return {"kvlistValue": {"values": attributes(value)}}


def attributes(values: dict) -> list[dict]:
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def span(number: int, trace: int, start: float, end: float, parent: int = 0, **more: Any) -> dict:
    """Attributes by their names with two underscores for each dot."""
    fields = {name: more.pop(name) for name in ("events", "status") if name in more}
    found = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": "chat",
        "startTimeUnixNano": str(int((BEGAN + start) * 10**9)),
        "endTimeUnixNano": str(int((BEGAN + end) * 10**9)),
        "attributes": attributes({name.replace("__", "."): value for name, value in more.items()}),
        **fields,
    }
    return {**found, "parentSpanId": f"{parent:016x}"} if parent else found


def event(name: str, **more: Any) -> dict:
    return {"name": name, "attributes": attributes({name.replace("__", "."): value for name, value in more.items()})}


def request(*spans: Any, service: str = "gateway") -> dict:
    """One export request."""
    resource = {"attributes": attributes({"service.name": service})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}


def user(said: str) -> dict:
    return {"role": "user", "parts": [{"type": "text", "content": said}]}


def assistant(said: str) -> dict:
    return {"role": "assistant", "parts": [{"type": "text", "content": said}], "finish_reason": "stop"}


def wants(key: str, name: str, given: dict, said: str = "") -> dict:
    call = {"type": "tool_call", "id": key, "name": name, "arguments": given}
    return {"role": "assistant", "parts": [*([{"type": "text", "content": said}] if said else []), call]}


def gives(key: str, shown: Any) -> dict:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": key, "response": shown}]}


def chat(number: int, trace: int, start: float, end: float, before: list, after: list, **more: Any) -> dict:
    """A call of a model with its messages as JSON in a text."""
    return span(
        number,
        trace,
        start,
        end,
        **{
            "gen_ai__operation__name": "chat",
            "gen_ai__input__messages": json.dumps(before),
            "gen_ai__output__messages": json.dumps(after),
        }
        | more,
    )


def conversation(agent: str = "Backend", thread: str = "conv-1") -> list[dict]:
    """Two questions to one agent: the first needs a command and a tool; the second repeats all that was said."""
    named = {"gen_ai__agent__name": agent, "gen_ai__conversation__id": thread}
    system = json.dumps([{"type": "text", "content": "House rule: never publish on a Friday."}])
    first = [user("Why do the uploads fail?")]
    looked = [wants("call_1", "bash", {"command": "make check"}, said="I will look at the checks.")]
    shown = [gives("call_1", "no bucket is set")]
    asked = [wants("call_2", "read_setting", {"name": "UPLOAD_BUCKET"})]
    read = [gives("call_2", "unset")]
    one = [assistant("The checks need the variable UPLOAD_BUCKET.")]
    second = [*first, *looked, *shown, *asked, *read, *one, user("Set it, please.")]
    chats = {"gen_ai__system_instructions": system, **named}
    tool = {"gen_ai__operation__name": "execute_tool", **named}
    agent_span = {"gen_ai__operation__name": "invoke_agent", **named}
    return [
        span(
            1,
            1,
            0,
            20,
            gen_ai__input__messages=json.dumps(first),
            gen_ai__output__messages=json.dumps(one),
            gen_ai__usage__input_tokens=60,
            **agent_span,
        ),
        chat(2, 1, 1, 2, first, looked, parent=1, gen_ai__usage__input_tokens=10, **chats),
        span(
            3,
            1,
            3,
            4,
            parent=1,
            gen_ai__tool__name="bash",
            gen_ai__tool__call__id="call_1",
            gen_ai__tool__call__arguments=json.dumps({"command": "make check"}),
            gen_ai__tool__call__result="no bucket is set",
            **tool,
        ),
        chat(4, 1, 5, 6, [*first, *looked, *shown], asked, parent=1, gen_ai__usage__input_tokens=20, **chats),
        span(
            5,
            1,
            7,
            8,
            parent=1,
            gen_ai__tool__name="read_setting",
            gen_ai__tool__call__id="call_2",
            gen_ai__tool__call__arguments=json.dumps({"name": "UPLOAD_BUCKET"}),
            gen_ai__tool__call__result="unset",
            **tool,
        ),
        chat(
            6,
            1,
            9,
            10,
            [*first, *looked, *shown, *asked, *read],
            one,
            parent=1,
            gen_ai__usage__input_tokens=30,
            **chats,
        ),
        chat(7, 2, 60, 61, second, [assistant("It is set.")], gen_ai__usage__output_tokens=5, **chats),
    ]
