"""Templates of a project for an issue, and the values that they are given."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.model.errors import StoreError
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
    visible,
)


def test_a_project_has_templates_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "issue_title.j2").write_text("[{{ logbook.prefix }}] {{ logbook.title }}\n")
    (tmp_path / "issue_body.md.j2").write_text("{{ issue.facts | join(' ') }} @mallory\n")
    made = documents(templates=tmp_path)
    assert made.title() == "[MOE-I8] MoE EP Int8"
    assert visible(made.block(ROOM)).endswith(" 1 of 3 stop criteria met. @·mallory")


def test_a_template_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "issue_body.md.j2").write_text("fine\n{{ issue.besst }}\n")
    with pytest.raises(StoreError) as caught:
        documents(templates=tmp_path).block(ROOM)
    assert caught.value.message == "template issue_body.md.j2, line 2: 'dict object' has no attribute 'besst'"
    assert caught.value.cause == f"the project's own template in {tmp_path} is not valid"
    assert caught.value.hint == f"{REPOSITORY}/docs/reference/templates.md lists the names a template may use"


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
    made.block(ROOM), made.update(updated(found), ROOM), made.final(ROOM), made.link_back("Prior issue")
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
    assert {"issue", "update", "snapshot", "final", "link", "evidence", "superseded_by", "commit_url"} <= keys(values)
