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
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

T = TypeVar("T")
# Takes a value, gives the decoded value or raises CodecError.
Converter = Callable[[Any], Any]

_MISSING = dataclasses.MISSING


class CodecError(ValueError):
    """Data that does not fit its class; the message starts with the path of the misfit.

    The path is put together on the way out: records fit, and pay nothing for it.
    """

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def under(self, step: str) -> CodecError:
        """The same misfit, seen from one level further out; a step is `.name` or `[index]`."""
        return CodecError(self.message, step, *self.path)

    def __str__(self) -> str:
        return f"{''.join(self.path).removeprefix('.')}: {self.message}" if self.path else self.message


def encode(value: object) -> Any:
    """Plain data of a dataclass value: fields that hold their default are left out, order is kept."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {k: encode(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    plain: dict[str, Any] = {}
    for name, default in _defaults(cast(Any, type(value))):
        item = getattr(value, name)
        if name == "extra":
            plain.update(encode(item))
        elif default is _MISSING or not (type(item) is type(default) and item == default):
            plain[name] = encode(item)
    return plain


def decode(cls: type[T], data: object, path: str = "") -> T:
    """A value of `cls` from plain data. Raises CodecError naming the path and what was expected."""
    try:
        return cast(T, _dataclass(cast(Any, cls))(data))
    except CodecError as error:
        if path:
            raise error.under(f".{path}") from None
        raise


def field_decoders(cls: type) -> Mapping[str, Converter]:
    """By name what decodes each field of a class; one raises CodecError for a value that does not fit."""
    return _fields(cls)


@functools.cache
def _defaults(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Every field with the value that need not be written; `format` is always written."""
    found = []
    for f in dataclasses.fields(cls):
        default = f.default if f.default_factory is _MISSING else f.default_factory()
        found.append((f.name, _MISSING if f.name == "format" else default))
    return tuple(found)


@functools.cache
def _fields(cls: Any) -> dict[str, Converter]:
    hints = typing.get_type_hints(cls)
    return {f.name: _converter(hints[f.name]) for f in dataclasses.fields(cls) if f.name != "extra"}


@functools.cache
def _dataclass(cls: Any) -> Converter:
    """The converter of a class, made once: records are decoded by the ten thousand."""
    fields = _fields(cls)
    keeps_unknown = any(f.name == "extra" for f in dataclasses.fields(cls))
    required = [f.name for f in dataclasses.fields(cls) if f.default is _MISSING and f.default_factory is _MISSING]

    def convert(data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise CodecError(f"expected a mapping, got {_name(data)}")
        kwargs: dict[str, Any] = {}
        unknown: dict[str, Any] = {}
        for key, value in data.items():
            field = fields.get(key)
            if field is None:
                unknown[str(key)] = value
                continue
            try:
                kwargs[key] = field(value)
            except CodecError as error:
                raise error.under(f".{key}") from None
        if unknown:
            if not keeps_unknown:
                raise CodecError("unknown key", f".{next(iter(unknown))}")
            kwargs["extra"] = unknown
        for name in required:
            if name not in kwargs:
                raise CodecError("missing", f".{name}")
        return cls(**kwargs)

    return convert


def _converter(hint: Any) -> Converter:
    origin = get_origin(hint)
    if hint is object or hint is Any:
        return lambda value: value
    if origin is Union or origin is types.UnionType:
        return _union(get_args(hint))
    if origin is Literal:
        return _literal(get_args(hint))
    if origin is tuple:
        return _tuple(_converter(get_args(hint)[0]))
    if origin is dict:
        return _dict(_converter(get_args(hint)[1]))
    if dataclasses.is_dataclass(hint):
        return _dataclass(cast(Any, hint))
    return _scalar(hint)


def _union(options: tuple[Any, ...]) -> Converter:
    optional = type(None) in options
    rest = [o for o in options if o is not type(None)]
    if len(rest) == 1:
        inner = _converter(rest[0])
        return lambda value: None if value is None and optional else inner(value)
    names = ", ".join(getattr(o, "__name__", str(o)) for o in rest)

    def convert(value: Any) -> Any:
        if type(value) in options:
            return value
        raise CodecError(f"expected {names}, got {_name(value)}")

    return convert


def _literal(choices: tuple[Any, ...]) -> Converter:
    def convert(value: Any) -> Any:
        if value in choices:
            return value
        raise CodecError(f"expected one of {', '.join(map(str, choices))}, got {value!r}")

    return convert


def _tuple(item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise CodecError(f"expected a list, got {_name(value)}")
        try:
            return tuple([item(v) for v in value])
        except CodecError:
            raise _first_misfit(item, [(f"[{i}]", v) for i, v in enumerate(value)]) from None

    return convert


def _dict(item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise CodecError(f"expected a mapping, got {_name(value)}")
        try:
            return {str(k): item(v) for k, v in value.items()}
        except CodecError:
            raise _first_misfit(item, [(f".{k}", v) for k, v in value.items()]) from None

    return convert


def _first_misfit(item: Converter, values: list[tuple[str, Any]]) -> CodecError:
    """Which of the values does not fit, and why: asked again, since there is one."""
    for step, value in values:
        try:
            item(value)
        except CodecError as error:
            return error.under(step)
    raise AssertionError("a value that did not fit fits now")


def _scalar(hint: type) -> Converter:
    def convert(value: Any) -> Any:
        if type(value) is hint:
            return value
        if hint is float and type(value) is int:
            return float(value)
        raise CodecError(f"expected {hint.__name__}, got {_name(value)}")

    return convert


def _name(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
