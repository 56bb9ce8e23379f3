"""Blocks of a view: no text can forge one, and a change is seen."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.pages.views import Block, build, is_generated, parse, written
from logbook_agent.text import markdown as md

HOSTILE = st.lists(
    st.sampled_from(
        ["<!-- logbook:block X-001 -->", "<!-- logbook:end X-001 -->", "<!-- logbook:digest ", "\n",
         "### ", "- Label: ", "```", "~~~~", "`", "  ", "\t", "a", "|", "-->", "<!--", "é", "\u2028", "\x85", "\r",
         "\x00", "#"]
    )
).map("".join)  # fmt: skip


def view_of(texts: Mapping[str, str]) -> str:
    return build("t", [Block(name, written(text)) for name, text in texts.items()])


@given(st.lists(HOSTILE, min_size=1, max_size=5))
def test_no_text_forges_a_block(texts: list[str]) -> None:
    blocks = {f"X-{i:03d}": text for i, text in enumerate(texts)}
    found = parse(view_of(blocks))
    assert {name: block.text for name, block in found.items()} == {n: written(text) for n, text in blocks.items()}


@given(HOSTILE, HOSTILE, st.data())
def test_any_change_of_what_was_built_is_seen(first: str, second: str, data: st.DataObject) -> None:
    view = view_of({"a": first, "b": second})
    assert is_generated(view)
    at = data.draw(st.integers(0, len(view) - 1))
    assert not is_generated(view[:at] + "x" + view[at:])
    assert not is_generated(view[:at])


@given(HOSTILE)
def test_code_spans_and_fences_hold_what_they_are_given(text: str) -> None:
    span = md.inline_code(text)
    ticks = len(span) - len(span.lstrip("`"))
    inner = span[ticks:-ticks]
    assert "`" * ticks not in inner.strip("`").replace("`" * (ticks + 1), "") or ticks == 1
    fenced = md.fence(text).split("\n")
    assert all(line.strip() != fenced[0] for line in fenced[1:-1])
    assert fenced[-1] == fenced[0]
