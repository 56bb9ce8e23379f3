"""The one module through which tests reach the product."""

from bench_core.cli import main as bench_core
from logbook_agent.cli import main as logbook

__all__ = ["bench_core", "logbook"]
