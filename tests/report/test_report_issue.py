"""What an issue says: whole documents of a literal logbook."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from logbook_agent.findings.reading import STATES
from logbook_agent.model.entry import Field, settled
from logbook_agent.model.header import Baseline, BaselineNumbers, Header, Metric
from logbook_agent.model.run import Exit
from logbook_agent.store.book import Book
from logbook_agent.text.links import Links
from tests.conftest import Cli
from tests.report.report_support import (
    CLOSING,
    HEADER,
    REPO,
    ROOM,
    SNAPSHOT,
    correction,
    documents,
    record,
    records,
    row,
    run,
    section,
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
    golden("update", documents([*found, correction()]).update(told, later, ROOM))


def test_a_snapshot() -> None:
    golden("snapshot", documents().snapshot(SNAPSHOT, records()[:3], ROOM))


def test_the_final_summary() -> None:
    golden("final", documents(closing=CLOSING).final(ROOM))


def test_title_and_link_back() -> None:
    assert documents().title() == "Experiment: MoE EP Int8"
    assert documents().link_back("Prior issue") == (
        f'{REPO}/issues/41 refers to this issue as "Prior issue" (logbook `moe_ep_int8`, entries `MOE-I8-NNN`).'
    )


def test_prose_under_any_label_is_kept() -> None:
    texts = (Field(label="Config", text="one shape."), Field(label="change", text="a"), Field(label="Change", text="b"))
    text = documents().update([record(5, "Many fields", run("MOE-I8-005", 1), fields=texts)], {}, ROOM)
    assert "- Change: a\n" in text
    assert "- Config: one shape.\n- Change: b\n" in text
    assert "- Config (recorded):\n  - env:" in text


# -- the block ---------------------------------------------------------------------------------------


def test_a_logbook_without_anything() -> None:
    bare = Header(topic="t", title="T", prefix="T", opened="2026-02-10T10:40:00+00:00")
    text = documents([], header=bare, links=Links(why="no commit")).block(ROOM)
    assert text == (
        "## TL;DR\n\nNo experiments yet.\n\n"
        "## Status\n\n- **Open** since 2026-02-10 10:40 (times are UTC)\n- Entries: 0\n\n"
        "## Links\n\n- Logbook: no commit"
    )


def test_the_summary_of_the_header_is_the_tldr() -> None:
    assert section(documents(summary="int8 **pays**, says @ada.").block(ROOM), "TL;DR") == "int8 **pays**, says @·ada."


def test_a_closed_thread() -> None:
    text = documents(closing=CLOSING).block(ROOM)
    assert section(text, "Status").startswith("- **Closed** (2026-02-12 09:00)")
    assert section(text, "Conclusion") == (
        "int8 is **beneficial** here; ping @·dan\n\nLimitations:\n\n- one host\n\nNext steps:\n\n- EP 8"
    )
    # What was to come next is said by whoever closed it; what is planned is still there.
    assert section(text, "Open work") == "- MOE-I8-004 Top-k sweep (planned)"


def test_nothing_depends_on_the_moment() -> None:
    first = documents().block(ROOM)
    time.sleep(0.01)
    assert documents().block(ROOM) == first


def test_not_pushed() -> None:
    text = documents(links=Links()).block(ROOM)
    assert "VIEW" not in visible(text)
    assert section(text, "Links").startswith("- Logbook: not pushed\n")


def test_a_superseded_entry_holds_no_best_result() -> None:
    text = documents([*records(), correction()]).block(ROOM)
    assert section(text, "Best so far").startswith(
        "- `tflops` at the baseline's case: **236.000 TF/s**, **-1.32%** against 239.150 TF/s (higher is better) "
        "in MOE-I8-005; exploratory, a single run, no noise estimate\n\n"
    )
    assert "260" not in section(text, "Best so far")
    assert "| finished, superseded by MOE-I8-005 |" in section(text, "Results")


def test_a_failed_run_shows_as_such_and_keeps_its_rows() -> None:
    failed = record(5, "Half a sweep", run("MOE-I8-005", 1, row(300.0, quant_mode="int8"), exit=Exit(code=1)))
    text = documents([failed]).block(ROOM)
    line = "| Half a sweep | failed | exploratory | 300.000 TF/s (failed, not ranked) | — |"
    assert line in section(text, "Results")
    assert "300" not in text.replace(line, "")


def test_entries_that_are_under_way_are_no_results() -> None:
    going = record(5, "Going on", run("MOE-I8-005", 1, row(300.0, quant_mode="none"), exit=None, ended=None))
    going = dataclasses.replace(going, state="running")
    text = documents([going]).block(ROOM)
    assert section(text, "Best so far") == section(text, "Results") == ""
    assert section(text, "Open work") == "- MOE-I8-005 Going on (running)"


def test_what_is_settled() -> None:
    open_ones = {"planned", "submitted", "running", "orphaned", "blocked", "void"}
    assert {state for state in STATES if not settled(state)} == open_ones


# -- best against the baseline -----------------------------------------------------------------------


def best(*values: tuple[float, dict[str, Any]], **changed: Any) -> str:
    unit = changed.pop("unit", "TF/s")
    rows = [row(value, unit=unit, **config) for value, config in values]
    entry = record(5, "Measured", run("MOE-I8-005", 1, *rows))
    return section(documents([entry], **changed).block(ROOM), "Best so far").split("\n\n")[0]


def test_numbers_are_one_however_they_are_spelt() -> None:
    # The baseline says 0.1 and 2, the rows say "0.10" and 2.0.
    assert best((240.0, {"quant_mode": "none", "topk": 2.0})).startswith(
        "- `tflops` at the baseline's case: **240.000 TF/s**, **+0.36%** against 239.150 TF/s"
    )


def test_another_case_is_never_compared() -> None:
    assert best((999.0, {"quant_mode": "int8"})) == (
        "- `tflops` overall: **999.000 TF/s** (higher is better) in MOE-I8-005; not the baseline's case "
        "(`quant_mode=int8`), so not compared; exploratory, a single run, no noise estimate: "
        "`quant_mode=int8 tokens=32768 topk=2 lr=0.10`"
    )


def test_a_row_that_lacks_a_key_of_the_baseline_is_of_another_case() -> None:
    assert "(`quant_mode=?`), so not compared" in best((999.0, {}))


def test_a_number_in_another_unit_has_no_change() -> None:
    text = best((240.0, {"quant_mode": "none"}), unit="GF/s")
    assert "**240.000 GF/s** (not compared: the baseline's number is in TF/s)" in text
    assert "%" not in text


def test_a_baseline_without_a_case_compares_with_nothing() -> None:
    baseline = Baseline(numbers=(BaselineNumbers(metrics={"tflops": 100.0}),))
    text = best((240.0, {"quant_mode": "none"}), baseline=baseline)
    assert "the baseline names no case, so this is not compared" in text
    assert "%" not in text


def test_the_entry_that_is_the_baseline_is_not_compared_with_itself() -> None:
    own = dataclasses.replace(HEADER.baseline, entry="MOE-I8-005")
    assert best((240.0, {"quant_mode": "none"}), baseline=own) == ""


def test_each_case_of_the_baseline_has_its_best() -> None:
    baseline = Baseline(
        config={"tokens": 32768},
        numbers=tuple(BaselineNumbers(config={"topk": k}, metrics={"tflops": v}) for k, v in ((1, 100.0), (2, 200.0))),
    )
    text = best((90.0, {"topk": 1}), (210.0, {"topk": 2}), (300.0, {"topk": 4}), baseline=baseline)
    assert re.findall(r"\*\*([\d.]+ TF/s)\*\*(?:, \*\*(\S+)\*\*)?", text) == [
        ("90.000 TF/s", "-10.00%"),
        ("210.000 TF/s", "+5.00%"),
        ("300.000 TF/s", ""),
    ]


def test_lower_is_better_where_the_header_says_so() -> None:
    metrics = (Metric(name="tflops", direction="min", unit="TF/s"),)
    text = best((240.0, {"quant_mode": "none"}), (220.0, {"quant_mode": "none", "impl": "b"}), metrics=metrics)
    assert text.startswith("- `tflops` at the baseline's case: **220.000 TF/s**, **-8.01%** against")
    assert "(lower is better)" in text


def test_many_tries_of_one_case_count_as_their_median() -> None:
    tries = [run("MOE-I8-005", n, row(v, quant_mode="none")) for n, v in enumerate((230.0, 260.0, 240.0), 1)]
    text = section(documents([record(5, "Repeats", *tries)]).block(ROOM), "Best so far")
    assert "**240 TF/s**" in text
    assert "median of 3 runs [230, 260]" in text


def test_a_metric_without_a_direction_has_no_best() -> None:
    metrics = (Metric(name="tflops", unit="TF/s"),)
    text = documents(metrics=metrics).block(ROOM)
    assert section(text, "Best so far") == ""
    assert "| 241.000 TF/s .. 260.000 TF/s |" in section(text, "Results")


# -- the index ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_summaries_of_another_form_are_not_used(started: Cli, folder: Path) -> None:
    assert started("note", "--title", "One").code == 0
    book = Book(folder / "logbooks", "moe")
    time.sleep(1.1)  # what changed a moment ago is not kept
    assert book.summaries(lambda _: {"said": "old"}, form=1).entries == ({"said": "old"},)
    assert book.summaries(lambda _: {"said": "new"}, form=1).entries == ({"said": "old"},)
    assert book.summaries(lambda _: {"said": "new"}, form=2).entries == ({"said": "new"},)
