"""Markdown as HTML: what is written without the parser is what the parser would have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text import as_html as html
from tests.breadth import examples

PIECES = [
    "a", "int8", "is faster", " ", "  ", "`", "``", "`x y`", "`a*b`", "` x`", "`<b>&`", "- ", "\n- ", "\n", "\n\n",
    "\n  ", "*", "**b**", "_", "x_y_z", "[l](http://a.b)", "![p](q)", "<b>", "&amp;", "&", '"q"', "'", "~~s~~", "|",
    "| a | b |", "\n- -", "---", "===", "1. ", "2", "# ", "> ", "+", "!", ":", "http://a.b/c", "X-001", "X-002",
    "| --- | ---: |\n", "| a_b | [x] |\n", "|  | 1 |\n", "- a:\n  - b\n", "  - c", "\n\n- n",
    "(X-001)", "aX-001", "é", "→", "\u202e", "\xa0", "\t", "\\", "\r", "\x00", "\x1b[31m", "\u2028", "\x85", "ß",
]  # fmt: skip
IDS = ["X-001"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


def parsed(text: str) -> str:
    return html.visible(html._reader().render(html.without_controls(text), {"ids": IDS}))


def parsed_line(text: str) -> str:
    line = " ".join(html.without_controls(text).split("\n"))
    return html.visible(html._reader().renderInline(line, {"ids": IDS}))


@pytest.mark.slow
@given(TEXTS | TEXTS.map(lambda text: f"a{text}") | TEXTS.map(lambda text: f"- a{text}"))
@examples(600)
def test_what_needs_no_parser_is_what_it_writes(text: str) -> None:
    assert html.as_html(text, IDS) == parsed(text)
    assert html.as_inline_html(text, IDS) == parsed_line(text)
