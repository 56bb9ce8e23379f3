"""`logbook report` as files: each logbook has a page of its own."""

from __future__ import annotations

import pytest

from logbook_agent.model.entry import CONFIG, Entry
from logbook_agent.model.record import Record
from logbook_agent.report.page import entry_section


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- `a=1 b=2`\n- code: x", "a=1 b=2"),
        ("- env: `A=1`, `B=2`\n- code: x", "env: A=1, B=2"),
        ("- devices: 1 × cpu \\(Xeon\\)", "devices: 1 × cpu (Xeon)"),
    ],
)
def test_a_folded_config_is_plain_text(text: str, shown: str) -> None:
    assert (
        entry_section._folded(CONFIG, text, Record(entry=Entry(id="M-000", title="x", opened=""), state="planned"))
        == shown
    )
