"""A token in the hands of the client: shown to the server, to nobody else."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that neither prints nor formats; `reveal()` is the one way to it."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __str__(self) -> str:
        return repr(self)

    def __format__(self, form: str) -> str:
        return format(repr(self), form)


def secret(token: Secret | str) -> Secret:
    """The same token as a Secret. One that could not stand in a header is refused without being repeated."""
    found = Secret(token.strip()) if isinstance(token, str) else token
    text = found.reveal()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("the token is empty, or holds characters that no token has")
    return found
