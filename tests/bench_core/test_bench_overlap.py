"""Separate DP programs against one EP program: the paths, their ratios, and the command."""

import csv
import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench_core.aot.targets import choose_target
from bench_core.blocks.modes import Programs, Router
from bench_core.cli import main
from bench_core.errors import NonFiniteOutput
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags
from bench_core.harness.environment import describe_environment
from bench_core.harness.record import VIRTUAL, Environment, Failure, Measurement, Row
from bench_core.harness.run import Extras, Progress, Ready, make_ready
from bench_core.parallel.spread import EpImpl, Parallel, ParallelMode, Spread
from bench_core.routing.distribution import RoutingRequest
from bench_core.shapes import DType, MoeShape
from bench_core.studies.paths import (
    ASYNC_FLAGS,
    PathName,
    against,
    crossovers,
    named,
    path_case,
    summary,
    with_ratio,
)
from bench_core.studies.ratios import Ratio
from bench_core.studies.together import run_together
from bench_core.timing.measure import Sampler
from tests.breadth import wide

REF, STAGED, FUSED, CHUNKED = PathName
COMMANDS = Path(__file__).parent / "data" / "seed_overlap_commands.tsv"
SHAPE = MoeShape(tokens=21, hidden=8, mlp_dim=6, experts=8)


def _fused(**options: object) -> Case:
    parallel = Parallel(mode=ParallelMode.EP, ep_impl=EpImpl.ALL_TO_ALL, chunks=2, ep_size=2, dp_size=2, devices=4)
    return Case(shape=SHAPE, routing=RoutingRequest(), backend="ragged_dot", parallel=parallel, **options)


@pytest.mark.parametrize(
    ("path", "spread", "programs"),
    [
        (REF, Spread(dp=4), Programs.ONE),
        (STAGED, Spread(dp=4), Programs.STAGES),
        (FUSED, Spread(dp=2, ep=2, impl=EpImpl.ALL_TO_ALL), Programs.ONE),
        (CHUNKED, Spread(dp=2, ep=2, impl=EpImpl.ALL_TO_ALL, chunks=2), Programs.ONE),
    ],
)
def test_paths_use_the_same_devices_and_begin_with_logits(path: PathName, spread: Spread, programs: Programs) -> None:
    case = path_case(path, _fused(), programs=Programs.STAGES, platform="cpu")
    assert (case.parallel.spread, case.programs, case.router) == (spread, programs, Router.INSIDE)
    assert case.parallel.devices == 4
    assert not case.compiler_flags


def test_only_chunks_on_a_tpu_are_sent_asynchronously() -> None:
    def flags(path: PathName, given: CompilerFlags) -> CompilerFlags:
        return path_case(path, _fused(compiler_flags=given), programs=Programs.ONE, platform="tpu").compiler_flags

    assert [bool(flags(path, CompilerFlags())) for path in PathName] == [False, False, False, True]
    assert flags(CHUNKED, CompilerFlags()) == ASYNC_FLAGS
    # What was asked for stays.
    name = ASYNC_FLAGS.pairs[0][0]
    assert flags(CHUNKED, CompilerFlags.parse([f"{name}=false"])).get(name) == "false"


def _row(*tflops: float) -> Row:
    environment = Environment(devices=(), software={}, host="here")
    metrics = {"tflops": Measurement(samples=tflops, unit="TF/s", direction="max")}
    return Row(config={"topk": 2}, environment=environment, metrics=metrics)


def _failed() -> Row:
    return replace(_row(), metrics={}, failed=Failure(reason="out_of_memory", message="no"))


def test_ratios_are_those_of_throughput_to_the_base() -> None:
    found = against(STAGED, {REF: _row(1.0), STAGED: _row(2.0), FUSED: _row(3.0), CHUNKED: _failed()})
    assert {path: one.value for path, one in found.items()} == {REF: 0.5, FUSED: 1.5}
    assert against(STAGED, {STAGED: _failed(), FUSED: _row(3.0)}) == {}
    assert against(STAGED, {FUSED: _row(3.0)}) == {}
    row = with_ratio(named(FUSED, _row(3.0)), STAGED, Ratio(value=1.5, low=1.25, high=1.75))
    assert list(row.config) == ["path", "topk"]
    wanted = {"ratio_to_staged_dp": 1.5, "ratio_to_staged_dp_low": 1.25, "ratio_to_staged_dp_high": 1.75}
    assert row.observations == wanted


ABOVE, BELOW = Ratio(value=1.2, low=1.1, high=1.3), Ratio(value=0.8, low=0.7, high=0.9)
OPEN = Ratio(value=1.1, low=0.9, high=1.2)
# The published order at 2048/2048: ahead up to topk 4, behind from 6 on.
PUBLISHED = {1: {FUSED: ABOVE}, 2: {FUSED: ABOVE}, 4: {FUSED: ABOVE}, 6: {FUSED: BELOW}, 8: {FUSED: BELOW}}


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        (PUBLISHED, "the order changes between topk 4 and 6"),
        ({1: {FUSED: ABOVE}, 2: {FUSED: OPEN}, 4: {FUSED: BELOW}}, "the order changes between topk 1 and 4"),
        ({1: {FUSED: ABOVE}, 2: {FUSED: ABOVE}}, "fused_ep is faster at every topk"),
        ({1: {FUSED: BELOW}, 2: {FUSED: OPEN}}, "staged_dp is faster at topk 1; undecided at topk 2; by the medians"),
        ({1: {FUSED: OPEN}, 2: {FUSED: OPEN}}, "undecided at topk 1, 2"),
        ({1: {FUSED: ABOVE}, 2: {}}, None),
    ],
)
def test_crossovers(ratios: dict[int, dict[PathName, Ratio]], said: str | None) -> None:
    found = crossovers(STAGED, ratios)
    if said is None:
        # One value of top-k has no order along it.
        assert found == {}
    else:
        assert found[FUSED].startswith(said)


def test_the_summary_is_a_table_and_what_it_shows() -> None:
    ratios = {1: {REF: Ratio(value=0.9), FUSED: ABOVE}, 4: {FUSED: BELOW}}
    assert summary(STAGED, ratios, platform="cpu") == [
        "times as fast as staged_dp (ratio of medians, 95% interval of this process):",
        "topk  ref_dp          fused_ep",
        "   1     0.9  1.2 (1.1 to 1.3)",
        "   4       -  0.8 (0.7 to 0.9)",
        "fused_ep: the order changes between topk 1 and 4",
        "no 95% interval from so few calls: --iters 7 gives one",
        VIRTUAL,
    ]
    assert summary(STAGED, PUBLISHED, platform="tpu")[-1] == "fused_ep: the order changes between topk 4 and 6"
    assert summary(STAGED, {1: {}}, platform="cpu") == []


BAD = {
    "--staged-parallel": "--staged-parallel changes nothing without staged_dp",
    "--path fused_ep --staged-dp": "--staged-dp changes nothing without staged_dp",
    "--path fused_ep --chunks 2": "--chunks changes nothing without chunked_ep",
    "--path chunked_ep": "--path chunked_ep needs --chunks",
    "--path half_dp": "--path half_dp is not known",
    "--chunks 2 --ep-impl ring": "--chunks 2 changes nothing with --ep-impl ring",
    "--impl both": "--impl both is not known",
    "--topk 2 --topk-list 1,2": "--topk and --topk-list cannot be given together",
    "--staged-dp --aot v5p": "staged_dp cannot be combined with --aot",
    "--run-alpha 0.9": "--run-alpha changes nothing in --distribution random",
    "--tile 128,128,128": "--tile 128,128,128 changes nothing without --backend gmm",
    "--profile x": "no such option: --profile",
    "--devices 1": "overlap needs at least two devices",
    "--experts 6 --devices 4": "6 experts cannot be spread over 4 devices",
}


@pytest.mark.parametrize("words", BAD)
@pytest.mark.sample(5)
def test_bad_requests_run_nothing(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["overlap", *words.split()])
    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (2, "")
    assert err.lower().startswith(f"error: {BAD[words]}".lower())
    assert len(err.splitlines()) == 3


def _commands() -> list[list[str]]:
    with COMMANDS.open(encoding="utf-8", newline="") as stream:
        return [shlex.split(row["options"]) for row in csv.DictReader(stream, delimiter="\t")]


def test_every_seed_command_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, int]] = []

    def take(cases: list[Case], paths: list[PathName], asked: object, *, named_backend: bool) -> bool:
        assert paths == [REF, STAGED, FUSED]
        assert not named_backend
        taken.extend((case.shape.hidden, case.shape.topk) for case in cases)
        return True

    monkeypatch.setattr("bench_core.cli.overlap._run", take)
    for words in _commands():
        main_exit = _exit(words)
        assert not main_exit
    every = [(hidden, topk) for hidden in (2048, 3072) for topk in (1, 2, 4, 6, 8)]
    assert sorted(taken) == sorted([*every, (2048, 2), (3072, 2)])


def _exit(words: list[str]) -> object:
    with pytest.raises(SystemExit) as exit_:
        main(["overlap", *words])
    return exit_.value.code


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", wide("--staged-dp --staged-parallel --chunks 2 --shared-expert-dim 3")])
def test_rows_of_every_path(
    more: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOGBOOK_RESULT_FILE", str(tmp_path / "rows.json"))
    words = "--tokens 21 --hidden 8 --mlp-dim 6 --experts 4 --topk-list 1,2 --iters 2 --warmup 0 --devices 4"
    code = _exit([*words.split(), "--backend", "ragged_dot", *more.split()])
    out, err = capsys.readouterr()
    assert not code, err
    rows = [json.loads(line.partition(" ")[2]) for line in out.splitlines() if line.startswith("RESULT_JSON ")]
    assert rows == json.loads((tmp_path / "rows.json").read_text())["rows"]
    paths, base = (list(PathName), STAGED) if more else ([REF, FUSED], REF)
    assert [(row["config"]["topk"], row["config"]["path"]) for row in rows] == [(k, p) for k in (1, 2) for p in paths]
    for row in rows:
        path, seen, labels = row["config"]["path"], row["observations"], row["labels"]
        assert next(iter(row["config"])) == "path"
        assert labels["check"] == "passed"
        # A row that was measured alone, or beside others, is another case.
        assert row["config"]["in_turn"] == " + ".join(paths)
        assert len(row["metrics"]["tflops"]["samples"]) == 2
        assert seen["tokens_per_s_per_device"] * 4 == pytest.approx(sum(row["metrics"]["tokens_per_s"]["samples"]) / 2)
        assert (f"ratio_to_{base}" in seen) == (path != base)
        # Two calls have no interval, and so nothing is decided.
        assert seen.get(f"ratio_to_{base}_low") is None
        last = row["config"]["topk"] == 2 and path != base
        assert labels.get("crossover", "").startswith("undecided at topk 1, 2") == last
        assert ("all started at once" in labels["ran"]) == (path == STAGED)
        assert ("in 2 chunks" in labels["ran"]) == (path == CHUNKED)
    assert f"timing 0 + 2 rounds of {len(paths)} programs in turn" in err
    assert err.splitlines()[-1] == VIRTUAL


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="no libtpu here")
@pytest.mark.slow
@pytest.mark.wide
def test_chunks_on_a_tpu_are_sent_while_others_are_computed(capsys: pytest.CaptureFixture[str]) -> None:
    from bench_core.aot.program import CompiledCase
    from bench_core.aot.run import aot_outcome, start_compiler

    compiler = start_compiler(choose_target("v5e"))
    starts = []
    for path in (FUSED, CHUNKED):
        outcome = aot_outcome(path_case(path, _fused(), programs=Programs.ONE, platform="tpu"), compiler)
        assert isinstance(outcome, CompiledCase)
        starts.append(outcome.executable.as_text().count(" all-to-all-start("))
    # Rows, their experts and their weights go, and rows come back, for each chunk.
    assert starts == [0, 2 * 4]
    sizes = "--tokens 21 --hidden 8 --mlp-dim 6 --experts 8 --chunks 2 --path chunked_ep --aot v5e"
    assert not _exit(sizes.split())
    line, _ = capsys.readouterr().out.splitlines()
    assert line.startswith("RESULT path=chunked_ep aot=v5e-4 ")
    assert f"compiler_flag={ASYNC_FLAGS}" in line.split()


def _together(*topks: int) -> dict[str, Case]:
    options = {"routing": RoutingRequest(), "backend": "ragged_dot", "dtype": DType.FLOAT32, "iters": 3}
    return {f"topk {topk}": Case(shape=replace(SHAPE, topk=topk), **options) for topk in topks}


@pytest.mark.slow
def test_cases_are_called_in_turn_and_one_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _together(1, 2)
    order: list[object] = []
    take: Callable[[Sampler], None] = Sampler.take

    def taking(self: Sampler) -> None:
        order.append(self)
        if len(order) == 4:
            raise NonFiniteOutput("lost", cause="a test", hint="none")
        take(self)

    monkeypatch.setattr(Sampler, "take", taking)
    said: list[str] = []
    first, second = run_together(cases, describe_environment(), [said.append] * 2, said.append)
    assert said[-1] == "timing 1 + 3 rounds of 2 programs in turn"
    one, other = order[:2]
    assert order == [one, other, one, other, one, one]
    assert len(first.metrics["time_s"].samples) == 3
    # The one that failed was called, too.
    assert first.config["in_turn"] == "topk 1 + topk 2"
    assert second.failed is not None
    assert second.failed.reason == "non_finite_output"


@pytest.mark.slow
@pytest.mark.wide
def test_a_case_without_memory_beside_the_others_is_timed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ready: list[Case] = []

    def make(case: Case, progress: Progress, extras: Extras) -> Ready:
        if case.shape.topk > 1:
            raise MemoryError("no room for more than one")
        made = make_ready(case, progress, extras)
        ready.append(case)
        return made

    monkeypatch.setattr("bench_core.studies.together.make_ready", make)
    said: list[str] = []
    environment = describe_environment()
    first, second = run_together(_together(1, 2), environment, [said.append] * 2, said.append)
    assert [len(row.metrics["time_s"].samples) for row in (first, second)] == [3, 3]
    assert "timed" not in first.labels
    assert [row.config["in_turn"] for row in (first, second)] == ["alone", "alone"]
    assert second.labels["timed"] == "alone: there was no memory for it beside the others"
    # One that was alone from the start is not tried again.
    failed, other = run_together(_together(2, 1), environment, [said.append] * 2, said.append)
    assert failed.failed is not None
    assert failed.failed.reason == "out_of_memory"
    assert other.failed is None
    assert ready == [*_together(1).values()] * 2
