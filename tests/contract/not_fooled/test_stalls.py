"""Commands that print nothing any more, and would be waited for all night."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.seams import Store

HANG = "echo step 1; sleep 3600"


def test_a_silent_hang_ends_as_stalled_with_its_last_lines(started: Cli, folder: Path) -> None:
    began = time.monotonic()
    answer = started("run", "--stall", "0.5s", "--json", "--", "sh", "-c", HANG)
    assert answer.code == 124
    assert time.monotonic() - began < 5
    assert answer.data["runs"][0]["state"] == "stalled"
    [run] = Store(folder).runs("MOE-000")
    assert run.output["tail"] == ["step 1"]
    assert run.stall_s == 0.5
    page = started("show", "MOE-000").out
    assert "stalled" in page
    assert "step 1" in page
    assert "stalled" in started("status").out
    assert "0.5 s without output" in started("list", "--tried").out
    assert "stalled" in started("list", "--state", "stalled").out


def test_a_command_that_prints_now_and_then_goes_on(started: Cli) -> None:
    script = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done; echo RESULT tflops=1 >&2"
    assert started("run", "--stall", "0.8s", "--", "sh", "-c", script).code == 0


def test_output_on_stderr_is_output(started: Cli) -> None:
    script = "for i in 1 2 3 4 5 6; do printf . >&2; sleep 0.2; done"
    assert started("run", "--stall", "0.8s", "--", "sh", "-c", script).code == 0


def test_the_first_limit_counts(started: Cli) -> None:
    answer = started("run", "--stall", "20s", "--timeout", "0.5s", "--json", "--", "sh", "-c", HANG)
    assert (answer.code, answer.data["runs"][0]["state"]) == (124, "timeout")
    answer = started("run", "--stall", "0.5s", "--timeout", "20s", "--json", "--", "sh", "-c", HANG)
    assert (answer.code, answer.data["runs"][0]["state"]) == (124, "stalled")


def test_what_a_stalled_run_printed_is_no_result(started: Cli) -> None:
    assert started("run", "--stall", "0.4s", "--", "sh", "-c", f"echo RESULT tflops=99; {HANG}").code == 124
    assert started("run", "--", "echo", "RESULT tflops=1").code == 0
    best = started("status", "--json").data["best"]
    assert [one["value"] for one in best] == [1.0]


def test_a_command_that_ignores_signals_ends_too(started: Cli) -> None:
    script = "trap '' INT TERM; echo step 1; while :; do sleep 0.1; done"
    answer = started("run", "--stall", "0.3s", "--json", "--", "sh", "-c", script)
    assert (answer.code, answer.data["runs"][0]["state"]) == (124, "stalled")


def test_a_side_that_hangs_ends_an_ab(started: Cli, folder: Path) -> None:
    script = 'echo RESULT tflops=$Q; [ "$Q" = 1 ] || sleep 3600'
    answer = started("ab", "--axis", "env:Q=1,2", "--stall", "0.5s", "--", "sh", "-c", script)
    assert answer.code == 124
    assert "better" not in answer.out
    assert "env:Q=2: stalled" in answer.out
    assert {run.stall_s for run in Store(folder).runs("MOE-000")} == {0.5}


@pytest.mark.parametrize("given", ["file", "option"])
def test_a_case_that_hangs_does_not_end_a_sweep(started: Cli, given: str, folder: Path) -> None:
    (folder / "b.sh").write_text('echo RESULT tflops=$1; [ "$1" = 2 ] && sleep 3600; true\n')
    limit = "stall_s: 0.5\n" if given == "file" else ""
    (folder / "one.yaml").write_text(
        f'name: one\nquestion: q\ncommand: [sh, b.sh, "{{k}}"]\naxes: {{k: [1, 2, 3]}}\nconfirm: 0\n{limit}'
    )
    options = ["--set", "stall_s=0.5"] if given == "option" else []
    answer = started("sweep", "one.yaml", *options, "--json")
    assert answer.data["failed"] == 1
    states = [run.exit.get("stalled", False) for run in Store(folder).runs("MOE-000")]
    assert states == [False, True, False]


def test_repeats_and_noise_take_the_limit(started: Cli, folder: Path) -> None:
    assert started("run", "--noise", "--repeat", "6", "--stall", "20s", "--", "echo", "RESULT tflops=1").code == 0
    assert {run.stall_s for run in Store(folder).runs("MOE-000")} == {20.0}


def test_a_detached_run_stalls(started: Cli) -> None:
    assert started("run", "--detach", "--stall", "0.5s", "--", "sh", "-c", HANG).code == 0
    assert started("wait", "--timeout", "20s").code == 124
    assert "stalled" in started("list").out


@pytest.mark.parametrize("text", ["0", "-1s", "soon"])
def test_what_is_no_time_is_refused(started: Cli, text: str) -> None:
    answer = started("run", f"--stall={text}", "--", "true")
    assert answer.code == 2
    assert "--stall" in answer.err
