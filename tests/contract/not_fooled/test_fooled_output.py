"""Output as programs print it: which lines are results, and what is noted about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli
from tests.stored import at

Run = Callable[..., Any]
METRICS = ("loss:min", "val_bpb:min", "time_s:min:s", "train/CrossEntropyLoss:min")


@pytest.fixture
def run_of(cli: Cli, folder: Path) -> Run:
    """The record of a run whose command prints these lines on stdout, and on stderr what `err` says."""
    declared = [word for metric in METRICS for word in ("--metric", metric)]
    assert cli("start", "t", "--prefix", "T", "--matrix", "topk=2,8", *declared).code == 0

    def run(*lines: str, err: str = "", code: int = 0) -> Any:
        (folder / "out").write_text("".join(f"{line}\n" for line in lines))
        (folder / "err").write_text(err)
        done = cli("run", "--json", "--", "sh", "-c", f"cat out; cat err >&2; exit {code}")
        assert done.code == code, done.err
        [entry] = json.loads(cli("list", "--json").out)["data"][-1:]
        return json.loads(at(folder / f"logbooks/t/runs/{entry['id']}/01/run.json").read_text())

    return run


def values(run: Any, name: str) -> list[list[float]]:
    return [row["metrics"][name]["samples"] for row in run.get("rows", []) if name in row.get("metrics", {})]


def said(run: Any) -> str:
    assert {problem["grade"] for problem in run.get("problems", [])} <= {"noted"}
    return "\n".join(problem["text"] for problem in run.get("problems", []))


RANKS = {
    "[rank0]: ": "0",
    "[rank3]:": "3",
    "[default0]:": "0",
    "[Rank 2] ": "2",
    "rank 1: ": "1",
    "0: ": "0",
    " 12: ": "12",
    "[1,0]<stdout>:": "0",
    "[1,3]<stdout>: ": "3",
    "worker-1  | ": "1",
    "[rank1]:[2026-01-01 10:00:00,123] INFO: ": "1",
    "0: [rank0]: ": "0",
    "[2023-05-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] ": "0",
    "[rank5]:I0101 10:00:00.123456 140200 train.py:42] ": "5",
}
OTHERS = [
    "(pid=1, ip=10.0.0.1) ",
    "(TrainWorker pid=1) ",
    "2026-01-01 10:00:00,123 INFO ",
    "2026-01-01T10:00:00.123456Z ",
    "2026-01-01 10:00:00,123 - train - INFO - ",
    "01/01/2026 10:00:00 - INFO - __main__ -   ",
    "2026-01-01 10:00:00.123 | INFO     | __main__:main:12 - ",
    "[2026-01-01 10:00:00] [INFO] ",
    "[2026-01-01 10:00:00,123][__main__][INFO] - ",
    "[10:00:00] INFO     ",
    "I0101 10:00:00.123456 140200 train.py:42] ",
    "INFO:root:",
    "INFO:train.sub:",
    "[INFO] ",
    "INFO - ",
    "\ufeff",
    "\x1b[36m[INFO]\x1b[0m ",
    "  ",
]


@pytest.mark.parametrize(
    "form", ["METRIC loss=0.5", "RESULT loss=0.5", 'RESULT_JSON {"metrics": {"loss": 0.5}}', "loss: 0.5", "loss=0.5"]
)
def test_a_prefix_is_set_aside_and_the_rank_kept(run_of: Run, form: str) -> None:
    for prefix, rank in {**RANKS, **dict.fromkeys(OTHERS)}.items():
        run = run_of(prefix + form)
        assert (values(run, "loss"), said(run)) == ([[0.5]], ""), prefix
        assert run["rows"][0].get("labels", {}).get("rank") == rank, prefix


@pytest.mark.parametrize(
    "line",
    [
        "my METRIC loss=0.5",
        "+ echo METRIC loss=0.5",
        "echo 'METRIC loss=0.5'",
        "baseline: METRIC loss=0.5",
        "[size 10] METRIC loss=0.5",
        "[train] METRIC loss=0.5",
        "12:METRIC loss=0.5",
    ],
)
def test_what_is_no_such_prefix_is_not_guessed(run_of: Run, line: str) -> None:
    assert "rows" not in run_of(line)


@pytest.mark.parametrize("form", ["RESULT loss={}", "METRIC loss={}", "loss: {}"])
def test_ranks_are_samples_of_one_case_and_far_ones_are_noted(run_of: Run, form: str) -> None:
    run = run_of(*(f"[rank{i}]: {form.format(v)}" for i, v in enumerate((0.037, 0.038, 0.0378, 2.421))))
    [row] = run["rows"]
    assert row["metrics"]["loss"]["samples"] == [0.037, 0.038, 0.0378, 2.421]
    assert row["labels"]["rank"] == "0,1,2,3"
    assert "4 lines of one case: 0.037 to 2.421" in said(run)
    near = run_of(*(f"[rank{i}]: METRIC loss={v}" for i, v in enumerate((0.037, 0.038, 0.037))))
    assert (values(near, "loss"), said(near)) == ([[0.037, 0.038]], "")


def test_our_own_lines_that_lie_far_apart_are_noted(run_of: Run) -> None:
    run = run_of("RESULT loss=0.037", "RESULT loss=0.038", "RESULT loss=0.0378", "RESULT loss=2.421")
    assert "4 lines of one case: 0.037 to 2.421" in said(run)
    assert "2 lines of one case: 0 to 3818" in said(run_of("METRIC loss=0", "METRIC loss=3818"))
    assert "2 lines of one case: -1 to 1" in said(run_of("METRIC loss=-1", "METRIC loss=1"))
    # A log-likelihood; two cases; samples that one row states.
    assert said(run_of("METRIC loss=-1.0", "METRIC loss=-1.1")) == ""
    assert said(run_of("RESULT topk=2 loss=1", "RESULT topk=8 loss=9")) == ""
    assert said(run_of('RESULT_JSON {"metrics": {"loss": [1, 9, 2]}}')) == ""


def test_a_hyperparameter_of_the_name_rank_tells_cases_apart(run_of: Run) -> None:
    assert values(run_of("RESULT rank=8 loss=0.5", "RESULT rank=16 loss=0.4"), "loss") == [[0.5], [0.4]]


def test_plain_forms_of_declared_metrics(run_of: Run) -> None:
    run = run_of("---", "val_bpb:          0.997900", "peak_vram_mb:     45060.2")
    assert [row["metrics"] for row in run["rows"]] == [{"val_bpb": {"samples": [0.9979], "direction": "min"}}]
    assert ("observations" in run["rows"][0], said(run)) == (False, "")
    assert values(run_of("train/CrossEntropyLoss=0.0370"), "train/CrossEntropyLoss") == [[0.037]]
    timed = run_of("time_s =  12.5 s")["rows"][0]["metrics"]["time_s"]
    assert (timed["samples"], timed["unit"]) == ([12.5], "s")
    assert values(run_of("time_s: 12.5s"), "time_s") == [[12.5]]


@pytest.mark.parametrize(
    "line",
    ["the loss: 0.5", "loss: see below", "loss: 0.5 of 3", "best loss=0.5", "xloss: 0.5", '"loss": 0.5,', "loss"],
)
def test_prose_is_no_plain_form(run_of: Run, line: str) -> None:
    run = run_of(line)
    assert ("rows" in run, said(run)) == (False, "")


def test_a_plain_form_counts_only_where_the_run_says_nothing_else(run_of: Run) -> None:
    for line in ("METRIC loss=1", "RESULT loss=1", 'RESULT_JSON {"metrics": {"loss": 1}}'):
        assert values(run_of("loss: 3", line, "loss: 2"), "loss") == [[1]]
    for line in ("METRIC loss=nan", "RESULT loss=nan"):
        assert values(run_of(line, "loss: 2"), "loss") == []
    for line in ("RESULT step=1 loss=1", "METRIC loss=1 step=1", 'RESULT_JSON {"step": 1, "metrics": {"loss": 1}}'):
        assert values(run_of(line, "loss: 2"), "loss") == [[1]]


def test_the_last_of_several_counts_and_their_number_is_noted(run_of: Run) -> None:
    run = run_of("loss: 3", "loss: 2", "loss: 1")
    assert values(run, "loss") == [[1]]
    assert "loss: 3 lines without a step; the last one counts" in said(run)
    # A run that diverged has no loss.
    lost = run_of("loss: 3", "loss: nan")
    assert values(lost, "loss") == []
    assert "'nan' is not a measurement" in said(lost)


@pytest.mark.parametrize(
    ("lines", "over"),
    [
        (("step=100 loss=0.5", "step=200 loss=0.4"), "step"),
        (("epoch: 3, loss: 0.5", "epoch: 4, loss: 0.4"), "epoch"),
        (("Epoch 3/10 - loss: 0.5 - acc: 0.9", "Epoch 4/10 - loss: 0.4 - acc: 0.91"), "epoch"),
        (("step:100/1000 loss:0.5 lr:0.1 took:3ms", "step:200/1000 loss:0.4 lr:0.1 took:3ms"), "step"),
        (("2026-01-01 10:00:00,1 INFO step: 1 | loss: 0.5", "2026-01-01 10:00:01,1 INFO step: 2 | loss: 0.4"), "step"),
    ],
)
def test_with_a_step_they_are_a_curve(run_of: Run, lines: tuple[str, ...], over: str) -> None:
    run = run_of(*lines)
    [curve] = run["curves"]
    assert (curve["name"], curve.get("over", "step"), curve["count"], curve["value"]) == ("loss", over, 2, 0.4)
    assert (values(run, "loss"), said(run)) == ([[0.4]], "")


def test_a_second_value_is_no_unit(run_of: Run) -> None:
    run = run_of("METRIC time_s=0.85 cpu_s=0.84")
    metrics = run["rows"][0]["metrics"]
    assert (metrics["time_s"]["samples"], metrics["time_s"]["unit"], metrics["cpu_s"]["samples"]) == (
        [0.85],
        "s",
        [0.84],
    )
    assert "several values" in said(run)
    # What tells cases apart does so here, too.
    run = run_of("METRIC loss=0.5 topk=2", "METRIC loss=0.4 topk=8")
    assert [(row["config"], row["metrics"]["loss"]["samples"]) for row in run["rows"]] == [
        ({"topk": 2}, [0.5]),
        ({"topk": 8}, [0.4]),
    ]
    assert values(run_of("METRIC loss=0.5 lr=0.1", "METRIC loss=0.4 lr=0.2"), "loss") == [[0.5], [0.4]]


@pytest.mark.parametrize(
    "value", ["np.float64(0.9)", "tensor(0.9)", "tensor(0.9, device='cuda:0')", "Array(0.9, dtype=float32)", "0.9,"]
)
def test_a_number_with_its_type_is_read(run_of: Run, value: str) -> None:
    for form in ("METRIC loss={}", "loss: {}"):
        assert values(run_of(form.format(value)), "loss") == [[0.9]]
    assert values(run_of(f"RESULT loss={value}"), "loss") == ([] if " " in value else [[0.9]])


@pytest.mark.parametrize("value", ["181,873", "1_000", "tensor([0.9])", "12:30", "5/10", "1,5"])
def test_another_spelling_is_refused_with_a_hint(run_of: Run, value: str) -> None:
    for form in ("METRIC loss={}", "RESULT loss={}", "loss: {}"):
        run = run_of(form.format(value))
        assert values(run, "loss") == []
        assert "print a plain number, such as 181873 or 0.9" in said(run)


TRACEBACK = 'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n    f()\nValueError: bad shape\n'


def test_a_traceback_after_the_last_metric_is_noted(run_of: Run, cli: Cli) -> None:
    assert "ValueError: bad shape" in said(run_of("METRIC loss=1", err=TRACEBACK))
    assert "ValueError: bad shape" in said(run_of("loss: 1", *TRACEBACK.splitlines()))
    ranked = [f"[rank1]: {line}" for line in TRACEBACK.splitlines()]
    assert "ValueError: bad shape" in said(run_of("METRIC loss=1", ranked[0], "other", *ranked[1:]))
    # It was dealt with, since a result followed; or the exit says it already.
    group = "  + Exception Group Traceback (most recent call last):"
    assert values(run_of("METRIC loss=1", group, "time_s: 2"), "time_s") == [[2]]
    assert said(run_of(*TRACEBACK.splitlines(), "METRIC loss=1")) == ""
    assert said(run_of("METRIC loss=1", err=TRACEBACK, code=1)) == ""


def test_a_negative_time_is_noted(run_of: Run) -> None:
    for line in ("METRIC time_s=-0.62", "METRIC took=-0.62 s", "RESULT step_ms=1 time_s=-0.62", "time_s: -0.62"):
        assert "a time of -0.62" in said(run_of(line))
    assert said(run_of("METRIC gain_per_s=-1", "METRIC loss=-1", "METRIC score_min=-2")) == ""


def test_a_direction_against_the_unit_is_noted(run_of: Run, cli: Cli) -> None:
    assert "its direction is min, but its unit is ops/s" in said(run_of("METRIC loss=5 ops/s"))
    assert "but its unit is" not in said(run_of("METRIC time_s=5 s", "METRIC loss=5 nats", "METRIC val_bpb=5 ms/step"))


def test_a_file_of_results_may_begin_with_a_mark(run_of: Run, cli: Cli, folder: Path) -> None:
    run_of("METRIC loss=1")
    script = r"""printf '\357\273\277{"metrics": {"loss": 2}}' > $LOGBOOK_RESULT_FILE"""
    assert cli("run", "--", "sh", "-c", script).code == 0
    assert values(json.loads(at(folder / "logbooks/t/runs/T-001/01/run.json").read_text()), "loss") == [[2]]


@pytest.mark.parametrize(
    "form", ["METRIC loss={} step={}", "step={1} loss={0}", 'RESULT_JSON {{"step": {1}, "metrics": {{"loss": {0}}}}}']
)
def test_curves_of_ranks_are_samples_of_one_case(run_of: Run, form: str) -> None:
    run = run_of(*(f"[rank{rank}]: {form.format(rank + step, step)}" for step in (1, 2) for rank in (0, 1, 9)))
    [row] = run["rows"]
    assert (row["metrics"]["loss"]["samples"], row["labels"]["rank"]) == ([2, 3, 11], "0,1,9")
    assert [curve["count"] for curve in run["curves"]] == [2, 2, 2]
    assert said(run) == "loss: 3 lines of one case: 2 to 11"


def test_a_line_of_labels_belongs_to_the_rows_whose_config_agrees(run_of: Run) -> None:
    run = run_of("RESULT backend=gmm", "RESULT topk=2 loss=1", "RESULT topk=8 loss=1", "RESULT topk=8 shape=wide")
    assert [row["labels"] for row in run["rows"]] == [{"backend": "gmm"}, {"backend": "gmm", "shape": "wide"}]
    assert said(run) == ""


@pytest.mark.parametrize("config", ["RESULT topk=2", 'RESULT_JSON {"config": {"topk": 2}}'])
def test_a_line_of_config_is_that_of_the_curves(run_of: Run, config: str) -> None:
    run = run_of(config, "RESULT backend=gmm", "METRIC loss=2 step=1", "METRIC loss=1 step=2", "METRIC time_s=3")
    assert [(row["config"], {*row["metrics"]}) for row in run["rows"]] == [({"topk": 2}, {"loss", "time_s"})]
    assert run["rows"][0]["labels"] == {"backend": "gmm"}


def test_config_that_json_states_is_that_of_the_lines(run_of: Run) -> None:
    run = run_of('RESULT_JSON {"config": {"tile": [16, 4]}}', "METRIC loss=1", "RESULT time_s=2")
    assert [(row["config"], {*row["metrics"]}) for row in run["rows"]] == [({"tile": "[16,4]"}, {"loss", "time_s"})]
