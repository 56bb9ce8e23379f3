"""What was tried and did not work out: the list, the view's footer and the issue."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.findings.kept import once

pytestmark = pytest.mark.slow

FAILS = ["sh", "-c", "echo out of luck >&2; exit 3"]
OOM = 'echo \'RESULT_JSON {"config": {"topk": 8}, "failed": {"reason": "out_of_memory", "message": "9 GiB"}}\''
CASES = ["sh", "-c", f"echo RESULT topk=2 tflops=1; {OOM}"]


def measure(cli: Cli, mode: str, value: int) -> None:
    """Four runs of one mode, each a little faster than the one before."""
    script = f"echo RESULT mode={mode} topk=2 tflops={value}.$LOGBOOK_RUN"
    assert cli("run", "--title", mode, "--repeat", "4", "--", "sh", "-c", script).code == 0


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "pair"


@pytest.fixture
def pair(cli: Cli, folder: Path, kept: Path) -> Cli:
    """MOE-000 has mode none at 100 TF/s; MOE-001 is an A/B of none and int8, which is 10% slower."""

    def build() -> None:
        assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max:TF/s").code == 0
        measure(cli, "none", 100)
        (folder / "bench.sh").write_text("[ $2 = int8 ] && v=90 || v=100; echo RESULT topk=2 tflops=$v.$LOGBOOK_RUN")
        ab = ("ab", "--title", "int8", "--axis", "mode=none,int8", "--pairs", "8", "--seed", "1")
        assert cli(*ab, "--", "sh", "bench.sh", "--mode", "none").code == 0

    once(kept, folder, build)
    return cli


@pytest.mark.slow
def test_verdicts_failures_and_marks_are_listed_with_what_came_out(pair: Cli) -> None:
    assert pair("run", "--repeat", "2", "--", *FAILS).code == 3
    assert pair("run", "--", *CASES).code == 0
    assert pair("run", "--timeout", "0.1s", "--", "sleep", "9").code == 124
    assert pair("note", "--plan", "--title", "wide", "--command", "bench --width 9").code == 0
    assert pair("edit", "MOE-005", "--state", "abandoned", "--interpretation", "no memory for it").code == 0
    assert pair("note", "--title", "fp8", "--field", "Negative result=fp8 loses at once").code == 0
    found = {i["entry"]: i for i in pair("list", "--tried", "--json").data["tried"]}
    assert [(e, i["kind"], i["outcome"]) for e, i in sorted(found.items())] == [
        ("MOE-001", "verdict", "worse"),
        ("MOE-002", "failure", "failed"),
        ("MOE-003", "failure", "out_of_memory"),
        ("MOE-004", "failure", "timeout"),
        ("MOE-005", "marked", "abandoned"),
        ("MOE-006", "marked", "negative result"),
    ]
    verdict, failed, case = (found[f"MOE-00{n}"] for n in (1, 2, 3))
    assert (verdict["against"], verdict["config"], verdict["metric"]) == ("none", {"mode": "int8"}, "tflops")
    assert verdict["delta"] == pytest.approx(-0.1, abs=0.01)
    assert verdict["reason"] == pair("compare", "MOE-001", "--json").data["answer"]["findings"][0]["sentence"]
    # Repeats of one failure are one.
    assert (failed["runs"], failed["reason"], failed["command"]) == ([1, 2], "exit code 3: out of luck", FAILS)
    assert (case["case"], case["reason"]) == ({"topk": 8}, "9 GiB")
    assert found["MOE-005"]["command"] == ["bench", "--width", "9"]
    text = pair("list", "--tried").out
    assert "MOE-002 runs 1, 2" in text
    assert "topk=8; sh -c" in text
    assert f"worse: {verdict['reason']}\n" in text


@pytest.mark.slow
def test_it_is_filtered_and_bounded(pair: Cli) -> None:
    assert pair("run", "--", *FAILS).code == 3
    assert pair("run", "--", *CASES).code == 0
    entries = [
        [i["entry"] for i in pair("list", "--tried", "--json", *words).data["tried"]]
        for words in (
            ["mode=int8"],
            ["topk=8.0"],
            ["failure"],
            ["exit"],
            ["MOE-003"],
        )
    ]
    assert entries == [["MOE-001"], ["MOE-003"], ["MOE-002", "MOE-003"], ["MOE-002"], ["MOE-003"]]
    short = pair("list", "--tried", "--last", "1").out
    assert "2 earlier ones: --last 3" in short
    assert "MOE-001" not in short
    assert [i["entry"] for i in pair("list", "--tried", "--last", "1", "--json").data["tried"]] == ["MOE-003"]
    assert pair("list", "--tried", "topk=4", "--json").data["tried"] == []


def test_a_misuse_says_what_to_type(started: Cli) -> None:
    for words in (["--last", "0"], ["--kind", "note"]):
        answer = started("list", "--tried", *words, "--json")
        assert (answer.code, answer.error["code"]) == (2, "usage")
        assert words[0] in answer.error["message"]


def test_a_case_that_failed_is_mended_by_a_run_in_which_none_does(started: Cli, folder: Path) -> None:
    failed = '{"config": {"x": 1}, "failed": {"reason": "oom", "message": "vmem"}}'
    (folder / "bench.sh").write_text(f"[ -e data ] && echo RESULT x=1 tflops=2 || echo 'RESULT_JSON {failed}'\n")
    script = ["sh", "bench.sh"]
    assert started("run", "--", *script).code == 0, "the run finishes all the same"
    assert started("run", "--", *script).code == 0
    assert [item["since"] for item in started("list", "--tried", "--json").data["tried"]] == [None] * 2
    (folder / "data").touch()
    assert started("run", "--", *script).code == 0
    assert [item["since"] for item in started("list", "--tried", "--json").data["tried"]] == ["MOE-002/1"] * 2


def test_the_list_follows_the_records(pair: Cli) -> None:
    """Runs beside the comparison do not change it; a void entry has no answer."""
    before = pair("list", "--tried", "--json").data["tried"]
    assert [i["entry"] for i in before] == ["MOE-001"]
    measure(pair, "int8", 200)
    assert pair("note", "--title", "The clock was wrong", "--supersedes", "MOE-000").code == 0
    assert pair("list", "--tried", "--json").data["tried"] == before
    assert pair("edit", "MOE-001", "--state", "void").code == 0
    assert pair("list", "--tried", "--json").data["tried"] == []


def test_what_was_discarded_or_failed_beside_its_base_was_tried(cli: Cli, folder: Path) -> None:
    """An idea whose output is another, and one that somebody discarded though its question is open."""
    script = "[ $1 = bad ] && c=2 || c=1; echo RESULT tflops=$((1000 + $$ % 50)) checksum=$c"
    (folder / "bench.sh").write_text(script)
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max", "--gate", "same checksum").code == 0
    for other, pairs, code in (("bad", "4", 1), ("idea", "2", 0)):
        ab = ("ab", "--axis", f"mode=a,{other}", "--pairs", pairs)
        assert cli(*ab, "--", "sh", "bench.sh", "{mode}").code == code
    bad, *_ = cli("list", "--tried", "--json").data["tried"]
    assert (bad["entry"], bad["kind"], bad["config"]) == ("MOE-000", "failure", {"mode": "bad"})
    assert bad["reason"] == "gate same checksum: it is 2, not 1"
    assert cli("discard", "MOE-001", "--why", "Not worth its lines.").code == 0
    found = [(i["entry"], i["outcome"], i["reason"]) for i in cli("list", "--tried", "--json").data["tried"]]
    assert found[1:] == [("MOE-001", "discarded", "Not worth its lines.")]
    assert "discarded: Not worth its lines." in cli("list", "--tried").out
    assert cli("keep", "MOE-001", "--why", "It is simpler.").code == 0
    assert [i["entry"] for i in cli("list", "--tried", "--json").data["tried"]] == ["MOE-000"]
    # How often it failed is counted once.
    text = cli("compare", "MOE-000").out
    assert text.count("failed") == 1
    assert "bad failed in 1 pair: gate same checksum" in text
    [answer] = [one for one in cli("status", "--json").data["answers"] if one["id"] == "MOE-000"]
    assert answer["lacks"] == "gate"
    assert answer["why"] == "it needs a change of bad; if checksum may differ: logbook edit MOE-000 --free checksum"
    failed = cli("run", "--json", "--", "false").data["id"]
    assert [one["id"] for one in cli("status", "--json").data["failed"]] == [failed]
    assert cli("discard", failed, "--why", "Wrong.").code == 0
    assert cli("status", "--json").data["failed"] == []
    # Beside what the comparison found, too.
    same = ("ab", "--axis", "mode=a,same", "--pairs", "10", "--min-effect", "20%", "--", "sh", "bench.sh", "{mode}")
    assert cli(*same).code == 0
    assert cli("discard", "MOE-006", "--why", "No gain.").code == 0
    tried = [
        (i["outcome"], i["reason"]) for i in cli("list", "--tried", "--json").data["tried"] if i["entry"] == "MOE-006"
    ]
    assert [outcome for outcome, _ in tried] == ["no difference", "discarded"]
    assert tried[1][1] == "No gain."


def test_a_side_that_failed_by_its_variable_has_not_finished_since(cli: Cli) -> None:
    assert cli("start", "moe", "--prefix", "MOE", "--metric", "tflops:max").code == 0
    bench = ("--", "sh", "-c", 'test -z "$MODE" && echo METRIC tflops=1')
    assert cli("ab", "--axis", "env:MODE=,bad", "--max-pairs", "1", *bench).code == 1
    assert cli("run", *bench).code == 0
    tried = cli("list", "--tried", "--json").data["tried"]
    assert [(item["entry"], item["since"]) for item in tried if item["command"]] == [("MOE-000", None)]
