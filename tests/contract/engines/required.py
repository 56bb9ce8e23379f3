"""What becomes of tests whose engine this machine cannot have."""

from __future__ import annotations

import os

import pytest

# `make test-cluster` sets it.
REQUIRED = os.environ.get("LOGBOOK_ENGINES") == "required"


def need(engine: str, why_not: str | None) -> None:
    """Skip the test if there is no such engine, or fail it where engines are required."""
    if why_not is not None:
        (pytest.fail if REQUIRED else pytest.skip)(f"no {engine} here: {why_not}")
