"""Citations in a text: where they stand, and what a filled text keeps. What the record says of them is tested through
`logbook cite`."""

from __future__ import annotations

import re
import time

import pytest

from logbook_agent.agents.citations import Cited, checked, filled, form, places


def say(citation: str) -> Cited:
    """A record in which every metric is 92."""
    return Cited(text="92.000 TF/s") if citation.endswith(" tflops") else Cited(problems=("no metric",))


def test_a_filled_text_keeps_its_citations_and_can_be_filled_again() -> None:
    source = "# x\nint8: [[M-000 tflops]],\n[[M-000 vs\nbase tflops]]; `[[M-001 tflops]]` <!-- [[M-001 x]] -->\n"
    source += "```\n[[M-001 tflops]]\n```\n| [[M-001 tflops]] | [[wiki page]] \\[[M-001 tflops]] |\n"
    text = filled(source, say)
    assert '| <abbr title="[[M-001 tflops]]">92.000 TF/s</abbr> | [[wiki page]] \\[[M-001 tflops]] |' in text
    assert "`[[M-001 tflops]]` <!-- [[M-001 x]] -->\n```\n[[M-001 tflops]]\n```" in text
    assert [p.line for p in places(text)] == [2, 3, 7]
    assert filled(text, say) == text
    assert checked(text, say) == []
    assert [f.problem[:14] for f in checked(source, say)] == ["not filled in;"] * 3
    assert len(list(places("```\n[[M-001 tflops]]\nnever closed"))) == 0


@pytest.mark.parametrize("around", ["- {}", "({}).", "~{}, {}; 5/{}", "| {}|", "A 1: {}.", '{}:a "b" & c'])
def test_what_stands_around_a_number_is_no_part_of_it(around: str) -> None:
    assert not checked(filled(around.replace("{}", "[[M-001 tflops]]"), say), say)
    quoted = filled('[[M-000:a "b" & c tflops]]', say)
    assert quoted == '<abbr title="[[M-000:a &quot;b&quot; &amp; c tflops]]">92.000 TF/s</abbr>'


def test_a_unit_that_a_command_printed_is_no_markdown() -> None:
    made = form("M-001 tflops", "5 ![x](http://e.vil/)<b>`*_")
    assert not re.search(r"[!\[`*_(]*[!\[`*_]|<b>|http:", made.partition(">")[2].removesuffix("</abbr>"))
    assert [place.shown for place in places(made)] == ["5 ![x](http://e.vil/)<b>`*_"]


@pytest.mark.parametrize(
    "text", ["<!--", "[[", "[[A-001 ", "`", "``` ", '<abbr title="[[A-001 x]]">', "[[A" + "A-" * 9, "`" * 3 + "\n`x "]
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    list(places(text * (400_000 // len(text))))
    list(places("".join("`" * n + "x" for n in range(1, 800))))
    assert time.process_time() - started < 3.0
