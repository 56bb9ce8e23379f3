"""An A/B of Python functions: `ab(book, {"old": f, "new": g})`.

Functions that can be imported are called in processes of their own: an A/B of commands. Others, such as those of a
notebook, are called in this process; the answer says so, because their runs share its state.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent import INSIDE
from logbook_agent.campaign.ab import ab, carry_out
from logbook_agent.campaign.ab_axis import NO_FLAG, AbAxis, AbCase, Sides
from logbook_agent.campaign.ab_request import AbRequest, checked
from logbook_agent.campaign.pairs import AbResult
from logbook_agent.exports.scripting.own_process import Recorded, here, outcome_of
from logbook_agent.exports.scripting.side import measured
from logbook_agent.model.errors import UsageError
from logbook_agent.running.launch.process import JobOutcome, Sinks, Stream
from logbook_agent.running.order import Display
from logbook_agent.store.workspace import Workspace

Function = Callable[[], object]
AXIS = "function"
WITHIN_PROCESS = "within-process: the functions were called in one process, whose state their runs share"
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_MODULE = "logbook_agent.exports.scripting.side"
_MAIN = "__main__"


class FunctionsResult(Struct, frozen=True, kw_only=True):
    """What an A/B of functions found; `within_process`: why they had no processes of their own, or None."""

    made: AbResult
    within_process: str | None = None

    @property
    def entry_id(self) -> str:
        return self.made.series.entry.id

    def data(self) -> dict[str, object]:
        """As `logbook ab --json` has it."""
        return {**self.made.data(), "within_process": self.within_process}

    def __str__(self) -> str:
        return self.made.text()

    __repr__ = __str__


def ab_functions(
    workspace: Workspace,
    functions: Mapping[str, Function],
    request: AbRequest,
    display: Display,
    *,
    warm_up: int = 0,
    calls: int = 1,
) -> FunctionsResult:
    """Compare functions in pairs of runs, the first the base. `request` says the rest; its axis is set here."""
    _check(functions)
    request = structs.replace(request, axis=AbAxis(name=AXIS, values=tuple(functions)))
    places = {name: place_of(function) for name, function in functions.items()}
    apart = {name: place for name, place in places.items() if place is not None}
    if len(apart) == len(functions):
        words = [sys.executable, "-m", _MODULE, "{axis}", *(f"{name}={place}" for name, place in apart.items())]
        words += ["--warm-up", str(warm_up)] if warm_up else []
        words += ["--calls", str(calls)] if calls != 1 else []
        env = {**request.run.env, **_python_path(workspace, functions.values())}
        run = structs.replace(request.run, argv=words, env=env)
        return FunctionsResult(made=ab(workspace, structs.replace(request, run=run), display))
    other = next(name for name, place in places.items() if place is None)
    made = _within_process(workspace, functions, checked(request), display, warm_up=warm_up, calls=calls)
    return FunctionsResult(made=made, within_process=f"{other} cannot be imported by another process")


def place_of(function: Function) -> str | None:
    """`MODULE:FUNCTION`, or the file of a script in place of its module; None for a function that cannot be imported: a
    lambda, one inside of another, one of a notebook."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    found = sys.modules.get(module or "")
    file = getattr(found, "__file__", None)
    try:
        named: object = functools.reduce(getattr, name.split("."), found)
    except AttributeError:
        return None
    if named is not function or (module == _MAIN and file is None):
        return None
    if module != _MAIN or file is None:
        return f"{module}:{name}"
    # Seen from the folder in which the processes start.
    path = Path(file).resolve()
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{name}"


def _python_path(workspace: Workspace, functions: Iterable[Function]) -> dict[str, str]:
    """Where another Python finds the modules of the functions that lie neither in its own folders nor here."""
    folders = []
    for function in functions:
        module = sys.modules[function.__module__]
        if module.__name__ == _MAIN or (file := getattr(module, "__file__", None)) is None:
            continue
        root = Path(file).resolve().parents[module.__name__.count(".") + (Path(file).name == "__init__.py")]
        if root != workspace.cwd.resolve() and not root.is_relative_to(Path(sys.prefix).resolve()):
            folders.append(str(root))
    given = workspace.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join([*dict.fromkeys(folders), *([given] if given else [])])} if folders else {}


def _check(functions: Mapping[str, Function]) -> None:
    wrong = next((name for name in functions if not _NAME.fullmatch(name) or name == NO_FLAG), None)
    if len(functions) < 2 or wrong is not None:
        raise UsageError(
            "nothing to compare" if wrong is None else f"{wrong!r} cannot be the name of a side",
            cause="an A/B has two functions or more, by names such as old and new",
            hint='ab(book, {"old": f, "new": g})',
        )
    if all(name in os.environ for name in INSIDE):
        raise UsageError(
            "an A/B cannot begin within a run",
            cause="a block of experiment() is open, or a run of the A/B imported the script that starts it",
            hint='put the A/B below: if __name__ == "__main__":',
        )


# -- in this process -----------------------------------------------------------------------------------


def _within_process(
    workspace: Workspace,
    functions: Mapping[str, Function],
    request: AbRequest,
    display: Display,
    *,
    warm_up: int,
    calls: int,
) -> AbResult:
    book = workspace.book(None)
    # As where each has a process of its own, the functions are a part of the command: others ask another question.
    words = [f"{name}={function_mark(function)}" for name, function in functions.items()]
    made_here = (
        here(workspace, functools.partial(_called, function, warm_up, calls), request.run.label)
        for function in functions.values()
    )
    commands = tuple(structs.replace(command, argv=(*command.argv, *words)) for command in made_here)
    sides = Sides(
        axis=AbAxis(name=AXIS, values=tuple(functions)),
        argv=commands[0].argv,
        cases=(AbCase(commands=commands, configs=(request.run.config,) * len(commands)),),
        in_process=True,
    )
    return carry_out(workspace, book, request, sides, display)


def _called(function: Function, warm_up: int, calls: int, sinks: Sinks) -> JobOutcome:
    """Call a function as a run: what it prints is recorded, and what it measured is the run's row."""

    def put(stream: Stream, text: str) -> None:
        sinks.output(stream, text.encode("utf-8", "replace"))

    began = time.perf_counter()
    error: BaseException | None = None
    try:
        with redirect_stdout(Recorded("stdout", put)), redirect_stderr(Recorded("stderr", put)):
            row = {"metrics": measured(function, warm_up=warm_up, calls=calls), "labels": {"caution": WITHIN_PROCESS}}
        put("stdout", f"\nRESULT_JSON {json.dumps(row)}\n")
    except (Exception, SystemExit, KeyboardInterrupt) as raised:  # noqa: BLE001 - the run failed, and says why
        error = raised
    return outcome_of(error, time.perf_counter() - began, put)


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
