"""The window of the team's log for one attempt.

`deduplicated` is transcript bookkeeping: already seen, one's own, or shown elsewhere in the same prompt. It is never a
policy verdict; what policy withholds is a recipient's verdict with a reason and stands in another place altogether.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One message of the open segment. `agent` is None for what a person said; `role` is that of the node."""

    id: str
    seq: int
    speaker: str
    agent: UUID | None
    node: UUID | None
    text: str
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The lines to show in order of seq, and the ids of the lines up to the bound that are not shown again."""

    from_seq_exclusive: int
    to_seq_inclusive: int
    injected: tuple[LogLine, ...]
    deduplicated: tuple[str, ...]


def window(
    lines: Sequence[LogLine],
    *,
    agent: UUID,
    from_seq_exclusive: int,
    to_seq_inclusive: int,
    shown_nodes: Collection[UUID] = (),
    shown_messages: Collection[str] = (),
) -> Window:
    """Lines after the cursor and up to the frozen bound, without the agent's own and what the prompt shows anyway.

    The bound is frozen before the attempt starts; the cursor later moves to the bound and no further, so that what
    others say meanwhile is new the next time.
    """
    injected: list[LogLine] = []
    deduplicated: list[str] = []
    for line in sorted(lines, key=lambda line: line.seq):
        if line.seq > to_seq_inclusive:
            continue
        own = line.agent == agent
        shown = line.id in shown_messages or (line.node is not None and line.node in shown_nodes)
        if line.seq <= from_seq_exclusive or own or shown:
            deduplicated.append(line.id)
        else:
            injected.append(line)
    return Window(
        from_seq_exclusive=from_seq_exclusive,
        to_seq_inclusive=to_seq_inclusive,
        injected=tuple(injected),
        deduplicated=tuple(deduplicated),
    )
