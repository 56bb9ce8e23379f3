"""What tells Python functions of one name apart, such as those of a cell that was edited and carried out again."""

from __future__ import annotations

import hashlib
import types
from collections.abc import Iterator

_CHARS, _MOST_ITEMS = 8, 1000
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))


def function_mark(function: object) -> str:
    """`NAME#DIGEST` of a function: of its code, its defaults, and what it names outside of it: functions by their code,
    plain values by value, modules by name. Other objects are themselves only, so in another process it differs."""
    text = repr([*_parts(function, set())])
    name = getattr(function, "__name__", type(function).__name__)
    return f"{name}#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:_CHARS]}"


def _parts(value: object, seen: set[int]) -> Iterator[object]:
    if isinstance(value, _PLAIN):
        yield type(value).__name__, value
    elif isinstance(value, types.ModuleType):
        yield value.__name__
    elif isinstance(value, types.BuiltinFunctionType):
        yield value.__module__, value.__qualname__, id(value.__self__)
    elif id(value) in seen:
        yield "again"
    elif isinstance(value, frozenset):
        yield sorted(map(repr, value))
    elif isinstance(value, tuple | list) and len(value) <= _MOST_ITEMS:
        seen |= {id(value)} if isinstance(value, list) else set()
        for item in value:
            yield [*_parts(item, seen)]
    elif isinstance(value, types.CodeType):
        yield value.co_code, value.co_names, value.co_varnames, value.co_freevars
        yield [*_parts(value.co_consts, seen)]
    elif isinstance(value, types.FunctionType):
        seen.add(id(value))
        yield from _parts(value.__code__, seen)
        yield [*_parts(value.__defaults__ or (), seen)], sorted((value.__kwdefaults__ or {}).items(), key=repr)
        for cell in value.__closure__ or ():
            yield [*_parts(_content(cell), seen)]
        for name in sorted(_names(value.__code__)):
            if name in value.__globals__:
                yield name, [*_parts(value.__globals__[name], seen)]
    else:
        yield type(value).__qualname__, id(value)


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it is not bound yet
        return None


def _names(code: types.CodeType) -> set[str]:
    """The names that code and the code inside of it look up."""
    inside = (_names(const) for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*inside)
