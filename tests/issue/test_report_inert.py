"""Nothing in an issue is live that the logbook did not declare."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from logbook_agent.issue import neutral
from logbook_agent.model.entry import Field, PlannedCommand
from logbook_agent.model.run import Exit, Output
from tests.issue.report_support import (
    CLOSING,
    HEADER,
    LINKS,
    REPO,
    ROOM,
    SNAPSHOT,
    VIEW,
    documents,
    record,
    records,
    row,
    run,
    updated,
)

# Everything that must come out dead, wherever it is written.
PLANTED = "@mallory fixes #1 <!-- logbook:end --> https://github.com/o/r/issues/2"


def live(text: str) -> list[str]:
    """What GitHub would act on, but for commands and what the logbook declares."""
    outside = re.sub(r"^```bash\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    dead = re.findall(r"@mallory|#1\b|issues/2\b", outside)
    return dead + re.findall(r"<!--\s*logbook", text)


def everywhere() -> tuple[Any, dict[str, Any]]:
    output = Output(bytes=1, lines=1, sha256="0" * 64, error_tail=(PLANTED, "```", PLANTED))
    bad = run("MOE-I8-001", 1, row(1.0, quant_mode=PLANTED), exit=Exit(code=1), output=output, label=PLANTED)
    noise = dataclasses.replace(bad, run=2, rows=(row(1.0, unit=PLANTED, quant_mode="none"),), problems=(PLANTED,))
    silent = dataclasses.replace(bad, run=3, rows=())
    texts = tuple(
        Field(label=label, text=f"{PLANTED}\n\n```text\n{PLANTED}\n```\n\n    {PLANTED}\n\n<img src=x> {PLANTED}")
        for label in ("Hypothesis", "Interpretation", "Next action", "Negative result", "Decision", PLANTED)
    )
    found = [
        record(1, PLANTED, bad, noise, silent, fields=texts),
        record(2, f"```bash {PLANTED}", kind="decision", fields=texts),
        record(3, PLANTED, commands=(PlannedCommand(label=PLANTED, argv=("a",)),), fields=texts),
    ]
    header = dataclasses.replace(
        HEADER,
        title=PLANTED,
        goal=PLANTED,
        constraints=(PLANTED,),
        links=(dataclasses.replace(HEADER.links[0], label=PLANTED), dataclasses.replace(HEADER.links[1], url=PLANTED)),
        baseline=dataclasses.replace(HEADER.baseline, source=PLANTED, text=PLANTED, code_refs=(PLANTED,)),
        stop_criteria=(dataclasses.replace(HEADER.stop_criteria[0], text=PLANTED),),
        closing=dataclasses.replace(CLOSING, conclusion=PLANTED, limitations=(PLANTED,)),
        metrics=(dataclasses.replace(HEADER.metrics[0], text=PLANTED), HEADER.metrics[1]),
    )
    return found, {"header": header}


@pytest.mark.parametrize("summary", [None, PLANTED])
def test_nothing_planted_is_live(summary: str | None) -> None:
    found, given = everywhere()
    given["header"] = dataclasses.replace(given["header"], summary=summary)
    made = documents(found, **given)
    later = {"MOE-I8-001": {"superseded_by": ["MOE-I8-002"]}}
    texts = {
        "title": made.title(),
        "block": made.block(ROOM),
        "update": made.update(updated(found, later), ROOM),
        "snapshot": made.snapshot(SNAPSHOT, found, ROOM),
        "final": made.final(ROOM),
        "link": made.link_back(PLANTED),
    }
    assert {name: live(text) for name, text in texts.items() if live(text)} == {}
    assert all("mallory" in text for text in texts.values())
    assert all(neutral.document(text, made.declared) == text for name, text in texts.items() if name != "title")
    # No entity that keeps names apart in the view is shown to a reader.
    assert not [name for name, text in texts.items() if "8203" in text]
    assert "\n" not in texts["title"]


def test_declared_links_stay_live() -> None:
    made = documents()
    whole = made.block(ROOM) + made.update(updated(records()), ROOM) + made.snapshot(SNAPSHOT, records(), ROOM)
    urls = [f"{REPO}/issues/7", f"{REPO}/issues/9", SNAPSHOT.url, VIEW, *LINKS.entries.values()]
    assert [url for url in urls if url not in whole] == []
    assert f"{REPO}/commit/{SNAPSHOT.commit}" in whole
    assert {*urls, f"{REPO}/issues/41"} <= made.declared


def test_commands_stay_as_they_were_typed() -> None:
    words = ("python", "-c", "print('@mallory fixes #1')\n# ```\nprint(1)", "user@host:https://github.com/o/r/issues/2")
    text = documents().update(updated([record(5, "Quoted", run("MOE-I8-005", 1, argv=words))]), ROOM)
    command = (
        "python -c 'print('\"'\"'@mallory fixes #1'\"'\"')\n# ```\nprint(1)' user@host:https://github.com/o/r/issues/2"
    )
    assert f"````bash\n{command}\n````" in text
