"""The research logbook that coding agents and ML performance researchers run their experiments through."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logbook_agent.api import Logbook

__version__ = "0.1.0"

__all__ = ["Logbook", "__version__", "log"]

# Set for every command that `logbook` runs.
INSIDE = ("LOGBOOK_ENTRY_ID", "LOGBOOK_RUN")
_warned: list[bool] = []


def log(values: Mapping[str, object] | None = None, /, **more: object) -> None:
    """Report values of the run that this process is part of, as the line `RESULT name=value ...` on stdout does.

    `log(loss=3.87, step=600)`, or with names that Python does not allow: `log({"train/loss": 3.87}, step=600)`. Arrays
    of one element are numbers. Outside of a run it does nothing, and warns once.
    """
    if all(name in os.environ for name in INSIDE):
        # One write, so that no other thread's line comes between.
        print(f"{result_line({**(values or {}), **more})}\n", end="", flush=True)
    elif not _warned:
        _warned.append(True)
        warnings.warn("logbook_agent.log does nothing outside of a run: logbook run -- COMMAND", stacklevel=2)


def result_line(values: Mapping[str, object]) -> str:
    """The RESULT line of some values. Raises ValueError for a name that such a line cannot have."""
    return " ".join(["RESULT", *(_pair(name, value) for name, value in values.items())])


def _pair(name: str, value: object) -> str:
    if not name or any(char.isspace() or char in "='\"\\" for char in name):
        raise ValueError(f"{name!r} cannot be the name of a value: it is empty, or has a blank, a quote or =")
    value = as_number(value)
    text = str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)
    if not text.isascii() or not text.replace(".", "").replace("-", "").replace("_", "").isalnum():
        from shlex import quote  # most values are numbers

        text = quote(" ".join(text.splitlines()))
    return f"{name}={text}"


def as_number(value: object) -> object:
    """The element of an array of one; any other value as it is. Libraries count elements differently (NumPy's `size` is
    a number, PyTorch's a method), but all refuse `item` of several."""
    item = getattr(value, "item", None)
    if not callable(item):
        return value
    try:
        found: object = item()
    except (TypeError, ValueError, RuntimeError):
        return value
    return found


def __getattr__(name: str) -> Any:
    # The command line imports this package too; it must not pay for the API.
    if name == "Logbook":
        from logbook_agent.api import Logbook

        return Logbook
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
