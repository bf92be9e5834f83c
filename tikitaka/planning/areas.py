"""Work areas: names that a planner may use, and the globs behind them that only the server knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tikitaka.errors import Invalid

DEFAULT_AREAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "backend": ("code/apps/server/**",),
        "frontend": ("code/apps/web/**",),
        "shared": ("code/packages/**",),
        "docs": ("code/docs/**",),
        "tests": ("code/tests/**",),
        "infra": ("code/infra/**",),
        "general": ("code/**",),
    }
)


def globs_for(area: str, *, writes: bool, areas: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The globs that a node locks: none for reading; an unknown area that writes takes the general one."""
    if not writes:
        return ()
    return tuple(areas.get(area) or areas.get("general") or DEFAULT_AREAS["general"])


def validate_areas(areas: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """A team's own table: lower-case names, globs below `code/`, no dot parts; raises Invalid."""
    if "general" not in areas:
        raise Invalid(work_areas="needs an area called general")
    for name, globs in areas.items():
        if not name.isascii() or not name.replace("_", "").isalnum() or name != name.lower():
            raise Invalid(work_areas=f"{name!r} is not a lower-case name")
        for glob in globs:
            parts = glob.split("/")
            if parts[0] != "code" or any(part in ("", ".", "..") for part in parts) or "\\" in glob:
                raise Invalid(work_areas=f"{glob!r} is not a path below code/")
    return {name: list(globs) for name, globs in areas.items()}
