"""The base of every refusal that travels as an exception."""

from __future__ import annotations


class TikiTakaError(Exception):
    """Something was refused."""

    code: str = "refused"

    def __init__(self, detail: str = "", /, **facts: object) -> None:
        self.detail = detail or (type(self).__doc__ or self.code).strip().splitlines()[0]
        self.facts = facts
        super().__init__(self.detail)


class Invalid(TikiTakaError):
    """A value that came from outside is not acceptable; `fields` maps the field's name to what is wrong with it."""

    code = "invalid"

    def __init__(self, **fields: str) -> None:
        self.fields = fields
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in sorted(fields.items())))


class WrongState(TikiTakaError):
    """The thing is not in a state that allows this."""

    code = "wrong_state"


class NotFound(TikiTakaError):
    """No such object, or none that you may see."""

    code = "not_found"


class Forbidden(TikiTakaError):
    """You may see this, but not do that to it."""

    code = "forbidden"
