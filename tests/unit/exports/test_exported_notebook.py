"""What a notebook and a prompt show of a logbook and an entry, whatever is written in them."""

from __future__ import annotations

from html.parser import HTMLParser

from logbook_agent.exports.notebook import entry_html, logbook_html
from tests.contract.exports.full_store import NASTY

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
