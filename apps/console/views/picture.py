"""A task's graph as a picture: layers from left to right, an arrow for each dependency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.audit.progress import NodeView
from tikitaka.text import cut

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 216, 78, 56, 20, 12
# Characters that fit into a box in the widest usual font; the whole name stands in the title.
_AGENT_CHARS, _ROLE_CHARS = 22, 27


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node's place, in pixels."""

    node: NodeView
    x: int
    y: int

    @property
    def agent(self) -> str:
        return _short(f"{self.node.index}. {self.node.agent}", _AGENT_CHARS)

    @property
    def role(self) -> str:
        return _short(self.node.role, _ROLE_CHARS)

    @property
    def text_x(self) -> int:
        return self.x + 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Boxes, arrows as SVG paths, and the size of the whole."""

    boxes: tuple[Box, ...]
    arrows: tuple[str, ...]
    width: int
    height: int
    box_width: int = _WIDTH
    box_height: int = _HEIGHT


def draw(nodes: Sequence[NodeView]) -> Picture:
    """A node stands one layer right of the deepest node that it depends on."""
    layer: dict[int, int] = {}
    for node in nodes:
        layer[node.index] = 1 + max((layer.get(parent, -1) for parent in node.depends_on), default=-1)
    filled: dict[int, int] = {}
    boxes = {}
    for node in nodes:
        row = filled.get(layer[node.index], 0)
        filled[layer[node.index]] = row + 1
        x = _MARGIN + layer[node.index] * (_WIDTH + _GAP_X)
        boxes[node.index] = Box(node=node, x=x, y=_MARGIN + row * (_HEIGHT + _GAP_Y))
    arrows = tuple(_arrow(boxes[parent], boxes[node.index]) for node in nodes for parent in node.depends_on)
    return Picture(
        boxes=tuple(boxes.values()),
        arrows=arrows,
        width=2 * _MARGIN + (max(filled, default=0) + 1) * (_WIDTH + _GAP_X) - _GAP_X,
        height=2 * _MARGIN + max(filled.values(), default=1) * (_HEIGHT + _GAP_Y) - _GAP_Y,
    )


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else cut(text, limit - 1).rstrip() + "…"


def _arrow(start: Box, end: Box) -> str:
    x1, y1 = start.x + _WIDTH, start.y + _HEIGHT // 2
    x2, y2 = end.x, end.y + _HEIGHT // 2
    bend = _GAP_X // 2
    return f"M {x1} {y1} C {x1 + bend} {y1}, {x2 - bend} {y2}, {x2 - 6} {y2}"
