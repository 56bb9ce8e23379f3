"""What a notebook and a prompt show of a logbook and an entry, whatever is written in them."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from logbook_agent.api import Logbook
from logbook_agent.exports.notebook import entry_html, logbook_html
from tests.unit.exports.exported_support import NASTY, full

TAGS = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p"}


class Read(HTMLParser):
    """The texts and tags of a page; attributes and comments are kept apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()
        self.others: list[object] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.others += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        self.others.append(decl)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)


@pytest.fixture
def logbook(folder: Path) -> Logbook:
    full(folder / "logbooks")
    return Logbook.open()


def test_cells_hold_text_alone(logbook: Logbook) -> None:
    for shown in (logbook, *logbook.records()):
        found = Read(shown._repr_html_())
        assert found.tags <= TAGS
        assert found.others == []
        assert "\u202e" not in "".join(found.texts)
    cell = Read(logbook.record("MOE-001")._repr_html_())
    assert cell.texts[0] == f"MOE-001: {NASTY}".replace("\u202e", "\\u202e")
    assert "superseded by" in cell.texts


def test_every_text_of_the_answers_is_escaped() -> None:
    status = {
        "logbook": dict.fromkeys(("title", "topic", "prefix"), NASTY),
        "asked": NASTY,
        "not_settled": NASTY,
        "closed": {"conclusion": NASTY},
        "summary": NASTY,
        "entries": {"total": 1, NASTY: 1},
        "best": [{"metric": NASTY, "value": 1.0, "unit": NASTY, "entry": NASTY, "label": NASTY, "config": NASTY}],
        "answers": [
            {**dict.fromkeys(("id", "title", "answer", "why"), NASTY), "settled": is_settled}
            for is_settled in (True, False)
        ],
        "in_words": [dict.fromkeys(("id", "kind", "text"), NASTY)],
        "failed": [dict.fromkeys(("id", "title", "text"), NASTY)],
        "criteria": [{"met": False, "text": NASTY}],
        "next_actions": [{"id": NASTY, "next": NASTY}],
        "last": [dict.fromkeys(("id", "state", "title", "result"), NASTY)],
    }
    row = {"config": {NASTY: NASTY}, "metrics": {NASTY: {"median": 1.0, "unit": NASTY, "n": 2}}}
    run = {"run": 1, "label": NASTY, "state": NASTY, "discarded": True, "rows": [row]}
    names = ("id", "title", "kind", "state", "confidence_text", "result", "continues", "completes", "supersedes")
    entry = {
        **dict.fromkeys(names, NASTY),
        "superseded_by": [NASTY],
        "completed_by": [NASTY],
        "fields": [{"label": NASTY, "text": NASTY}],
        "runs": [run] * 30,
    }
    for text in (logbook_html(status), entry_html(entry)):
        found = Read(text)
        assert found.tags <= TAGS
        assert found.others == []
        assert "\u202e" not in text
    assert "and 10 more rows" in found.texts


@pytest.mark.slow
def test_frames_of_a_logbook_and_of_an_entry(logbook: Logbook) -> None:
    whole, one = logbook.to_pandas(), logbook.record("MOE-000").to_pandas()
    assert list(whole["entry"].unique()) == [f"MOE-00{n}" for n in range(6)]
    assert list(one["row"]) == [1, 2]
    assert whole["why_not"].iloc[2] == "superseded by MOE-002"
    assert logbook.to_polars().shape == whole.shape
    assert logbook.record("MOE-001").to_polars()["why_not"].to_list() == ["superseded by MOE-002"]
    assert logbook.warnings == []
