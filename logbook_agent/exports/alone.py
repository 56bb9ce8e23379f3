"""Libraries that would speak to a server of theirs, kept from it: without the user's settings, accounts and tokens for
them, with telemetry off, and with their messages away from stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# What these libraries read: addresses of servers, names of accounts, tokens, folders elsewhere.
_THEIRS = ("MLFLOW_", "WANDB_", "TRACKIO_", "HF_", "HUGGING", "DATABRICKS_", "SENTRY_", "OTEL_", "_MLFLOW_")
_QUIET = {"DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "OTEL_SDK_DISABLED": "true"}


@contextmanager
def alone(settings: Mapping[str, str]) -> Iterator[None]:
    """Within the block the environment has nothing for such a library but `settings`, and what is printed goes to
    stderr. A library reads it when it is imported: that belongs into the block, too."""
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
