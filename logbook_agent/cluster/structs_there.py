"""Stands in for msgspec where the standard library is all there is, which is a worker's machine. Nothing is compiled
for a class: dataclasses would take a fifth of the time in which a worker starts."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["NODEFAULT", "Struct", "field", "structs"]

NODEFAULT: Any = object()


class Member(NamedTuple):
    """A field of a struct, and its value where none is given."""

    name: str
    default: Any = NODEFAULT
    default_factory: Any = NODEFAULT


def field(**default: Any) -> Any:
    return Member("", **default)


class Struct:
    """A class of values, equal where their fields are. The options of msgspec change nothing here."""

    _fields: tuple[Member, ...] = ()

    def __init_subclass__(cls, **options: bool) -> None:
        given = {name: vars(cls).get(name, NODEFAULT) for name in vars(cls).get("__annotations__", {})}
        own = (one._replace(name=name) if isinstance(one, Member) else Member(name, one) for name, one in given.items())
        cls._fields = (*cls._fields, *own)

    def __init__(self, /, *args: Any, **given: Any) -> None:
        given |= {known.name: value for known, value in zip(self._fields, args, strict=False)}
        for name, default, factory in self._fields:
            vars(self)[name] = given.pop(name) if name in given else default if factory is NODEFAULT else factory()
        missing = [name for name, value in vars(self).items() if value is NODEFAULT]
        if missing or given:
            raise TypeError(f"{type(self).__name__}: {', '.join([*missing, *given])}")

    def _key(self) -> tuple[Any, ...]:
        return tuple(vars(self)[known.name] for known in self._fields)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class structs:  # noqa: N801 - the name of msgspec's module
    """What there is to do with a value or its class."""

    @staticmethod
    def fields(kind: Any) -> tuple[Member, ...]:
        return kind._fields  # type: ignore[no-any-return]

    @staticmethod
    def replace(struct: Any, /, **changed: Any) -> Any:
        return type(struct)(**{**{known.name: vars(struct)[known.name] for known in struct._fields}, **changed})
