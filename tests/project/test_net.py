"""Tests that act from outside import nothing of the product but the seams; tests of rooms lie where their room does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("logbook_agent", "bench_core")
# Tests and tools that import rooms.
INSIDE = ("tests.unit", "tools.oracle.faults", "tools.fuzz")
OUTSIDE = [
    *(ROOT / "tests/contract").rglob("*.py"),
    *(ROOT / "tests/emulator").glob("*.py"),
    ROOT / "tests/conftest.py",
    ROOT / "tests/breadth.py",
]
# A module of the product in a string: `patch.setattr("logbook_agent.store...")`, `-m logbook_agent.worker`, or in a
# program that a test writes: `from logbook_agent.cli import main`; but not what users import of a feature, its `api`.
_NAME = rf"(?:{'|'.join(PRODUCT)})"
NAMED = re.compile(rf"^{_NAME}(?:\.\w+)+$|\b(?:from|import) {_NAME}\.(?!\w+\.api\b)\w")


def reaches(tree: ast.AST) -> Iterator[str]:
    """What a test touches behind the seams: modules of the product, by import or by name, and tests of its rooms."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.search(node.value):
            yield f'line {node.lineno}: "{node.value}"'
        for name in names:
            if name.split(".")[0] in PRODUCT or name.startswith(INSIDE):
                yield f"line {node.lineno}: {name}"  # type: ignore[attr-defined]


def test_tests_from_outside_touch_the_product_by_the_seams_alone() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): [*reaches(ast.parse(path.read_text()))]
        for path in OUTSIDE
        if "fakes" not in path.parts
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_the_lint_finds_what_it_looks_for() -> None:
    text = "\n".join(
        (
            "import logbook_agent.store",
            "from bench_core.cli import main",
            "from tests.unit.books import book_of",
            "def f(patch):",
            "    from logbook_agent import x",
            '    patch.setattr("logbook_agent.store.book.Book.write", x)',
            "from tests.seams import logbook",
            'argv = ["-m", "logbook_agent", "a sentence about logbook_agent.store"]',
            'code = "from logbook_agent import Logbook"',
            'code = "from logbook_agent.exports.api import ab"',
            'code = "from logbook_agent.cli import main"',
        )
    )
    assert len([*reaches(ast.parse(text))]) == 6
