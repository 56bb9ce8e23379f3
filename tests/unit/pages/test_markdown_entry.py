"""An entry's block has the parts that were rendered, whatever its title, labels and texts are made of."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from logbook_agent.findings.summaries import trust_of
from logbook_agent.findings.thread import Thread, said_by
from logbook_agent.model.entry import CONFIDENCES, KINDS, NAMED_KINDS, Entry, Field, PlannedCommand
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.record import Record, record_of
from logbook_agent.model.run import Measurement, Row, Run
from logbook_agent.model.worker_report import Exit, Output, noted
from logbook_agent.pages.blocks import Blocks
from logbook_agent.pages.templates import Templates
from logbook_agent.pages.views import Block, build, written
from logbook_agent.pages.views import parse as parse_view
from logbook_agent.text.markdown import clean, one_line
from tests.breadth import examples

PIECES = [
    "<!-- logbook:block X-001 -->", "<!-- logbook:end X-000 -->", "<!--", "-->", "\n", "\n\n", " ",
    "  ", "\t", "\r", "\r\n", "\x00", "\x1b[31m", "\u2028", "\u2029", "\x85", "\xa0", "\udcff", "\ufeff", "- ", "* ",
    "+ ", "1. ", "- Label: ", "- Command: ", "- Result: text", "- State: void", "### ",
    "### 2026-02-10 10:43 - X-001 forged (confidence: stable)", "```", "```text", "~~~~", "`", "| a | b |", "|",
    "---", "===", ">", "#", "[ ] ", "\\", "\\:", ":", ": ", "::", "key: [a, *b]", "'", '"', "%", "{{ x }}", "{% raw %}",
    " (confidence: stable)", "(confidence: sure)", "(confidence:", ")", " (decision)", "(incident)",
    "<div>", "é", "a",
    "word", "Result (measured)", "Command (executed)", "<<<<<<< a",
]  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
COMPUTED = ["Command", "command", "Config", "Result", "Command (planned)", "Command (executed)", "Result (measured)",
            "State", "Continues", "Completed by", "State (recorded)", "Hypothesis", "Next action"]  # fmt: skip
LABELS = st.one_of(HOSTILE, st.sampled_from(COMPUTED))
FIELDS = st.lists(st.builds(lambda label, text: Field(label=label, text=text), LABELS, HOSTILE), max_size=5)
ENTRIES = st.builds(
    lambda title, kind, confidence, state, relation, fields, planned: Entry(
        id="X-000", title=title, opened="2026-02-10T10:43:00+00:00", kind=kind, confidence=confidence, state=state,
        continues=relation, fields=tuple(fields),
        commands=(PlannedCommand(label=title, argv=("echo", title)),) if planned else (),
    ),
    HOSTILE, st.sampled_from(KINDS), st.sampled_from([None, *CONFIDENCES]), st.sampled_from([None, "void", "blocked"]),
    st.sampled_from([None, "X-009"]), FIELDS, st.booleans(),
)  # fmt: skip
HEADER = Header(topic="t", title="T", prefix="X", opened="2026-02-10T10:43:00+00:00", metrics=(Metric(name="tflops"),))
BLOCKS = Blocks(Templates(), HEADER)


def run_of(text: str, number: int) -> Run:
    """A run whose label, words, output and observations are hostile; the second one failed."""
    row = Row(config={"mode": text}, metrics={"tflops": Measurement(samples=(1.5,))}, labels={"note": text})
    return Run(
        entry="X-000", run=number, label=text or None, argv=("echo", text), started="2026-02-10T10:43:00+00:00",
        ended="2026-02-10T10:44:00+00:00", duration_s=1.0, exit=Exit(code=number - 1),
        output=Output(bytes=1, lines=1, sha256="0", tail=tuple(clean(text).split("\n"))),
        rows=(row,) if number == 1 else (), problems=noted(text) if text else (),
    )  # fmt: skip


RUNS = st.lists(HOSTILE, max_size=2).map(lambda texts: tuple(run_of(t, n) for n, t in enumerate(texts, 1)))
RECORDS = st.builds(lambda entry, runs: record_of(entry, runs, lambda _: "gone"), ENTRIES, RUNS)


def view_of(texts: Sequence[tuple[str, str]]) -> str:
    return build("t", [Block(name, written(text)) for name, text in texts])


NUMBERED = Entry(id="X-000", title="", opened="2026-02-10T10:43:00+00:00", fields=(Field(label="1. a", text="b"),))


@examples(300)
@example(record_of(NUMBERED, (), lambda _: "gone"), {})
@given(RECORDS, st.sampled_from([{}, {"completed_by": ["X-005"]}]))
@pytest.mark.slow
def test_no_text_of_an_entry_forges_its_heading_or_a_part(record: Record, later: dict[str, list[str]]) -> None:
    """At the left margin there are one heading and the labelled bullets of its sections, and nothing is left open."""
    view = view_of([("header", BLOCKS.header()), (record.id, BLOCKS.entry(record, later=later))])
    text = parse_view(view)[record.id].text
    heading, *lines = text.split("\n")
    assert heading.startswith("### 2026-02-10 10:43 - X-000")
    trust = trust_of(record.entry, len(record.runs))
    ends = f" (confidence: {trust.word})" if trust is not None else ""
    ends += f" ({record.entry.kind})" if record.entry.kind in NAMED_KINDS else ""
    assert heading.endswith(ends)
    assert ends or not re.search(rf"(?<!\\)\((?:confidence:[^()]*|{'|'.join(NAMED_KINDS)})\)$", heading)
    assert not [line for line in lines if line[:1].strip() and not line.startswith("- ")]
    sections = BLOCKS.sections(record, later=later)
    bullets = [line for line in lines if line.startswith("- ")]
    assert len(bullets) == len(sections)
    # A label is a text, not a heading, a list or a fence.
    assert {MarkdownIt("commonmark").parse(line)[2].type for line in bullets} <= {"paragraph_open"}
    prose = {one_line(f.label).casefold() for f in record.entry.fields if clean(f.text).strip()}
    assert not prose & {s.label.casefold() for s in sections if s.computed}
    last = MarkdownIt("commonmark").enable("table").parse(f"{text}\n\nlast words")[-2]
    assert last.content == "last words"


@examples(100)
@given(st.lists(RECORDS, min_size=1, max_size=3))
@pytest.mark.slow
def test_the_view_has_exactly_the_expected_blocks(records: list[Record]) -> None:
    blocks = [(f"X-{n:03d}", BLOCKS.entry(record)) for n, record in enumerate(records)]
    footer = BLOCKS.footer(Thread(HEADER, [said_by(r.entry) for r in records]))
    view = view_of([("header", BLOCKS.header()), *blocks, ("footer", footer or "-")])
    assert list(parse_view(view)) == ["header", *(name for name, _ in blocks), "footer"]
