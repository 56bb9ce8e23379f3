"""Every command in the documents does what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.docs.docs_runner import (
    REPOSITORY,
    agrees,
    disagreements,
    documents,
    missing_libraries,
    steps,
)

# Many runs of the benchmark, or many commands. `README.md` asks a question in every `make test`.
_WIDE = {
    *("tutorial.md", "github.md", "bench-core.md", "recipes.md", "ab.md", "what-is-measured.md"),
    *("repair.md", "tried.md", "templates.md"),
    *("agents.md", "examples.md", "results.md", "detached.md", "ci.md", "clusters.md", "report.md"),
}


def _parameters() -> list[object]:
    return [
        pytest.param(
            path,
            id=str(path.relative_to(REPOSITORY)),
            marks=[pytest.mark.slow, *([pytest.mark.wide] if path.name in _WIDE else [])],
        )
        for path in documents()
        if steps(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("path", _parameters())
def test_commands_print_what_the_document_says(path: Path, tmp_path: Path) -> None:
    wrong = disagreements(path, tmp_path)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_a_page_needs_no_library_that_is_missing(path: Path) -> None:
    """Else the blocks that need it were not run."""
    missing = missing_libraries(path.read_text(encoding="utf-8"))
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.mark.parametrize(
    ("expected", "actual", "measured", "same"),
    [
        ("a\nb", "a\nc", False, False),
        ("a ... c", "a b c", False, True),
        ("a\n...\nz", "a\nb\nc\nz", False, True),
        ("a\n...\nz", "a\nz", False, True),
        ("a", "a\nb", False, False),
        ("finished in 0.05 s", "finished in 1.25 s", False, True),
        ("time_s 0.5", "time_s 0.6", False, False),
        ("time_s 0.5 by 2", "time_s 12.25 by 2", True, True),
        ("time_s 0.5 by 2", "time_s 0.5 by 3", True, False),
        ("95%: -10.5 to -9.37%", "95%: -11 to -9%", True, True),
        ("95%: -10.5 to -9.37%", "95%: -11 to -9%", False, False),
        ("commit 3f2a9c01d", "commit 84ab19c0e", False, True),
    ],
)
def test_what_agrees(expected: str, actual: str, measured: bool, same: bool) -> None:
    assert agrees(expected, actual, measured=measured) is same
