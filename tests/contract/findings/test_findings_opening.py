"""The first lines of a thread, and what stands in lists because comparisons found it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import Cli

HEADER = """
title: Six and seven
prefix: MOE
goal: Do they help?
metrics:
- {name: time_ms, direction: min, unit: ms}
- {name: tflops, direction: max, unit: TF/s}
- {name: loss, direction: min, primary: false}
"""
# Six is faster, seven is not; the loss stays what it is. A little noise, by the number of the run.
SCRIPT = """
n=$((LOGBOOK_RUN % 7))
case $MODE in 6) time=90 speed=110;; *) time=100 speed=100;; esac
echo METRIC time_ms=$time.0$n ms
echo METRIC tflops=$speed.0$n
echo METRIC loss=2.000$n
"""


@pytest.fixture
def thread(cli: Cli, folder: Path) -> Cli:
    (folder / "thread.yaml").write_text(HEADER)
    (folder / "bench.sh").write_text(SCRIPT)
    assert cli("start", "moe", "--from", "thread.yaml").code == 0
    return cli


def ab(cli: Cli, axis: str, title: str, *more: str) -> None:
    words = ("ab", "--axis", axis, "--seed", "1", "--title", title, *more, "--", "sh", "bench.sh")
    answer = cli(*words)
    assert answer.code == 0, answer.err


@pytest.mark.slow
def test_findings_are_in_the_order_of_the_header_and_a_watched_metric_is_no_result(thread: Cli, folder: Path) -> None:
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "10")
    ab(thread, "env:MODE=5,7", "Seven", "--pairs", "10", "--next", "eight")
    data = thread("status", "--json").data
    found = [(line["id"], line["outcome"], line["settled"]) for line in data["answers"]]
    assert found == [("MOE-000", "better", True), ("MOE-001", "no difference", True)]
    first = [re.findall(r"time_ms|less time|tflops|loss", line["answer"]) for line in data["answers"]]
    assert first == [["less time", "tflops", "loss"], ["time_ms", "tflops", "loss"]]
    [negative] = data["negative_results"]
    assert negative["id"] == "MOE-001"
    assert re.findall(r"time_ms|less time|tflops|loss", negative["text"]) == ["time_ms", "tflops"]
    view = (folder / "logbooks/moe.md").read_text()
    top = view[view.index("# ") :].partition("## Scope")[0].splitlines()
    assert top[2] == "## Answers"
    assert top[3:5] == ["Asked: Do they help?", ""]
    assert top[5:7] == [f"- **{line['answer']}** ({line['id']} {line['title']})" for line in data["answers"]]
    assert f"- MOE-001 Seven: {negative['text']}" in view.partition("## Negative Results Index")[2]
    # What each command spliced is what is rendered from the records.
    assert thread("render").code == 0
    assert (folder / "logbooks/moe.md").read_text() == view
    assert thread("doctor").code == 0


@pytest.mark.slow
def test_two_answers_to_one_question_name_each_other(thread: Cli, folder: Path) -> None:
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "10")
    ab(thread, "env:MODE=5,7", "Seven", "--pairs", "10")
    ab(thread, "env:MODE=5,6", "Six again", "--pairs", "10", "--new")

    def named() -> dict[str, list[str]]:
        lines = {one["id"]: one["answer"] for one in thread("status", "--json").data["answers"]}
        return {entry: re.findall(r"MOE-\d+", line) for entry, line in lines.items()}

    assert named() == {"MOE-000": ["MOE-002"], "MOE-001": [], "MOE-002": ["MOE-000"]}
    top = (folder / "logbooks/moe.md").read_text().partition("## Scope")[0]
    assert "the same was asked in MOE-002" in top
    assert all("The same was asked in MOE-00" in thread("show", entry).out for entry in ("MOE-000", "MOE-002"))
    # What was discarded is no answer beside another.
    assert thread("discard", "MOE-002", "--why", "the machine was busy").code == 0
    assert named() == {"MOE-000": [], "MOE-001": []}


@pytest.mark.slow
def test_a_void_comparison_leaves_the_first_lines_and_the_view(thread: Cli, folder: Path) -> None:
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "10")
    assert "## Answers" in (folder / "logbooks/moe.md").read_text()
    assert thread("edit", "MOE-000", "--state", "void", "--reason", "the wrong code").code == 0
    assert thread("status", "--json").data["answers"] == []
    view = (folder / "logbooks/moe.md").read_text()
    assert "## Answers" not in view
    assert thread("render").code == 0
    assert (folder / "logbooks/moe.md").read_text() == view


@pytest.mark.slow
def test_the_first_lines_follow_every_entry_by_whatever_template(thread: Cli, folder: Path) -> None:
    (folder / "logbook.toml").write_text('templates = "templates"\n')
    (folder / "templates").mkdir()
    (folder / "templates/logbook.md.j2").write_text(
        "# Known\n{% for line in logbook.opening.failed %}{{ line.entry }}\n{% endfor %}"
    )
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "2")
    assert thread("run", "--", "false").code == 1
    view = (folder / "logbooks/moe.md").read_text()
    assert "# Known\nMOE-001\n" in view
    assert thread("render").code == 0
    assert (folder / "logbooks/moe.md").read_text() == view


@pytest.mark.slow
def test_an_ab_without_a_whole_pair_says_so(thread: Cli) -> None:
    words = ("ab", "--axis", "env:MODE=5,6", "--seed", "1", "--", "sh", "-c", "exit 3")
    assert thread(*words).code == 3
    lines = thread("status").out.splitlines()
    assert "MOE-000" in lines[2]
    # The same code fails again, so the question is not asked of it.
    discard = "logbook discard MOE-000 --why 'env:MODE=5 fails'"
    assert discard in lines[3]
    [step] = thread("next", "--json").data["steps"]
    assert (step["id"], step["command"], step["kind"]) == ("MOE-000", discard, "comparison")
    assert " failed: exit code 3; env:MODE=5 fails again on the same code: mend the code, or" in step["why"]
    # Asked again by a later entry, or decided, it is left alone.
    assert thread("ab", "--new", *words[1:]).code == 3
    assert [step["id"] for step in thread("next", "--json").data["steps"]] == ["MOE-001"]
    assert thread("discard", "MOE-001", "--why", "it fails").code == 0
    assert not {"MOE-000", "MOE-001"} & {step.get("id") for step in thread("next", "--json").data["steps"]}


@pytest.mark.slow
def test_an_ab_of_which_every_pair_fails_a_gate_has_a_next_step(thread: Cli, folder: Path) -> None:
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "1")
    ab(thread, "env:MODE=5,7", "Seven", "--pairs", "1")
    assert thread("edit", "MOE-001", "--gate", "ok == 1").code == 0
    steps = {step["id"]: step for step in thread("next", "--json").data["steps"]}
    # To ask again would break it again: what is to be changed is said, and what the command prints is shown.
    assert steps["MOE-001"]["command"].startswith("logbook show MOE-001/")
    assert "no run reports ok: have the command print it" in steps["MOE-001"]["why"]
    assert "`logbook edit MOE-001 --drop 'ok == 1'`" in steps["MOE-001"]["why"]


def test_a_summary_that_is_older_than_a_result_says_so(thread: Cli, folder: Path) -> None:
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "1")
    assert thread("status", "--summary", "Six is slower.").code == 0
    assert not thread("status", "--json").data.get("summary_before")
    path = folder / "logbooks/moe/logbook.yaml"
    older = re.sub(r"summary_at: .*", "summary_at: '2020-01-01T00:00:00+00:00'", path.read_text())
    path.write_text(older)
    [line] = [line for line in thread("status").out.splitlines() if line.endswith("): Six is slower.")]
    assert "MOE-000" in line
    assert thread("status", "--json").data["summary_before"] == ["MOE-000"]
    assert thread("status", "--summary", "").code == 0
    assert "summary_at" not in path.read_text()


def test_a_negative_result_is_no_failure(thread: Cli, folder: Path) -> None:
    assert thread("run", "--title", "Works", "--", "sh", "bench.sh").code == 0
    assert thread("edit", "MOE-000", "--field", "Negative result=no faster").code == 0
    assert thread("run", "--title", "Breaks", "--", "sh", "-c", "echo no memory >&2; exit 3").code == 3
    out = thread("status").out
    assert "negative result: MOE-000 Works: no faster" in out
    assert "failed: MOE-001 Breaks: exit code 3: no memory" in out
    assert "failed: MOE-000" not in out


def test_a_comparison_that_was_given_up_is_not_the_next_step(thread: Cli) -> None:
    ab(thread, "env:MODE=5,7", "Seven", "--pairs", "2")
    assert [one["id"] for one in thread("status", "--json").data["next_actions"]] == ["MOE-000"]
    assert thread("edit", "MOE-000", "--state", "abandoned").code == 0
    data = thread("status", "--json").data
    assert (data["next_actions"], data["answers"]) == ([], [])


def test_what_is_abandoned_asks_nothing_and_what_failed_is_listed_once(thread: Cli, folder: Path) -> None:
    ab(thread, "env:MODE=5,7", "Left", "--pairs", "2")
    ab(thread, "env:MODE=5,6", "Six", "--pairs", "10")
    (folder / "broken.sh").write_text(SCRIPT + '[ "$MODE" != 8 ]\n')
    # The base is first.
    words = ("ab", "--axis", "env:MODE=5,8", "--seed", "1", "--max-pairs", "2", "--title", "Broken")
    assert thread(*words, "--", "sh", "broken.sh").code == 1
    assert thread("run", "--title", "Gone", "--", "false").code == 1
    for abandoned in ("MOE-000", "MOE-001", "MOE-003"):
        assert thread("edit", abandoned, "--state", "abandoned").code == 0
    data = thread("status", "--json").data
    assert data["answers"] == []
    assert [one["id"] for one in data["failed"]] == ["MOE-002"]
    # What was measured there still stands in the entry itself.
    assert thread("compare", "MOE-001", "--json").data["answer"]["findings"][0]["outcome"] == "better"
    top = (folder / "logbooks/moe.md").read_text().partition("## Scope")[0]
    assert "MOE-000" not in top
    assert "MOE-001" not in top


def test_why_something_was_discarded_is_not_what_was_found(thread: Cli) -> None:
    assert thread("run", "--title", "Six", "--", "sh", "bench.sh").code == 0
    assert thread("edit", "MOE-000", "--interpretation", "Six is enough.").code == 0
    assert thread("run", "--title", "Seven", "--", "sh", "bench.sh").code == 0
    assert thread("discard", "MOE-001", "--why", "Too many lines.").code == 0
    issue = thread("sync", "--create", "--repo", "o/r", "--dry-run").out
    said = [line.strip(" +") for line in issue.splitlines() if "In words" in line]
    assert said == ["- In words (interpretation of MOE-000): Six is enough."]
