"""`logbook ab --predict`: the values of an axis predicted, before any of them is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow

COMMAND = ("--", "bench-core", "hillclimb", "--devices", "4", "--topk", "2", "--ep-impl", "{axis}", "--iters", "3")


def verdicts(answer: str) -> list[str]:
    return [line for line in answer.splitlines() if " → " in line]


def test_an_ab_that_is_predicted(moe: Cli, folder: Path) -> None:
    done = moe("ab", "--predict", "v5p-8", "--axis", "ep_impl=psum,all_to_all,ring,ragged", "--repeat", "9", *COMMAND)
    maker = "libtpu 0.0.42.1, calibration seeds; model 1, 4 x TPU v5 of v5p-8"
    assert (done.code, done.out) == (
        0,
        "MOE-000: predicted for v5p-8, nothing was run\n"
        "  ep_impl=psum: predicted 8 ms (6.4 to 10.4), at least 3.2 ms; fits into HBM, VMEM not checked; "
        f"{maker}\n"
        "  ep_impl=all_to_all: predicted 12 ms (9.6 to 15.6), at least 4.8 ms; fits into HBM, VMEM not checked; "
        f"{maker}\n"
        "  ep_impl=ring: predicted 7.5 ms (6 to 9.75), at least 3 ms; fits into HBM, VMEM not checked; "
        f"{maker}\n"
        "  ep_impl=ragged: predicted nothing: unsupported: ragged is not compiled here; fits into HBM, VMEM not "
        f"checked; {maker}\n"
        "ep_impl=psum → ep_impl=all_to_all: loses, 0.67 times as fast by the model"
        " (from 1.2 on a direction is claimed)\n"
        "ep_impl=psum → ep_impl=ring: undecided, 1.07 times as fast by the model (a ratio below 1.2 decides nothing)\n"
        "ep_impl=psum → ep_impl=ragged: no prediction (B: unsupported: ragged is not compiled here)\n"
        "next: logbook ab --axis ep_impl=psum,ring,ragged --continues MOE-000 --repeat 9 -- bench-core hillclimb "
        "--devices 4 --topk 2 --ep-impl '{axis}' --iters 3\n",
    )
    assert done.err.splitlines() == [
        "[1/4] ep_impl=psum: predicted 8 ms (6.4 to 10.4)",
        "[2/4] ep_impl=all_to_all: predicted 12 ms (9.6 to 15.6)",
        "[3/4] ep_impl=ring: predicted 7.5 ms (6 to 9.75)",
        "[4/4] ep_impl=ragged: predicted nothing: unsupported: ragged is not compiled here",
    ]
    [line] = moe("list", "--json").data
    assert (line["kind"], line["runs"], line["confidence"]) == ("prediction", 4, None)
    assert line["title"] == "Prediction for v5p-8: A/B of ep_impl: psum against all_to_all and ring and ragged"
    assert not (folder / "logbooks/moe/runs/MOE-000/05").exists()


@pytest.mark.parametrize(
    ("axis", "value", "said", "runs"),
    [
        ("ep_impl=all_to_all,ring", "{axis}", "wins, 1.60 times as fast by the model", True),
        ("ep_impl=ring,all_to_all", "{axis}", "loses, 0.62 times as fast by the model", False),
        ("pack=argsort,tuple_sort", "psum", "same program, 1.00 times as fast by the model", False),
        ("tokens=8,1000000", "psum", "does not fit (B)", False),
    ],
)
def test_each_word_and_what_is_next(moe: Cli, axis: str, value: str, said: str, runs: bool) -> None:
    name = axis.partition("=")[0]
    flag = () if name == "ep_impl" else (f"--{name}", "{axis}")
    done = moe("ab", "--predict", "v5p-8", "--axis", axis, "--", "bench-core", "hillclimb", "--ep-impl", value, *flag)
    assert done.code == 0
    [verdict] = verdicts(done.out)
    assert f": {said}" in verdict
    last = done.out.splitlines()[-1]
    assert last.startswith(
        "next: logbook ab --axis" if runs else "next: nothing to run: no value can win by the model ("
    )


def test_directions_of_an_ab_are_checked(moe: Cli) -> None:
    axis = "ep_impl=psum,all_to_all"
    assert moe("ab", "--predict", "v5p-8", "--axis", axis, *COMMAND).code == 0
    assert moe("ab", "--axis", axis, "--repeat", "1", *COMMAND).code == 0
    tally = moe("predictions", "--json").data["tally"]
    assert (tally["checked"], tally["directions_checked"], tally["directions_right"]) == (2, 1, 1)
    [direction] = moe("predictions", "--json").data["directions"]
    assert direction == {
        "entry": "MOE-000",
        "base": "ep_impl=psum",
        "other": "ep_impl=all_to_all",
        "word": "loses",
        "ratio": pytest.approx(2 / 3),
        "measured_ratio": pytest.approx(2 / 3),
        "right": True,
        "counts": True,
    }


def test_values_with_commas_and_a_flag_that_is_left_out(moe: Cli) -> None:
    flags = ("--ep-impl", "psum", "--row-tiles", "{axis}")
    axis = 'row_tiles=null,"16,4"'
    done = moe("ab", "--predict", "v5p-8", "--axis", axis, "--", "bench-core", "hillclimb", *flags)
    assert [line.partition(" (")[0] for line in verdicts(done.out)] == [
        "row_tiles=null → row_tiles=16,4: same program, 1.00 times as fast by the model"
    ]
    axis = "ep_impl=null,ring,all_to_all"
    done = moe("ab", "--predict", "v5p-8", "--axis", axis, "--", "bench-core", "hillclimb", "--ep-impl", "{axis}")
    assert "→ ep_impl=all_to_all: loses, 0.67 times as fast" in verdicts(done.out)[1]
    assert done.out.splitlines()[-1].startswith("next: logbook ab --axis ep_impl=null,ring --continues")


def test_an_axis_of_the_environment(moe: Cli) -> None:
    done = moe(
        *("ab", "--predict", "v5p-8", "--axis", "env:LIBTPU_INIT_ARGS=--a=1,--a=2"),
        *("--", "bench-core", "hillclimb", "--ep-impl", "psum"),
    )
    [verdict] = verdicts(done.out)
    assert verdict.startswith("LIBTPU_INIT_ARGS=--a=1 → LIBTPU_INIT_ARGS=--a=2: same program")


def test_what_is_refused(moe: Cli, folder: Path) -> None:
    axis = ("ab", "--json", "--predict", "v5p-8", "--axis", "a=1,2")
    assert moe(*axis, "--", "python", "x.py", "{axis}").error == {
        "code": "usage",
        "message": "this A/B cannot be predicted: its command is 'python x.py'",
        "cause": "the model knows the programs of bench-core hillclimb alone",
        "hint": "leave --predict out",
    }
    timed = ("--", "bench-core", "hillclimb", "--stage-timing", "--a", "{axis}")
    assert moe(*axis, *timed).error["message"] == "this A/B cannot be predicted with --stage-timing"
    target = ("--", "bench-core", "hillclimb", "--aot", "v5e-4", "--a", "{axis}")
    assert moe(*axis, *target).error["cause"] == "--predict names the slice"
    assert moe(*axis, "--id", "MOE-000", *COMMAND).error["message"] == "--predict and --id cannot be used together"
    assert moe(*axis, "--calibration", "own", *timed[:3], "--a", "{axis}").error == {
        "code": "not_found",
        "message": "no calibration own",
        "cause": "moe has none",
        "hint": "make one of rows that were measured on one device: logbook predict --calibrate ENTRY",
    }
    alone = moe("ab", "--json", "--calibration", "own", "--axis", "a=1,2", "--", "echo", "{axis}").error
    assert alone["message"] == "--calibration needs --predict"
    assert not list((folder / "logbooks/moe").glob("entries/*"))


def test_values_that_only_say_how_a_call_is_timed(moe: Cli) -> None:
    done = moe("ab", "--predict", "v5p-8", "--axis", "iters=3,5", "--", "bench-core", "hillclimb", "--iters", "{axis}")
    assert "same program: the values say how a call is timed, which a prediction tells nothing of" in done.out


def test_why_nothing_was_predicted(moe: Cli) -> None:
    done = moe("ab", "--predict", "nope", "--axis", "topk=2,4", "--", "bench-core", "hillclimb", "--topk", "{axis}")
    assert (done.code, done.out) == (
        2,
        "MOE-000: predicted for nope, nothing was run\n"
        "no prediction: nothing was predicted: --aot nope is not known\n"
        "next: logbook show MOE-000\n",
    )


def test_an_entry_predicts_for_one_slice(moe: Cli) -> None:
    error = moe("predict", "--json", "--", "--aot", "v5p-8", "--topk", "2", "--aot=v6e-8").error
    assert error["message"] == "--aot is given twice"


def test_why_it_failed_is_the_error_and_not_what_to_do_next(moe: Cli) -> None:
    assert moe("predict", "--title", "wrong", "--", "--aot", "nope").code == 2
    assert moe("list").out.splitlines()[-1].endswith("wrong  failed: error: --aot nope is not known")


def test_a_value_that_takes_longer_may_win_by_another_metric(moe: Cli) -> None:
    """Of other work a time does not rank rates, and of nothing else it says anything."""
    words = ("--axis", "topk=2,4", "--", "bench-core", "hillclimb", "--devices", "4", "--topk", "{axis}")
    done = moe("ab", "--predict", "v5p-8", "--metric", "tflops", *words)
    assert "topk=2 → topk=4: loses, 0.50 times" in done.out
    assert done.out.splitlines()[-2:] == [
        "cases that differ in topk do different work, so a time does not rank them by tflops",
        "next: logbook ab --axis topk=2,4 --continues MOE-000 --metric tflops -- bench-core hillclimb --devices 4 "
        "--topk '{axis}'",
    ]
    data = moe("ab", "--predict", "v5p-8", "--metric", "hbm_bytes", "--json", *words).data
    assert data["unranked"] == "a predicted time says nothing of hbm_bytes"
    data = moe("ab", "--predict", "v5p-8", "--metric", "time_s", "--json", *words).data
    assert (data["unranked"], data["next"][:15]) == (None, "nothing to run:")
