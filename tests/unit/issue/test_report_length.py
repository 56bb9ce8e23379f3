"""What an issue says fits in it, and says what was left out."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from logbook_agent.findings.summaries import summary_of
from logbook_agent.issue import neutral
from logbook_agent.model.entry import Field
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Exit, Output
from logbook_agent.text import fit
from logbook_agent.text.fit import fences, tokens
from tests.breadth import wide
from tests.unit.issue.report_support import (
    CLOSING,
    HEADER,
    ROOM,
    SNAPSHOT,
    VIEW,
    documents,
    fields,
    record,
    records,
    row,
    run,
    section,
    updated,
)

PIECES = ["long words of prose. ", "a", "👩‍👩‍👧 ", "🇩🇪", "`code` [link](https://example.org/x) "]


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("room", [65_000, 3_000])
@pytest.mark.sample(2)
def test_prose_of_any_length_fits(piece: str, room: int) -> None:
    huge = piece * (1_000_000 // len(piece.encode()))
    labels = ("Hypothesis", "Interpretation", "Next action", "Negative result", "Decision")
    texts = tuple(Field(label=label, text=huge) for label in labels)
    output = Output(bytes=1, lines=1, sha256="0" * 64, error_tail=(huge,))
    runs = [run(f"MOE-I8-{n:03d}", 1, exit=Exit(code=1), output=output) for n in (1, 2)]
    found = [record(n, huge[:2000], made, fields=texts) for n, made in enumerate(runs, 1)]
    made = documents(found, goal=huge, closing=dataclasses.replace(CLOSING, conclusion=huge))
    written = [
        made.block(room),
        made.update(updated(found), room),
        made.snapshot(SNAPSHOT, found, room),
        made.final(room),
    ]
    assert [fit.size(text) for text in written if fit.size(text) > room] == []
    assert all(re.search(r"[\d,]+ (more bytes|bytes are left out)|…", text) for text in written)
    assert "\ufffd" not in "".join(written)
    # Nothing is open where a text was cut, and what was made inert still is.
    assert [text for text in written if not all(f.closed for f in fences(tokens(text), text.split("\n")))] == []
    assert [text for text in written if neutral.document(text, made.declared) != text] == []
    assert [text for text in written if text.count("<details>") != text.count("</details>")] == []


@pytest.mark.slow
def test_a_title_has_at_most_256_characters() -> None:
    for text in ("word " * 100, "a" * 1000, "👩‍👩‍👧" * 200, "@ada " * 200):
        title = documents(title=text).title()
        assert 200 < len(title.encode("utf-16-le")) // 2 <= 256
        assert title.endswith("…")


def test_a_command_that_does_not_fit_is_left_out_whole() -> None:
    entry = record(5, "Long", run("MOE-I8-005", 1, argv=("echo", "x" * 100_000)))
    text = documents().update(updated([entry]), ROOM)
    assert "*(a command of 100,005 bytes, in the logbook)*" in text
    assert "xxx" not in text


@pytest.mark.slow
def test_many_entries_are_counted() -> None:
    one = record(0, "Entry", run("MOE-I8-000", 1, row(1.0, quant_mode="none")), fields=fields(next_action="go on."))
    summary = summary_of(one, HEADER)
    summaries = [{**summary, "id": f"MOE-I8-{n:03d}", "title": f"Entry {n}"} for n in range(10_000)]
    made = documents([])
    made.values = dataclasses.replace(made.values, summaries=summaries)
    text = made.block(ROOM)
    assert fit.size(text) <= ROOM
    rows = re.findall(r"^\| (?:\[?)MOE-I8-(\d+)", text, re.MULTILINE)
    assert rows[-1] == "9999"
    assert rows == sorted(rows)
    assert len(rows) > 50
    assert f"{10_000 - len(rows):,} earlier entries [in the logbook]({VIEW})" in text


METRICS = tuple(Metric(name=f"metric_{n}", direction="max", text="words " * 40) for n in range(300))
SWEEP = tuple(row(float(n), quant_mode=f"mode {n}", impl="`a | b`") for n in range(5_000))
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "metrics": ({}, {"metrics": (*HEADER.metrics, *METRICS)}),
    "rows": ({"runs": (run("MOE-I8-005", 1, *SWEEP),)}, {}),
    "title": ({"title": "`code` | " * 1_100}, {"title": "`code` | " * 1_100}),
    "criteria": ({}, {"stop_criteria": HEADER.stop_criteria * 5_000}),
    "commands": ({"runs": tuple(run("MOE-I8-005", n, argv=("bench", "x" * 3_000, str(n))) for n in range(1, 99))}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["metrics", wide("rows"), "title", wide("criteria"), "commands"])
def test_a_document_of_any_shape_is_whole_and_keeps_its_start(shape: str) -> None:
    given, header = SHAPES[shape]
    one = record(5, given.get("title", "One"), *given.get("runs", ()), fields=fields(next_action="go `on`."))
    made = documents([*records(), one], closing=CLOSING, **header)
    block, update = made.block(ROOM), made.update(updated([*records(), one]), ROOM)
    written = [block, update, made.snapshot(SNAPSHOT, [one], ROOM), made.final(ROOM)]
    assert [fit.size(text) for text in written if fit.size(text) > ROOM] == []
    assert section(block, re.escape("TL;DR")).startswith("Asked: ")
    assert update.startswith("### [MOE-I8-000]")
    for text in written:
        assert all(len(set(columns)) == 1 for columns in tables(text))
        assert neutral.document(text, made.declared) == text
    if shape not in ("title", "metrics"):
        assert any(re.search(r"[\d,]+ (more|bytes are left out|earlier)|first 200 of 5,000", text) for text in written)


def tables(text: str) -> list[list[int]]:
    """The number of cells of each row, by table."""
    found: list[list[int]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append(0)
        elif token.type in ("td_open", "th_open"):
            found[-1][-1] += 1
    return found


def test_each_text_has_a_cap() -> None:
    """What is short is whole, and what is long says how much more there is."""
    texts = {"Hypothesis": "short.", "Interpretation": "long " * 40_000, "Next action": "longer " * 40_000}
    entry = record(5, "Capped", fields=tuple(Field(label=label, text=text) for label, text in texts.items()))
    text = documents([entry]).update(updated([entry]), ROOM)
    assert "- Hypothesis: short.\n" in text
    one, other = (len(re.findall(rf"\b{word}\b", text)) * len(word + " ") for word in ("long", "longer"))
    assert abs(one - other) < 10
    assert text.count(" more bytes in the logbook)*") == 2


def test_of_many_long_entries_each_is_named() -> None:
    long = fields(interpretation="long " * 4_000, next_action="longer " * 4_000)
    found = [record(n, f"Entry {n}", fields=long) for n in range(10)]
    text = documents(found).update(updated(found), ROOM)
    assert fit.size(text) <= ROOM
    assert re.findall(r"Entry \d", text) == [f"Entry {n}" for n in range(10)]
