"""A call of a Python function as a command: `python -m logbook_agent.exports.scripting.side NAME NAME=PLACE...`

The first NAME says which function is called. A place is `MODULE:FUNCTION`, where `MODULE` is a module or a
file that ends in `.py`.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from logbook_agent import as_number

# A script is imported under this name, so that what stands below `if __name__ == "__main__"` is not carried out.
_SCRIPT = "__logbook_main__"


def measured(function: Callable[[], object], *, warm_up: int = 0, calls: int = 1) -> dict[str, Any]:
    """The metrics of some calls, after others that do not count: `time_s`, and the number that the function returns, as
    `value`, or its mapping of names to numbers."""
    samples: dict[str, list[object]] = {}
    for number in range(-warm_up, calls):
        began = time.perf_counter()
        returned = function()
        took_s = time.perf_counter() - began
        if number < 0:
            continue
        found = returned if isinstance(returned, Mapping) else {} if returned is None else {"value": returned}
        for name, value in {"time_s": took_s, **{str(n): as_number(v) for n, v in found.items()}}.items():
            samples.setdefault(name, []).append(value)
    return {name: {"samples": values} for name, values in samples.items()}


def loaded(place: str) -> Any:
    """The function at `MODULE:FUNCTION`."""
    module, _, name = place.rpartition(":")
    if not module.endswith(".py"):
        return functools.reduce(getattr, name.split("."), importlib.import_module(module))
    sys.path.insert(0, str(Path(module).resolve().parent))
    spec = importlib.util.spec_from_file_location(_SCRIPT, module)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {module}")
    found = sys.modules[_SCRIPT] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return functools.reduce(getattr, name.split("."), found)


def main(args: Sequence[str] | None = None) -> int:
    """Call the function, and print what it measured."""
    parser = argparse.ArgumentParser(
        prog="python -m logbook_agent.exports.scripting.side", description="Measure one function."
    )
    parser.add_argument("side", metavar="NAME", help="which function is called")
    parser.add_argument("functions", nargs="+", metavar="NAME=MODULE:FUNCTION", help="the functions by their names")
    parser.add_argument("--warm-up", type=int, default=0, metavar="N", help="call it N times first")
    parser.add_argument("--calls", type=int, default=1, metavar="N", help="measure N calls")
    options = parser.parse_args(args)
    places = dict(text.split("=", 1) for text in options.functions)
    if options.side not in places:
        parser.error(f"no function is called {options.side!r}")
    metrics = measured(loaded(places[options.side]), warm_up=options.warm_up, calls=options.calls)
    # The function may have left a line open.
    print("\nRESULT_JSON", json.dumps({"metrics": metrics}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
