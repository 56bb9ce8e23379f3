"""Blocks of a view: what is spliced, what is left alone, and that no text can forge one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text import markdown as md
from logbook_agent.text.marked import build, parse, render_block, splice

HOSTILE = st.lists(
    st.sampled_from(
        ["<!-- logbook:block X-001 0123456789abcdef -->", "<!-- logbook:end X-001 -->", "\n", "### ", "- Label: ",
         "```", "~~~~", "`", "  ", "\t", "a", "|", "-->", "<!--", "é", "\u2028", "\x85", "\r", "\x00", "#"]
    )
).map("".join)  # fmt: skip


def view_of(**texts: str) -> str:
    return build(texts.items())


@given(st.lists(HOSTILE, min_size=1, max_size=5))
def test_no_text_forges_a_block(texts: list[str]) -> None:
    blocks = {f"X-{i:03d}": text for i, text in enumerate(texts)}
    found = parse(build(blocks.items()))
    assert list(found) == list(blocks)


@given(HOSTILE, HOSTILE)
def test_what_was_built_counts_as_unedited_and_any_change_as_edited(first: str, second: str) -> None:
    view = view_of(a=first, b=second)
    found = parse(view)
    assert not any(block.edited(view) for block in found.values())
    at = found["b"].text_start
    changed = view[:at] + "x" + view[at:]
    assert parse(changed)["b"].edited(changed)
    assert not parse(changed)["a"].edited(changed)


@given(HOSTILE)
def test_code_spans_and_fences_hold_what_they_are_given(text: str) -> None:
    span = md.inline_code(text)
    ticks = len(span) - len(span.lstrip("`"))
    inner = span[ticks:-ticks]
    assert "`" * ticks not in inner.strip("`").replace("`" * (ticks + 1), "") or ticks == 1
    fenced = md.fence(text).split("\n")
    assert all(line.strip() != fenced[0] for line in fenced[1:-1])
    assert fenced[-1] == fenced[0]


def test_splice_replaces_inserts_in_order_and_keeps_the_rest() -> None:
    view = "My own words.\n" + view_of(header="# T", a="one", c="three") + "\nat the end\n"
    new, kept = splice(view, {"a": "ONE", "b": "two", "d": "four"}, ["header", "a", "b", "c", "d"])
    assert kept == ()
    assert list(parse(new)) == ["header", "a", "b", "c", "d"]
    assert new.startswith("My own words.\n")
    assert new.endswith("\nat the end\n")
    assert render_block("a", "ONE") + "\n\n" + render_block("b", "two") + "\n\n" in new
