"""Values to and from plain data (dict, list, str, number), strictly and with the place of any error.

The frozen structs of this package are the schema: `decode(Run, data)` refuses an unknown key, a
missing one and a wrong type, and says where. A class with a field `extra` keeps unknown keys there, so
that a file people edit loses nothing. A class with a method `natural` takes what people write in place of
its fields: it gives those fields, or the value.
"""

from __future__ import annotations

import functools
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from msgspec import NODEFAULT, Struct, structs

from logbook_agent.model.values import Spelt, TwinRun, as_written, typed_run

T = TypeVar("T")
# Takes a value, gives the decoded value or raises CodecError.
Converter = Callable[[Any], Any]

# Where float() fails, nearly.
_BEYOND_FLOAT = 10**308
_NUMBERS, _SEQUENCES = (int, float), (tuple, list)
# Switches as people write them.
_SWITCHES = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
_SURROGATE = re.compile("[\ud800-\udfff]")
# How deep what people add to a record, and what a predicate is made of, may nest.
_MAX_DEPTH = 32


class CodecError(ValueError):
    """Data that does not fit its class; the message starts with the path of the misfit. `given`: the key or value that
    does not fit, and `choices` those that would, where they are few.

    The path is put together on the way out: records fit, and pay nothing for it.
    """

    def __init__(self, message: str, *path: str, given: str = "", choices: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.given = given
        self.choices = tuple(choices)

    def under(self, step: str) -> CodecError:
        """The same error with a step, `.name` or `[index]`, in front of its path."""
        return CodecError(self.message, step, *self.path, given=self.given, choices=self.choices)

    def __str__(self) -> str:
        return f"{''.join(self.path).removeprefix('.')}: {self.message}" if self.path else self.message


def encode(value: object) -> Any:
    """Plain data of a value: fields that hold their default are left out, order is kept, and every text is
    one that UTF-8 has."""
    if isinstance(value, str):
        return value if value.isascii() else utf8(value)
    if value is None or isinstance(value, _NUMBERS):
        return str(value) if type(value) is TwinRun else value
    if isinstance(value, _SEQUENCES):
        return [encode(v) for v in value]
    if not isinstance(value, Struct):
        return {utf8(k): encode(v) for k, v in cast("Mapping[str, object]", value).items()}
    plain: dict[str, Any] = {}
    for name, default in _defaults(type(value)):
        item = getattr(value, name)
        if item is default:  # as most are
            continue
        if name == "extra":
            plain.update(encode(item))
        elif default is NODEFAULT or not (type(item) is type(default) and item == default):
            plain[name] = encode(item)
    return plain


def utf8(text: str) -> str:
    """A text that every file and request can hold: a byte that was no UTF-8 becomes `\\xff`, and half of a surrogate
    pair `\\ud800`. (Python keeps such bytes of arguments and file names as lone surrogates.)"""
    return text if text.isascii() else _SURROGATE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def decode(cls: type[T], data: object, path: str = "") -> T:
    """A value of `cls` from plain data, in which parts may be values already. Raises CodecError naming the path and
    what was expected."""
    try:
        return cast(T, _struct(cast(Any, cls))(data))
    except CodecError as error:
        if path:
            raise error.under(f".{path}") from None
        raise


@functools.cache
def _defaults(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Every field with the value that need not be written; `format` is always written."""
    found = []
    for f in structs.fields(cls):
        default = f.default if f.default_factory is NODEFAULT else f.default_factory()
        found.append((f.name, NODEFAULT if f.name == "format" else default))
    return tuple(found)


@functools.cache
def _fields(cls: Any) -> dict[str, Converter]:
    hints = typing.get_type_hints(cls)
    return {f.name: converter(hints[f.name]) for f in structs.fields(cls)}


@functools.cache
def _struct(cls: Any) -> Converter:
    """The converter of a class, made once: records are decoded by the ten thousand."""
    fields = {**_fields(cls)}
    extra = fields.pop("extra", None)
    required = [f.name for f in structs.fields(cls) if f.default is NODEFAULT and f.default_factory is NODEFAULT]
    natural = getattr(cls, "natural", None)

    def convert(data: Any) -> Any:
        if natural is not None and type(data) is not cls:
            data = natural(data)
        if type(data) is cls:
            return data
        if not isinstance(data, Mapping):
            raise CodecError(f"expected a mapping, got {_name(data)}")
        kwargs: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for key, value in data.items():
            field = fields.get(key)
            if field is None:
                unknown[utf8(str(key))] = value
                continue
            try:
                kwargs[key] = field(value)
            except CodecError as error:
                raise error.under(f".{key}") from None
        if unknown:
            if extra is None:
                key = next(iter(unknown))
                raise CodecError("unknown key", f".{key}", given=key, choices=fields)
            kwargs["extra"] = extra(unknown)
        for name in required:
            if name not in kwargs:
                raise CodecError("missing", f".{name}")
        try:
            return cls(**kwargs)
        except CodecError:
            raise
        except ValueError as error:
            raise CodecError(str(error)) from error

    return convert


def converter(hint: Any) -> Converter:
    """What decodes a value of this type."""
    origin = get_origin(hint)
    if hint is object or hint is Any:
        return _plain
    if origin is Union or origin is types.UnionType:
        return _union(get_args(hint))
    if origin is Literal:
        return _literal(get_args(hint))
    if origin is tuple:
        return _tuple(converter(get_args(hint)[0]))
    if origin is dict or origin is Mapping:
        return _dict(converter(get_args(hint)[1]))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        member = _literal(tuple(hint))
        return lambda value: hint(member(value))
    if isinstance(hint, type) and issubclass(hint, Struct):
        # Made for the first value: most records hold few of the classes that they may hold.
        return lambda value: _struct(cast(Any, hint))(value)
    return _SCALARS.get(hint, _plain)


def _union(options: tuple[Any, ...]) -> Converter:
    optional = type(None) in options
    rest = [o for o in options if o is not type(None)]
    if len(rest) == 1:
        inner = converter(rest[0])
        return lambda value: None if value is None and optional else inner(value)
    names = ", ".join(getattr(o, "__name__", str(o)) for o in rest if o is not Spelt)

    def convert(value: Any) -> Any:
        if type(value) is Spelt and Spelt in options:
            return value
        if type(value) in options or (float in options and type(value) is Spelt):
            return _sound(value)
        raise CodecError(f"expected {names}, got {_name(value)}")

    return convert


def _literal(choices: tuple[Any, ...]) -> Converter:
    def convert(value: Any) -> Any:
        if value in choices:
            return value
        words = [*map(str, choices)]
        raise CodecError(f"expected one of {', '.join(words)}, got {value!r}", given=str(value), choices=words)

    return convert


def _tuple(item: Converter) -> Converter:
    """A list; anything but a list is one of one item."""

    def convert(value: Any) -> Any:
        if isinstance(value, str | int | float | Mapping):
            value = (value,)
        if not isinstance(value, list | tuple):
            raise CodecError(f"expected a list, got {_name(value)}")
        found = []
        for at, one in enumerate(value):
            try:
                found.append(item(one))
            except CodecError as error:
                raise error.under(f"[{at}]") from None
        return tuple(found)

    return convert


def _dict(item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise CodecError(f"expected a mapping, got {_name(value)}")
        found = {}
        for key, one in value.items():
            try:
                found[utf8(str(key))] = item(one)
            except CodecError as error:
                raise error.under(f".{key}") from None
        return found

    return convert


def _sound(value: Any) -> Any:
    """A scalar that can be written and computed with."""
    if isinstance(value, str):
        return value if value.isascii() else utf8(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise CodecError(f"expected a number, got {value}")
    return float(value) if type(value) is Spelt else value


def _plain(value: Any, depth: int = 0) -> Any:
    """Data that has no form of ours: texts, numbers, lists and mappings of text."""
    if isinstance(value, str | int | float) or value is None:
        return _sound(value)
    if depth == _MAX_DEPTH:
        raise CodecError(f"nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        return {utf8(str(k)): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, depth + 1) for v in value]
    raise CodecError(f"expected text, a number, a list or a mapping, got {_name(value)}")


def _integer(value: Any) -> int:
    """A whole number, or that of a run that two clones made both, which is written `2.p2m4a`."""
    found = typed_run(value) if type(value) is str and "." in value else value
    if type(found) in (int, TwinRun):
        return cast(int, found)
    raise CodecError(f"expected int, got {_name(value)}")


# Apart from the others, because records are decoded by the ten thousand.
def _text(value: Any) -> str:
    """A text; a number or switch that somebody wrote without quotes is one, as it was written."""
    if type(value) is str:
        return value if value.isascii() else utf8(value)
    if isinstance(value, _NUMBERS):
        return as_written(value)
    raise CodecError(f"expected str, got {_name(value)}")


def _switch(value: Any) -> bool:
    found = _SWITCHES.get(value.lower()) if isinstance(value, str) else value
    if type(found) is bool:
        return found
    raise CodecError(f"expected bool, got {_name(value)}")


def _number(value: Any) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    if type(value) is Spelt or (type(value) is int and abs(value) < _BEYOND_FLOAT):
        return float(value)
    if type(value) is float:
        raise CodecError(f"expected a finite number, got {value}")
    raise CodecError(f"expected float, got {_name(value)}")


_SCALARS: dict[Any, Converter] = {str: _text, float: _number, bool: _switch, int: _integer}


def _name(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
