"""What an issue says: whole documents of a literal logbook."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from logbook_agent.findings.opening import Failed, InWords, Opening, Synopsis
from logbook_agent.findings.summaries import summary_of
from logbook_agent.issue.links import Links
from logbook_agent.model.entry import Field
from logbook_agent.model.header import Header
from tests.unit.issue.report_support import (
    CLOSING,
    HEADER,
    ROOM,
    SNAPSHOT,
    correction,
    documents,
    record,
    records,
    row,
    run,
    section,
    updated,
    visible,
)

UPDATE = os.environ.get("LOGBOOK_UPDATE_GOLDEN") == "1"


# -- whole documents ---------------------------------------------------------------------------------


def golden(name: str, text: str) -> None:
    """The document is the one beside this file. To accept a change: LOGBOOK_UPDATE_GOLDEN=1, then read the diff."""
    path = Path(__file__).with_name(f"{name}.md")
    if UPDATE:
        path.write_text(visible(text) + "\n", encoding="utf-8")
    assert visible(text) + "\n" == path.read_text(encoding="utf-8")


def test_the_block_of_a_whole_logbook() -> None:
    golden("block", documents().block(ROOM))


def test_an_update_of_a_failure_a_result_and_its_correction() -> None:
    found = records()
    told = [found[1], found[2], correction()]
    later = {"MOE-I8-002": {"superseded_by": ["MOE-I8-005"]}}
    golden("update", documents([*found, correction()]).update(updated(told, later), ROOM))


def test_a_snapshot() -> None:
    golden("snapshot", documents().snapshot(SNAPSHOT, records()[:3], ROOM))


def test_the_final_summary() -> None:
    golden("final", documents(closing=CLOSING).final(ROOM))


def test_prose_under_any_label_is_kept() -> None:
    texts = (Field(label="Config", text="one shape."), Field(label="change", text="a"), Field(label="Change", text="b"))
    text = documents().update(updated([record(5, "Many fields", run("MOE-I8-005", 1), fields=texts)]), ROOM)
    assert "- change: a\n- Change: b\n" in text
    assert "- Config: one shape.\n- Config (recorded):\n  - env:" in text


# -- the block ---------------------------------------------------------------------------------------


def test_a_logbook_without_anything() -> None:
    bare = Header(topic="t", title="T", prefix="T", opened="2026-02-10T10:40:00+00:00")
    text = documents([], header=bare, links=Links(why="no commit")).block(ROOM)
    assert text == (
        "## TL;DR\n\nAsked: T\n\n"
        "## Status\n\n- **Open** since 2026-02-10 10:40 (times are UTC)\n- Entries: 0\n\n"
        "## Links\n\n- Logbook: no commit"
    )


def answered(text: str, outcome: str, **more: Any) -> Synopsis:
    is_settled = outcome != "open"
    return Synopsis(entry="MOE-I8-002", title="First A/B", text=text, outcome=outcome, is_settled=is_settled, **more)


SURE = "int8 has 5.2% more tflops than none (95%: 4.1 to 6.3%; 12 pairs in 2 sittings); no difference in loss"
ANSWERED = Opening(
    asked="is int8 faster?",
    answers=(
        answered(SURE, "better", confidence="replicated"),
        answered("int8 against none is open in time_s, -1% so far (12 pairs in 1 sitting)", "open",
                 why="the interval includes 0, so either side may be better; it needs about 8 more pairs",
                 command="logbook ab --id MOE-I8-002 --max-pairs 8 -- bench", pairs=8),
        answered("fp8 against none is open in time_s, -1% so far (12 pairs in 1 sitting)", "open",
                 why="it needs more pairs than is practical",
                 is_hopeless=True),
    ),
    in_words=(
        InWords(kind="summary", text="said below"),
        InWords(kind="decision", text="Take *int8*.", entry="MOE-I8-002"),
    ),
    failed=tuple(Failed(entry="MOE-I8-002", title=f"Try {n}", text="out of memory") for n in range(4)),
    next_of="MOE-I8-002",
    next="repeat int8.",
)  # fmt: skip


def test_the_first_lines_are_the_answers_and_what_a_person_says_follows() -> None:
    text = section(documents(first=ANSWERED, summary="int8 **pays**, says @ada.").block(ROOM), "TL;DR")
    link = "[MOE-I8-002](VIEW#L30)"
    where = f"({link} First A/B"
    assert text.split("\n") == [
        "Asked: is int8 faster?",
        "",
        f"- **{SURE}** {where}; replicated)",
        f"- int8 against none is open in time_s, -1% so far (12 pairs in 1 sitting) {where};"
        " the interval includes 0, so either side may be better; it needs about 8 more pairs)."
        " To add up to 8 pairs: `logbook ab --id MOE-I8-002 --max-pairs 8 -- bench`",
        f"- fp8 against none is open in time_s, -1% so far (12 pairs in 1 sitting) {where};"
        " it needs more pairs than is practical)",
        f"- In words (decision of {link}): Take *int8*.",
        *(f"- Failed: {link} Try {n}: out of memory" for n in range(3)),
        "- 1 more of the failures [in the logbook](VIEW)",
        f"- Next, from {link}: repeat int8.",
        "",
        "int8 **pays**, says @·ada.",
    ]


def test_the_final_summary_begins_with_the_answers_and_many_are_counted() -> None:
    many = dataclasses.replace(ANSWERED, answers=ANSWERED.answers[:1] * 20, in_words=(), failed=())
    text = visible(documents(first=many, closing=CLOSING).final(ROOM))
    assert text.startswith("## Final summary\n\nAsked: is int8 faster?\n\n- **int8 has 5.2% more")
    assert "\n- 8 more settled comparisons [in the logbook](VIEW)\n- Next, from" in text
    assert text.index("more settled comparisons") < text.index("int8 is **beneficial** here")


def test_a_closed_thread() -> None:
    text = documents(closing=CLOSING).block(ROOM)
    assert section(text, "Status").startswith("- **Closed** (2026-02-12 09:00)")
    assert section(text, "Conclusion") == (
        "int8 is **beneficial** here; ping @·dan\n\nLimitations:\n\n- one host\n\nNext steps:\n\n- EP 8"
    )
    # What was to come next is said by whoever closed it; what is planned is still there.
    assert section(text, "Open work") == "- MOE-I8-004 Top-k sweep (planned)"


def test_not_pushed() -> None:
    text = documents(links=Links()).block(ROOM)
    assert "VIEW" not in visible(text)
    assert section(text, "Links").startswith("- Logbook: not pushed\n")


def test_entries_that_are_under_way_are_no_results() -> None:
    going = record(5, "Going on", run("MOE-I8-005", 1, row(300.0, quant_mode="none"), exit=None, ended=None))
    going = dataclasses.replace(going, state="running")
    text = documents([going]).block(ROOM)
    assert section(text, "Best so far") == section(text, "Results") == ""
    assert section(text, "Open work") == "- MOE-I8-005 Going on (running)"


# -- best --------------------------------------------------------------------------------------------


def test_nothing_that_no_comparison_settled_is_bold() -> None:
    assert "**" not in documents([*records(), correction()]).block(ROOM).replace("**Open**", "")


def test_the_row_of_a_comparison_names_its_candidate() -> None:
    one = {
        "metric": "tflops",
        "side": "int8",
        "failed": "",
        "value": 252.0,
        "spread": 4.0,
        "unit": "TF/s",
        "change": "+5.2%",
        "outcome": "better",
    }
    several = [{**one, "metric": "tokens_per_s", "outcome": outcome} for outcome in ("open", "open", "worse")]
    summary = summary_of(records()[2], HEADER) | {
        "asked": "quant_mode: int8 against none",
        "candidates": [{**one, "is_bold": True}, *({**other, "is_bold": False} for other in several)],
    }
    made = documents([])
    made.values = dataclasses.replace(made.values, summaries=[summary])
    row = "| int8: 252.0 TF/s (**+5.2%, better**) | 2 open, 1 worse | `quant_mode: int8 against none` |"
    assert row in section(made.block(ROOM), "Results")
