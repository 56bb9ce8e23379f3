"""The spans of a document partition it, whatever stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logbook_agent.imports.document import lines_of
from logbook_agent.imports.formats import document_of
from tests.breadth import examples

_PIECES = st.sampled_from(
    [
        *(
            "# a",
            "## EXP-1 b",
            "### 2026-02-10 10:00 - c",
            "#### d",
            "===",
            "---",
            "```",
            "~~~",
            "```bash",
            "<!-- x -->",
        ),
        *("- Result: 3", "**Result:** 3", "Status: keep", "- Command: `x y`", "  - `k=1`: 3 TF/s", "- 2026-02-11: x"),
        *("| a | b |", "|---|---|", "| 1 | 2 |", "a,b,c", "1\t2\t3", '"', '{"run": 1}', "{", "\r", "\u2028", ""),
    ]
)
_TEXT = st.lists(st.one_of(_PIECES, st.text(max_size=30)), max_size=30).map("\n".join)


_FORM = st.sampled_from(["markdown", "tsv", "csv", "jsonl"])


@examples(480)
@given(text=_TEXT, form=_FORM)
def test_spans_partition_any_document(text: str, form: str) -> None:
    check_partition(text, form)


@pytest.mark.wide
@settings(max_examples=10_000)
@given(text=_TEXT, form=_FORM)
def test_spans_partition_many_documents(text: str, form: str) -> None:
    check_partition(text, form)


def check_partition(text: str, form: str) -> None:
    spans = document_of(form, text, declared={}).spans
    assert [n for span in spans for n in range(span.first, span.last + 1)] == [*range(1, len(lines_of(text)) + 1)]
