"""The values that templates of an issue are given are those of the reference."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from logbook_agent.pages.templating.templates import Templates
from tests.conftest import REPOSITORY
from tests.unit.issue.report_support import (
    CLOSING,
    HEADER,
    ROOM,
    SNAPSHOT,
    correction,
    documents,
    records,
    updated,
)


class Recorded(Templates):
    """Keeps the values that templates are given."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}

    def render(self, name: str, values: Any) -> str:
        self.values.update(values)
        return super().render(name, values)


def test_every_value_is_in_the_reference() -> None:
    recorded = Recorded()
    found = [*records(), correction()]
    header = dataclasses.replace(HEADER, closing=CLOSING)
    made = documents(found, header=header)
    made.templates = recorded
    made.block(ROOM), made.update(updated(found), ROOM), made.final(ROOM)
    made.snapshot(SNAPSHOT, found, ROOM)
    page = (REPOSITORY / "docs/reference/templates.md").read_text(encoding="utf-8")
    words = {
        w
        for span in re.findall(r"`([^`\n]+)`", page.partition("## Documents of an issue")[2])
        for w in re.findall(r"\w+", span)
    }

    def keys(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    values = {k: v for k, v in recorded.values.items() if k != "table"}
    assert keys(values) - words == set()
    assert {"issue", "update", "snapshot", "final", "evidence", "superseded_by", "commit_url"} <= keys(values)
