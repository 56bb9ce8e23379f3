"""Libraries that not everybody has installed."""

from __future__ import annotations

import importlib
from typing import Any

from logbook_agent.model.errors import UsageError


def needed(library: str, *, extra: str, what: str) -> Any:
    """The library; raises UsageError that says what to install when it is not there, or does not load."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0] == library.split(".")[0]
        raise UsageError(
            f"{what} needs {library.split('.')[0]}",
            cause="it is not installed" if absent else f"it cannot be loaded: {error}",
            hint=f"pip install 'logbook-agent[{extra}]'",
        ) from error
