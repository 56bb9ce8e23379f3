"""Values to and from plain data (dict, list, str, number), strictly and with the place of any error.

The frozen dataclasses of this package are the schema: `decode(Run, data)` refuses an unknown key, a
missing one and a wrong type, and says where. A class with a field `extra` keeps unknown keys there, so
that a file people edit loses nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

T = TypeVar("T")


class CodecError(ValueError):
    """Data that does not fit its class; the message starts with the path of the misfit."""


def encode(value: object) -> Any:
    """Plain data of a dataclass value: fields that hold their default are left out, order is kept."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain: dict[str, Any] = {}
        for f in dataclasses.fields(value):
            item = getattr(value, f.name)
            if f.name == "extra":
                plain.update(encode(item))
            elif not _is_default(f, item):
                plain[f.name] = encode(item)
        return plain
    if isinstance(value, Mapping):
        return {k: encode(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    return value


def decode(cls: type[T], data: object, path: str = "") -> T:
    """A value of `cls` from plain data. Raises CodecError naming the path and what was expected."""
    if not isinstance(data, Mapping):
        raise CodecError(f"{path or 'top level'}: expected a mapping, got {_name(data)}")
    fields = _fields(cast(Hashable, cls))
    known = {f.name for f, _ in fields}
    unknown = {str(k): v for k, v in data.items() if k not in known or k == "extra"}
    if unknown and "extra" not in known:
        raise CodecError(f"{_at(path, next(iter(unknown)))}: unknown key")
    kwargs: dict[str, Any] = {"extra": unknown} if "extra" in known else {}
    for f, hint in fields:
        if f.name == "extra":
            continue
        if f.name in data:
            kwargs[f.name] = _convert(hint, data[f.name], _at(path, f.name))
        elif f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING:
            raise CodecError(f"{_at(path, f.name)}: missing")
    return cls(**kwargs)


@functools.cache
def _fields(cls: Any) -> list[tuple[dataclasses.Field[Any], Any]]:
    hints = typing.get_type_hints(cls)
    return [(f, hints[f.name]) for f in dataclasses.fields(cls)]


def _is_default(f: dataclasses.Field[Any], item: object) -> bool:
    if f.name == "format":
        return False
    if f.default is not dataclasses.MISSING:
        return type(item) is type(f.default) and item == f.default
    return f.default_factory is not dataclasses.MISSING and item == f.default_factory()


def _convert(hint: Any, value: object, path: str) -> Any:
    origin = get_origin(hint)
    if hint is object or hint is Any:
        return value
    if origin is Union or origin is types.UnionType:
        return _convert_union(get_args(hint), value, path)
    if origin is Literal:
        if value not in get_args(hint):
            choices = ", ".join(map(str, get_args(hint)))
            raise CodecError(f"{path}: expected one of {choices}, got {value!r}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise CodecError(f"{path}: expected a list, got {_name(value)}")
        return tuple(_convert(get_args(hint)[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is dict:
        if not isinstance(value, Mapping):
            raise CodecError(f"{path}: expected a mapping, got {_name(value)}")
        return {str(k): _convert(get_args(hint)[1], v, _at(path, k)) for k, v in value.items()}
    if dataclasses.is_dataclass(hint):
        return decode(cast(type, hint), value, path)
    return _scalar(hint, value, path)


def _convert_union(options: tuple[Any, ...], value: object, path: str) -> Any:
    if value is None and type(None) in options:
        return None
    rest = [o for o in options if o is not type(None)]
    if len(rest) == 1:
        return _convert(rest[0], value, path)
    if type(value) in rest:
        return value
    names = ", ".join(getattr(o, "__name__", str(o)) for o in rest)
    raise CodecError(f"{path}: expected {names}, got {_name(value)}")


def _scalar(hint: Any, value: object, path: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, bool):
        raise CodecError(f"{path}: expected int, got bool")
    if not isinstance(value, hint):
        raise CodecError(f"{path}: expected {hint.__name__}, got {_name(value)}")
    return value


def _at(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)


def _name(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
