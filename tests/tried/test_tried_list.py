"""What was tried and did not work out: the list, the view's footer and the issue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli, FixedClock

pytestmark = pytest.mark.slow

FAILS = ["sh", "-c", "echo out of luck >&2; exit 3"]
OOM = 'echo \'RESULT_JSON {"config": {"topk": 8}, "failed": {"reason": "out_of_memory", "message": "9 GiB"}}\''
CASES = ["sh", "-c", f"echo RESULT topk=2 tflops=1; {OOM}"]


def measure(cli: Cli, mode: str, value: int) -> None:
    """Four runs of one mode, each a little faster than the one before."""
    script = f"echo RESULT mode={mode} topk=2 tflops={value}.$LOGBOOK_RUN"
    assert cli("run", "--title", mode, "--repeat", "4", "--", "sh", "-c", script).code == 0


@pytest.fixture
def pair(started: Cli) -> Cli:
    """MOE-000 has mode none at 100 TF/s, MOE-001 int8 at 90, and keeps the comparison, judged in spite of the order."""
    measure(started, "none", 100)
    measure(started, "int8", 90)
    assert started("compare", "MOE-000", "MOE-001", "--axis", "mode", "--allow", "order", "--save", "MOE-001").code == 0
    return started


@pytest.mark.slow
def test_verdicts_failures_and_marks_are_listed_with_what_came_out(pair: Cli) -> None:
    assert pair("run", "--repeat", "2", "--", *FAILS).code == 3
    assert pair("run", "--", *CASES).code == 0
    assert pair("run", "--timeout", "0.1s", "--", "sleep", "9").code == 124
    assert pair("plan", "--title", "wide", "--command", "bench --width 9").code == 0
    assert pair("edit", "MOE-005", "--state", "abandoned", "--interpretation", "no memory for it").code == 0
    assert pair("note", "--title", "fp8", "--field", "Negative result=fp8 loses at once").code == 0
    found = {i["entry"]: i for i in pair("tried", "--json").data["tried"]}
    assert [(e, i["kind"], i["outcome"]) for e, i in sorted(found.items())] == [
        ("MOE-001", "verdict", "regressive"),
        ("MOE-002", "failure", "failed"),
        ("MOE-003", "failure", "out_of_memory"),
        ("MOE-004", "failure", "timeout"),
        ("MOE-005", "marked", "abandoned"),
        ("MOE-006", "marked", "negative result"),
    ]
    verdict, failed, case = (found[f"MOE-00{n}"] for n in (1, 2, 3))
    assert (verdict["runs"], verdict["against"], verdict["config"]["mode"]) == ([1, 2, 3, 4], "none", "int8")
    assert verdict["reason"].startswith("tflops -9.98% (-10.")
    # Repeats of one failure are one.
    assert (failed["runs"], failed["reason"], failed["command"]) == ([1, 2], "exit code 3: out of luck", FAILS)
    assert (case["case"], case["reason"]) == ({"topk": 8}, "9 GiB")
    assert found["MOE-005"]["command"] == ["bench", "--width", "9"]
    text = pair("tried").out
    assert "MOE-002 runs 1, 2" in text
    assert "topk=8; sh -c" in text


@pytest.mark.slow
def test_all_kinds_name_the_code_and_the_configuration_alike(git: Callable[..., str], pair: Cli) -> None:
    for words in (["run", "--", *FAILS], ["plan", "--title", "x", "--command", "a --k 1", "--command", "b --k 2"]):
        pair(*words)
    pair("edit", "MOE-003", "--state", "abandoned", "--interpretation", "no memory for it")
    found = {i["kind"]: i for i in pair("tried", "--json").data["tried"]}
    head = git("rev-parse", "HEAD").strip()
    assert [found[kind]["commit"] for kind in ("verdict", "failure", "marked")] == [head, head, None]
    assert [sorted(i) for i in (found["failure"], found["marked"])] == [sorted(found["failure"])] * 2
    # The configuration of a marked entry is that of the command it stands with.
    assert (found["marked"]["command"], found["marked"]["config"]) == (["b", "--k", "2"], {"k": 2})


@pytest.mark.slow
def test_it_is_filtered_and_bounded(pair: Cli) -> None:
    assert pair("run", "--", *FAILS).code == 3
    assert pair("run", "--", *CASES).code == 0
    entries = [
        [i["entry"] for i in pair("tried", "--json", *words).data["tried"]]
        for words in (
            ["mode=int8"],
            ["topk=8.0"],
            ["--kind", "failure"],
            ["--outcome", "failed"],
            ["--entry", "MOE-003"],
        )
    ]
    assert entries == [["MOE-001"], ["MOE-003"], ["MOE-002", "MOE-003"], ["MOE-002"], ["MOE-003"]]
    short = pair("tried", "--last", "1").out
    assert "2 earlier ones: --last 3" in short
    assert "MOE-001" not in short
    assert pair("tried", "topk=4").out == "no negative results\n"


@pytest.mark.slow
def test_a_misuse_says_what_to_type(pair: Cli) -> None:
    for words, message, hint in [
        (["mod=int8"], "nothing that was tried has a 'mod'", "mode=int8"),
        (["mode"], "'mode' is not KEY=VALUE", "logbook tried topk=2"),
        (["--kind", "verdicts"], "unknown kind 'verdicts'", "--kind verdict"),
        (["--outcome", "regresive"], "nothing has the outcome 'regresive'", "--outcome regressive"),
        (["--last", "0"], "--last 0 is not a number of entries", "--last 10"),
        (["--entry", "MOE-009"], "no entry MOE-009", "list them with: logbook list"),
    ]:
        answer = pair("tried", *words, "--json")
        assert answer.code == 2, words
        assert (answer.error["message"], answer.error["hint"]) == (message, hint)


def test_a_failure_that_a_later_run_got_over_says_so(started: Cli, folder: Path) -> None:
    script = ["sh", "-c", "test -e data"]
    assert started("run", "--", *script).code == 1
    (folder / "data").touch()
    assert started("run", "--", *script).code == 0
    [item] = started("tried", "--json").data["tried"]
    assert item["since"] == "MOE-001/1"
    # No longer worth a word.
    assert "tried before" not in started("run", "--", *script).err


def test_a_case_that_failed_is_mended_by_a_run_in_which_none_does(started: Cli, folder: Path) -> None:
    failed = '{"config": {"x": 1}, "failed": {"reason": "oom", "message": "vmem"}}'
    (folder / "bench.sh").write_text(f"[ -e data ] && echo RESULT x=1 tflops=2 || echo 'RESULT_JSON {failed}'\n")
    script = ["sh", "bench.sh"]
    assert started("run", "--", *script).code == 0, "the run finishes all the same"
    assert started("run", "--", *script).code == 0
    assert [item["since"] for item in started("tried", "--json").data["tried"]] == [None] * 2
    (folder / "data").touch()
    assert started("run", "--", *script).code == 0
    assert [item["since"] for item in started("tried", "--json").data["tried"]] == ["MOE-002/1"] * 2


@pytest.mark.slow
def test_status_tells_verdicts_among_the_negative_results(pair: Cli) -> None:
    [negative] = pair("status", "--json").data["negative_results"]
    assert negative["id"] == "MOE-001"
    assert negative["text"].startswith("`mode` none → int8: regressive, tflops -9.98%")
    assert pair("note", "--title", "The clock was wrong", "--supersedes", "MOE-000").code == 0
    assert pair("status", "--json").data["negative_results"] == []


def test_a_comparison_with_an_entry_that_is_open_again_settles_nothing(pair: Cli, folder: Path) -> None:
    assert pair("edit", "MOE-000", "--state", "blocked").code == 0
    status = pair("status", "--json").data
    assert (status["settled"], status["negative_results"]) == ([], [])
    assert pair("tried", "--json").data["tried"] == []
    view = (folder / "logbooks/moe.md").read_text()
    assert "This settles nothing: it rests on MOE-000, which is blocked" in view
    assert "Negative Results Index" not in view
    assert pair("edit", "MOE-000", "--state", "computed").code == 0
    assert len(pair("status", "--json").data["negative_results"]) == 1
    assert "settles nothing" not in (folder / "logbooks/moe.md").read_text()


def test_the_view_and_the_issue_list_verdicts_and_follow_the_records(pair: Cli, folder: Path) -> None:
    view = folder / "logbooks/moe.md"
    footer = view.read_text().partition("## Negative Results Index\n")[2]
    assert footer.startswith("- MOE-001 int8: `mode` none → int8: regressive, tflops -9.98% (-10.")
    assert "**regressive**" in view.read_text()
    plan = pair("sync", "--create", "--repo", "acme/moe", "--dry-run", "--full").out
    assert "- MOE-001 int8: `mode` none → int8: regressive, tflops -9.98%" in plan
    # Without repeats of the base nothing is certain any more: another run of it, under another variable.
    script = "echo RESULT mode=none topk=2 tflops=100.$LOGBOOK_RUN"
    assert pair("run", "--id", "MOE-000", "--env", "OMP_NUM_THREADS=2", "--", "sh", "-c", script).code == 0
    text = view.read_text()
    assert pair("render").code == 0
    assert view.read_text() == text
    assert pair("edit", "MOE-001", "--field", "Negative result=int8 loses").code == 0
    text = view.read_text()
    assert "- MOE-001 int8: int8 loses" in text
    assert pair("render").code == 0
    assert view.read_text() == text
    assert pair("edit", "MOE-001", "--state", "void", "--field", "Negative result=").code == 0
    text = view.read_text()
    assert "Negative Results Index" not in text
    assert pair("render").code == 0
    assert view.read_text() == text


def test_what_was_taken_back_is_no_later_success(started: Cli, clock: FixedClock) -> None:
    works = ["sh", "-c", "test -e there"]
    assert started("run", "--", *works).code == 1
    clock.tick()
    Path("there").touch()
    assert started("run", "--", *works).code == 0
    assert started("tried", "--json").data["tried"][0]["since"] == "MOE-001/1"
    assert started("edit", "MOE-001", "--state", "void").code == 0
    assert started("tried", "--json").data["tried"][0]["since"] is None
