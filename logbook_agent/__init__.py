"""The research logbook that coding agents and ML performance researchers run their experiments through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logbook_agent.api import Logbook

__version__ = "0.1.0"

__all__ = ["Logbook", "__version__"]


def __getattr__(name: str) -> Any:
    # The command line imports this package too; it must not pay for the API.
    if name == "Logbook":
        from logbook_agent.api import Logbook

        return Logbook
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
