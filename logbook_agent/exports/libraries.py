"""Libraries that not everybody has installed, and that would speak to a server of theirs if they were let."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from logbook_agent.model.errors import UsageError

# What these libraries read: addresses of servers, names of accounts, tokens, folders elsewhere.
_THEIRS = ("MLFLOW_", "WANDB_", "TRACKIO_", "HF_", "HUGGING", "DATABRICKS_", "SENTRY_", "OTEL_", "_MLFLOW_")
_QUIET = {"DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "OTEL_SDK_DISABLED": "true"}


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


@contextmanager
def alone(settings: Mapping[str, str]) -> Iterator[None]:
    """Within the block the environment has no settings, accounts or tokens for such a library but `settings`, telemetry
    is off, and what is printed goes to stderr. A library reads it when it is imported: that belongs into the block."""
    before = dict(os.environ)
    try:
        for name in [name for name in os.environ if name.startswith(_THEIRS)]:
            del os.environ[name]
        os.environ.update({**_QUIET, **settings})
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
