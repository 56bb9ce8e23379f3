"""CLI, API and MCP are three faces of the same functions: the same question has the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from logbook_agent import Logbook
from logbook_agent.agents.mcp.tool_table import TOOLS

pytestmark = pytest.mark.slow


# Of each tool that reads: its arguments, the words of the command, and the call of the API where there is one.
READS: dict[str, tuple[str, dict[str, Any], list[str], Callable[[Logbook], object] | None]] = {
    "status": ("status", {}, ["status"], lambda book: book.status()),
    "small": ("status", {"budget": 2000}, ["status", "--budget", "2000"], None),
    "words": ("search", {"words": ["seen"]}, ["list", "seen"], lambda book: book.search("seen")),
    "all": ("search", {"last": 2}, ["list", "--last", "2"], None),
    "tried": ("search", {"tried": True}, ["list", "--tried"], None),
    "last tried": ("search", {"tried": True, "last": 1}, ["list", "--tried", "--last", "1"], None),
    "none": ("search", {"last": 0}, ["list", "--last", "0"], None),
    "tried in a state": ("search", {"tried": True, "state": "failed"}, ["list", "--tried", "--state", "failed"], None),
    "show": ("show", {"id": "MOE-002"}, ["show", "MOE-002"], None),
    "full": ("show", {"id": "MOE-000", "full": True}, ["show", "MOE-000", "--full"], None),
    "log": ("show", {"id": "MOE-000", "tail": 5}, ["show", "MOE-000", "--tail", "5"], None),
    "whole log": ("show", {"id": "MOE-000", "tail": 10**30}, ["show", "MOE-000", "--tail", str(10**30)], None),
    "no log": ("show", {"id": "MOE-000", "tail": -1}, ["show", "MOE-000", "--tail", "-1"], None),
    "answer": ("compare", {"references": ["MOE-002"]}, ["compare", "MOE-002"], lambda book: book.compare("MOE-002")),
    "numbers": (
        "compare",
        {"references": ["MOE-000", "MOE-002"], "metrics": ["tflops"]},
        ["compare", "MOE-000", "MOE-002", "--metric", "tflops"],
        lambda book: book.compare("MOE-000", "MOE-002", metrics=["tflops"]),
    ),
    "sync": (
        "sync",
        {"create": True, "repository": "acme/moe"},
        ["sync", "--create", "--repo", "acme/moe", "--dry-run"],
        lambda book: book.sync(create=True, repository="acme/moe", dry_run=True),
    ),
}


def test_no_tool_is_left_out() -> None:
    written = {"plan", "record", "run", "wait", "cancel"}
    assert {tool for tool, *_ in READS.values()} | written == {tool.name for tool in TOOLS}
