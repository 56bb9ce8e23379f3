"""Whatever fields hold and a person writes: an edit goes into its own field alone, and no word is lost."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logbook_agent.model.entry import Field
from logbook_agent.model.record import Record
from logbook_agent.pages.entry_text import EntryText, TextPart
from logbook_agent.pages.hand_edits import StandingText, TakenEdit, read_own, take
from logbook_agent.text.markdown import bullet, clean, one_line
from logbook_agent.text.marked import digest, protect
from tests.breadth import examples
from tests.unit.pages.test_markdown_entry import BLOCKS, HOSTILE, RECORDS

TEXT = HOSTILE.filter(lambda t: bool(clean(t).strip()))


def shown(record: Record) -> list[Field]:
    return [f for f in record.entry.fields if clean(f.text).strip()]


def own(record: Record) -> EntryText:
    return read_own(record, BLOCKS.sections(record), BLOCKS.entry(record))


def taken(now: Record, first: Record, standing: str) -> TakenEdit:
    """What is taken from a block that was written for `first` and stands so, while the entry is `now`."""
    written = digest(protect(BLOCKS.entry(first).strip("\n")))
    block = StandingText(text=standing, line=1, is_first=lambda t: digest(protect(t.strip("\n"))) == written, clean=str)
    return take(now, BLOCKS.sections(now), BLOCKS.entry(now), block)


def text_of(head: str, parts: list[str]) -> str:
    return "\n".join([head, *parts])


def prose(record: Record, now: EntryText) -> list[TextPart]:
    flags = [s.computed for s in BLOCKS.sections(record)]
    return [p for p, computed in zip(now.parts, flags, strict=True) if not computed]


@examples(60)
@given(RECORDS, st.data(), TEXT)
def test_an_edit_of_one_field_goes_into_that_field_alone(record: Record, data: st.DataObject, text: str) -> None:
    fields = shown(record)
    assume(fields)
    at = data.draw(st.integers(0, len(fields) - 1))
    now = own(record)
    part = prose(record, now)[at]
    new = bullet(fields[at].label, text)
    found = taken(record, record, text_of(now.head, [new if p is part else p.raw for p in now.parts]))
    assert found.refused == ()
    # Of two fields with one label either may count as the edited one; then its label is the view's.
    got = [(one_line(f.label), clean(f.text)) for f in shown(dataclasses.replace(record, entry=found.entry))]
    wanted = [(one_line(f.label), clean(f.text)) for f in fields]
    assert got == [*wanted[:at], (one_line(fields[at].label), clean(text)), *wanted[at + 1 :]]
    assert dataclasses.replace(found.entry, fields=()) == dataclasses.replace(record.entry, fields=())
    if len({one_line(f.label) for f in fields}) == len(fields):
        assert found.changed == ((fields[at].label,) if clean(text) != clean(fields[at].text) else ())


@examples(100)
@given(RECORDS, st.data())
@pytest.mark.slow
def test_no_word_that_a_person_writes_is_lost(record: Record, data: st.DataObject) -> None:
    """Lines put in and taken out anywhere: every new line is in a field or title afterwards, or something is
    refused, and then the block keeps its text."""
    lines = BLOCKS.entry(record).strip("\n").split("\n")
    for number in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines)))
        if data.draw(st.booleans()) and at < len(lines):
            del lines[at]
        else:
            start = data.draw(st.sampled_from(["", "  ", "- ", "- Label: ", "- Result: ", "\t", "```", "#### "]))
            lines.insert(at, f"{start}WORD{number} {one_line(data.draw(HOSTILE))}")
    found = taken(record, record, "\n".join(lines))
    if not found.refused:
        after = dataclasses.replace(record, entry=found.entry)
        rendered = BLOCKS.entry(after)
        for number in range(3):
            assert ("\n".join(lines).count(f"WORD{number} ")) <= rendered.count(f"WORD{number}")
        own(after)
