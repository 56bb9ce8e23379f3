"""Tiles of one case: what rules them out, how they are timed, what is named and what is kept."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.cli import main
from bench_core.cli.tune import NONE_BETTER
from bench_core.errors import UsageError
from bench_core.gmm.tile import RowSizes, Tile, ladder
from bench_core.gmm.work import Products, ladder_work, tile_work
from bench_core.harness.case import Case
from bench_core.harness.record import Environment, Row
from bench_core.routing.capacity import Capacity, CapacityPolicy
from bench_core.routing.distribution import RoutingRequest
from bench_core.shapes import BenchPass, MoeShape
from bench_core.studies.ratios import Ratio
from bench_core.studies.rounds import orders, time_in_turn, with_others
from bench_core.timing.measure import compile_program
from bench_core.tune.candidates import (
    DEFAULT,
    FUSED_KERNEL,
    Candidate,
    candidates,
    refuse_fused_names,
    rule_out,
    times_as_fast,
    words_of,
)
from bench_core.tune.confirm import Confirmation, confirm
from bench_core.tune.kept import Tuned, cache_file, keep, kept, key_of, require_writable
from bench_core.tune.measure import device_rows

SHAPE = MoeShape(tokens=128, hidden=256, mlp_dim=128, experts=4, topk=2)
TINY = ["tune", "--tokens", "24", "--hidden", "8", "--mlp-dim", "8", "--experts", "2"]


def case_of(backend: str, **changes: object) -> Case:
    given: dict[str, object] = {"shape": SHAPE, "routing": RoutingRequest(), "backend": backend}
    return Case(**(given | changes))  # type: ignore[arg-type]


@given(groups=st.lists(st.integers(0, 70), min_size=1, max_size=6), m=st.sampled_from([8, 16, 64]))
def test_a_tile_computes_whole_blocks_of_every_group_that_it_touches(groups: list[int], m: int) -> None:
    products = Products(widths=((256, 200),), backward=True, item_bytes=2)
    work = tile_work(groups, products, Tile(m=m, k=256, n=128))
    ends = list(itertools.accumulate(groups, initial=0))
    touched = sum(len({row // m for row in range(start, end)}) for start, end in itertools.pairwise(ends))
    # 200 columns are two blocks of 128; contracted they are one block of 256.
    computed = touched * m * (256 * 256 + 256 * 256 + 256 * 256)
    assert work.padding == pytest.approx(computed / max(1, 3 * sum(groups) * 256 * 200))


def test_what_a_tile_moves() -> None:
    products = Products(widths=((256, 128),), backward=False, item_bytes=2)
    # Two row tiles of one group. Rows: 2 x 64 x 256; result: 2 x 64 x 128 float32.
    rows, result = 2 * 64 * 256 * 2, 128 * 128 * 4
    whole = tile_work([128], products, Tile(m=64, k=256, n=128))
    assert (whole.padding, whole.moved_bytes) == (1.0, rows + 256 * 128 * 2 + result)
    # With the contracted width in two blocks the matrix is fetched again for the second row tile.
    halves = tile_work([128], products, Tile(m=64, k=128, n=128))
    assert halves.moved_bytes == rows + 2 * 256 * 128 * 2 + result


def test_what_a_ladder_computes_and_moves() -> None:
    products = Products(widths=((16, 8),), backward=False, item_bytes=4)
    rungs = ladder(100, 2, row_tiles=RowSizes(sizes=(32, 8)))
    # 70 rows: 32, 32 and one of 8; 30 rows: one of 32.
    work = ladder_work([70, 30], products, rungs)
    assert work.padding == pytest.approx(104 / 100)
    assert work.moved_bytes == 4 * 16 * 8 * 4 + 104 * (16 * 4 + 8 * 4)


def test_candidates_are_the_default_and_what_was_asked_for() -> None:
    case = case_of("gmm")
    found = candidates(case, ["256,128,128", "128,128,128", "256,128,128"], rows=256, groups=4)
    assert [str(one) for one in found] == ["default", "256,128,128"]
    found = candidates(case, ["m=64,128", "n=256"], rows=256, groups=4)
    assert {str(one) for one in found[1:]} == {f"{m},{k},256" for m in (64, 128) for k in (128, 512, 1024)}
    assert len(candidates(case, [], rows=256, groups=4)) == 27
    found = candidates(case_of("tiled"), ["64,16"], rows=256, groups=4)
    assert found == [DEFAULT, Candidate(row_tiles=RowSizes(sizes=(64, 16)))]


@given(rows=st.integers(1, 1 << 20), groups=st.integers(1, 256))
def test_every_row_tile_of_the_own_grid_is_usable(rows: int, groups: int) -> None:
    assert candidates(case_of("tiled"), [], rows=rows, groups=groups)[0] == DEFAULT


@pytest.mark.parametrize(
    ("backend", "word", "message"),
    [
        ("gmm", "q=8", "--grid q=8 is not an axis of a tile"),
        ("gmm", "m=8,many", "--grid m=8,many is not an axis of a tile"),
        ("gmm", "m=9", "--tile 9,128,128 is not a usable tile"),
        ("tiled", "m=8", "--grid m=8 is an axis, and row tiles have none"),
        ("tiled", "8,9", "--grid 8,9 are not usable tiles"),
    ],
)
def test_words_that_are_no_candidates(backend: str, word: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        candidates(case_of(backend), [word], rows=256, groups=4)
    assert refused.value.message == message


@pytest.mark.parametrize("name", FUSED_KERNEL)
def test_parameters_of_the_fused_kernel_are_explained(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is a parameter of a fused kernel") as refused:
        refuse_fused_names(["128,128,128", f"{name}=64"])
    assert all(f"{one}: " in refused.value.cause for one in FUSED_KERNEL)


def test_what_is_clearly_worse_is_ruled_out_with_the_reason() -> None:
    case = case_of("gmm", shape=MoeShape(tokens=128, hidden=256, mlp_dim=256, experts=4, topk=2))
    words = ["64,256,128", "64,128,128", "64,512,128", "512,512,512"]
    found = candidates(case, words, rows=256, groups=4)
    out = {str(one.candidate): one.out for one in rule_out(case, found, [64, 64, 64, 64])}
    assert (out["default"], out["64,256,128"]) == (None, None)
    assert out["64,512,128"] == (
        "64,256,128 does less: computes 1.00 times the model FLOPs, not 2.00, and moves 3.0 MiB, not 5.2"
    )
    assert out["512,512,512"] is not None
    assert out["512,512,512"].startswith("computes ")
    assert {one.out for one in rule_out(case, found, [64, 64, 64, 64], keep_all=True)} == {None}


def test_rows_of_the_device_with_the_most() -> None:
    shape = MoeShape(tokens=20, hidden=8, mlp_dim=8, experts=4, topk=1)
    case = case_of("tiled", shape=shape)
    assert device_rows(case, [2, 3, 10, 5], 1, 1) == [2, 3, 10, 5]
    assert device_rows(case, [2, 3, 10, 5], 2, 2) == [5, 3]
    # ceil(1.0 * 20 / 4) rows at the most.
    drop = case_of("tiled", shape=shape, capacity=Capacity(policy=CapacityPolicy.DROP, factor=1.0))
    assert device_rows(drop, [2, 3, 10, 5], 1, 1) == [2, 3, 5, 5]
    pad = case_of("tiled", shape=shape, capacity=Capacity(policy=CapacityPolicy.PAD, factor=1.0))
    assert device_rows(pad, [2, 3, 10, 5], 1, 1) == [5, 5, 5, 5]


def test_a_case_is_made_again_of_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Case] = []
    monkeypatch.setattr("bench_core.cli.hillclimb.run_cases", lambda request: made.extend(request.cases) or True)
    words = "--topk 3 --dtype float32 --distribution runs --run-alpha 0.9 --null-route-frac 0.25 --capacity-policy drop"
    words += " --capacity-factor 1.5 --shared-expert-dim 8 --shared-fused --bench-pass forward_backward --seed 4"
    words += " --compiler-flag xla_a=1 --compiler-flag xla_b=2 --parallel-mode ep --ep-impl ring --backend tiled"
    words += " --renormalize-real-after-null --remat-mode expert_mlp --quant-mode int8 --impl fast"
    several = "--backend tiled --router inside --dtype float32"
    cut = f"{several} --parallel-mode dp --dp-impl auto"
    chunks = f"{several} --parallel-mode ep --ep-impl all_to_all --chunks 2 --dp-size 2"
    staged = f"{several} --programs stages_async --parallel-mode dp --devices 4"
    for given_words in (*(one.split() for one in (words, cut, chunks, staged)), ["--backend", "gmm"]):
        made.clear()
        with pytest.raises(SystemExit):
            main(["hillclimb", *given_words])
        with pytest.raises(SystemExit):
            main(["hillclimb", *words_of(made[0])])
        assert made[1] == made[0]


def test_orders_are_drawn_anew_for_each_round() -> None:
    drawn = orders(5, rounds=40, seed=1)
    assert all(sorted(order) == list(range(5)) for order in drawn)
    assert drawn == orders(5, rounds=40, seed=1) != orders(5, rounds=40, seed=2)
    assert {order[0] for order in drawn} == set(range(5))
    assert orders(3, rounds=2, seed=None) == [[0, 1, 2], [0, 1, 2]]


def test_what_a_program_was_called_in_turn_with_is_part_of_its_case() -> None:
    row = Row(config={"topk": 2}, environment=Environment(devices=(), software={}, host=""))
    assert with_others(row, ["fused_ep"]).config == {"topk": 2, "in_turn": "alone"}
    assert with_others(row, ["default", "64,16"]).config["in_turn"] == "default + 64,16"
    many = [f"{number},{number}" for number in range(100, 120)]
    texts = [with_others(row, names).config["in_turn"] for names in (many, many, many[::-1])]
    assert texts[0] == texts[1] != texts[2]
    assert str(texts[0]).startswith("20 programs, ")


def test_candidates_are_called_in_turn_and_a_failing_one_leaves_the_others() -> None:
    def scaled(factor: float) -> Callable[..., dict]:
        return lambda x: {"y": x * factor}

    programs = {
        name: compile_program(scaled(factor), (jnp.ones(3),))
        for name, factor in (("a", 2.0), ("b", jnp.nan), ("c", 3.0))
    }
    ticks = itertools.count()
    timed = time_in_turn(programs, warmup=1, rounds=4, seed=0, alike=True, clock=lambda: float(next(ticks)))
    assert set(timed.samples) == {"a", "c"}
    assert {name: (len(one.warmup_s), len(one.time_s)) for name, one in timed.samples.items()} == {
        "a": (1, 4),
        "c": (1, 4),
    }
    assert "holds NaN" in str(timed.failed["b"])


def test_a_drift_that_meets_both_does_not_show() -> None:
    drift = [float(2**round_) for round_ in range(8)]
    one = times_as_fast([3 * slow for slow in drift], [2 * slow for slow in drift])
    assert (one.value, one.low, one.high, one.side) == (1.5, 1.5, 1.5, 1)


@pytest.mark.parametrize(
    ("ratios", "holds", "text"),
    [
        ([Ratio(value=1.2, low=1.1, high=1.3), Ratio(value=1.4, low=1.2, high=1.6)], True, "1.3 (1.1 to 1.6)"),
        ([Ratio(value=1.2, low=1.1, high=1.3), Ratio(value=1.1, low=0.9, high=1.2)], False, "1.15 (0.9 to 1.3)"),
        ([Ratio(value=1.2, low=1.1, high=1.3), Ratio(value=1.2)], False, "1.2"),
    ],
)
def test_a_tile_is_named_where_every_process_says_so(ratios: list[Ratio], holds: bool, text: str) -> None:
    found = Confirmation(ratios=tuple(ratios))
    assert (found.holds, str(found.together)) == (holds, text)
    assert not Confirmation(ratios=tuple(ratios), problem="it died").holds
    assert not Confirmation(ratios=()).holds


def test_what_is_kept_is_found_for_the_same_case_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tiles.jsonl"
    case = case_of("gmm", bench_pass=BenchPass.FORWARD_BACKWARD)
    key = key_of(case, platform="tpu", device_kind="TPU v5 lite")
    assert {"libtpu", "jax", "device_kind"} < set(key)
    with pytest.raises(UsageError, match="no tile is kept") as refused:
        kept(path, case, key)
    assert refused.value.cause == "nothing was tuned for backend gmm"
    first, last = (
        Tuned(candidate=Candidate(tile=Tile(m=m, k=128, n=128)), found="1.1", when="2026-11-22") for m in (64, 256)
    )
    keep(path, key, first)
    keep(path, key, last)
    assert kept(path, case_of("gmm"), key) == last
    assert last.label() == "tuned on 2026-11-22: 256,128,128, 1.1"
    with pytest.raises(UsageError, match="no tile is kept") as refused:
        kept(path, case_of("gmm"), key_of(case_of("gmm"), platform="tpu", device_kind="TPU v5 lite"))
    assert refused.value.cause == "the nearest one has bench_pass forward_backward, not forward"
    words = f"--backend gmm --tokens 128 --hidden 256 --experts 4 --cache {path}"
    assert refused.value.hint == f"run bench-core tune {words}"
    # Neither seed nor calls are part of it; the versions and the device are.
    assert key_of(case_of("gmm", seed=3, iters=9), platform="tpu", device_kind="x") == key_of(
        case_of("gmm"), platform="tpu", device_kind="x"
    )


DAMAGED = (
    *(b"{}", b"null", b"[]", b"\xff\xfe", b'{"key": {}, "tile": 7}', b'{"key": {"a": 1}, "tile": [8, 128, 128]'),
    b'{"key": {}, "tile": null, "row_tiles": [64, 16], "found": "1.1", "when": "2026-11-22"}',
    b'{"key": {}, "tile": null, "row_tiles": null, "found": null, "when": "2026-11-22"}',
    b'{"key": {}, "tile": "a,b", "row_tiles": null, "found": "1.1", "when": "2026-11-22"}',
)


@pytest.mark.parametrize("line", DAMAGED)
@pytest.mark.sample(3)
def test_a_damaged_line_costs_no_other_line(tmp_path: Path, line: bytes) -> None:
    """Also one without an end, behind which the next one is written."""
    path, case = tmp_path / "tiles.jsonl", case_of("gmm")
    key = key_of(case, platform="tpu", device_kind="TPU v5 lite")
    path.write_bytes(line)
    with pytest.raises(UsageError, match="no tile is kept") as refused:
        kept(path, case, key)
    assert refused.value.cause == "nothing was tuned for backend gmm; not readable there: line 1"
    tuned = Tuned(candidate=Candidate(tile=Tile(m=64, k=128, n=128)), found="1.1", when="2026-11-22")
    keep(path, key, tuned)
    assert kept(path, case, key).label() == "tuned on 2026-11-22: 64,128,128, 1.1; not readable there: line 1"


def test_a_folder_is_no_file_of_tiles(tmp_path: Path) -> None:
    case = case_of("gmm")
    with pytest.raises(UsageError, match="cannot be read"):
        kept(tmp_path, case, key_of(case, platform="tpu", device_kind="TPU v5 lite"))
    with pytest.raises(UsageError, match="cannot be written"):
        require_writable(tmp_path)
    require_writable(tmp_path / "new" / "tiles.jsonl")
    assert [*(tmp_path / "new").iterdir()] == []


def test_where_tiles_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_file({}) == cache_file({"XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache/bench-core/tiles.jsonl"
    assert cache_file({"XDG_CACHE_HOME": "/x"}) == Path("/x/bench-core/tiles.jsonl")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def command(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main(list(words))
        out, err = capsys.readouterr()
        return int(exit_.value.code or 0), out, err

    return command


BAD = {
    "no tile": ("tune --backend ragged_dot", "backend ragged_dot has no tile to tune for this case"),
    "interpreter": ("tune --backend gmm --confirm 0", "--backend gmm cannot be tuned on a CPU"),
    "fused": ("tune --grid bt=64", "--grid bt=64: bt is a parameter of a fused kernel"),
    "rounds": ("tune --rounds 0", "--rounds 0 is too small"),
    "few rounds": ("tune --rounds 6", "--rounds 6 are too few to name a tile"),
    "tile": ("tune --tile 8,128,128", "no such option: --tile"),
    "several": ("tune --impl both", "--impl both is not known"),
    "processes": ("tune --parallel-mode dp --processes 2", "--processes 2 is not served by this command"),
    "tiled ahead of time": ("tune --aot v5e --backend tiled", "backend tiled has no tile to tune for this case"),
    "int8": ("tune --quant-mode int8_real", "no backend with a tile serves this case"),
    "int8 of a backend with tiles": (
        "tune --quant-mode int8_real --backend tiled",
        "no backend with a tile serves this case",
    ),
    "int8 tuned": ("hillclimb --tile tuned --quant-mode int8_real", "no backend with a tile serves this case"),
    "target": ("tune --aot v3", "--aot v3 is not known"),
    "cache alone": ("hillclimb --cache x", "--cache x changes nothing without --tile tuned"),
    "both": ("hillclimb --tile tuned --row-tiles 8", "--tile tuned and --row-tiles cannot be given together"),
    "nothing to tune": ("hillclimb --tile tuned --backend ragged_dot", "backend ragged_dot has no tile to tune"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.sample(5)
def test_bad_requests(run: Callable[..., tuple[int, str, str]], name: str) -> None:
    words, message = BAD[name]
    code, out, err = run(*words.split())
    assert (code, out) == (2, "")
    assert err.splitlines()[-3].startswith(f"error: {message}")


def test_a_refusal_for_want_of_a_tile_proposes_what_works(run: Callable[..., tuple[int, str, str]]) -> None:
    _, _, err = run("tune", "--quant-mode", "int8_real")
    assert err.splitlines() == [
        "error: no backend with a tile serves this case",
        "  cause: backend tiled cannot serve --quant-mode int8_real, ragged_dot can; "
        "backend gmm cannot serve --quant-mode int8_real, ragged_dot can",
        "  next: bench-core hillclimb without --tile measures it",
    ]
    _, _, err = run("tune", "--backend", "ragged_dot")
    assert err.splitlines()[1:] == ["  cause: backends with a tile for it: tiled", "  next: use --backend tiled"]


def test_a_routing_without_memory_is_a_failed_row(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 29.8 GiB")

    monkeypatch.setattr("bench_core.tune.measure.make_routing", no_memory)
    code, out, err = run(*TINY)
    assert code == 1
    (row,) = (json.loads(line.removeprefix("RESULT_JSON ")) for line in out.splitlines())
    assert row["failed"] == {"reason": "out_of_memory", "message": "Unable to allocate 29.8 GiB"}
    assert err.splitlines()[-1] == "failed (out_of_memory): Unable to allocate 29.8 GiB"


def test_an_interrupted_search_says_that_nothing_is_kept(
    run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bench_core.tune.measure.measure", interrupted)
    cache = tmp_path / "tiles.jsonl"
    code, out, err = run(*TINY, "--cache", str(cache))
    assert (code, out, cache.exists()) == (130, "", False)
    assert err.splitlines() == [
        "interrupted: no tile was named, and nothing was kept for --tile tuned",
        "error: interrupted",
        "  cause: Ctrl-C",
        "  next: run it again",
    ]


@pytest.mark.slow
def test_candidates_are_checked_timed_and_compared(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where the fastest is not clearly faster, the default is kept, which --tile tuned then takes."""
    cache = tmp_path / "tiles.jsonl"
    monkeypatch.setattr("bench_core.cli.tune.times_as_fast", lambda default, other: Ratio(value=1.0, low=0.9, high=1.1))
    words = ["--rounds", "7", "--grid", "16,4", "--grid", "500,4", "--grid", "400,4", "--cache", str(cache)]
    code, out, _ = run(*TINY, "--dtype", "float32", *words)
    assert code == 0
    rows = [json.loads(line.removeprefix("RESULT_JSON ")) for line in out.splitlines() if "RESULT_JSON" in line]
    assert [row["config"].get("row_tiles") for row in rows] == [None, "16,4", "500,4"]
    assert {row["config"]["in_turn"] for row in rows} == {"default + 16,4 + 500,4"}
    for row in rows:
        assert len(row["metrics"]["time_s"]["samples"]) == row["config"]["iters"] == 7
        assert row["labels"]["check"] == "passed"
        assert row["labels"]["timed"] == "in turn with 2 other candidates, 7 rounds, order of seed 0"
    assert "tiles of 16,4 rows" in rows[1]["labels"]["ran"]
    table = [line for line in out.splitlines() if " | " in line]
    assert [line.split(" | ")[0] for line in table] == ["tile", "default", "16,4", "500,4", "400,4"]
    assert table[-1].endswith("not tried: the same program as 500,4")
    assert out.splitlines()[-2:] == [NONE_BETTER, f"kept for --tile tuned in {cache}"]
    (line,) = cache.read_text().splitlines()
    assert json.loads(line)["found"] == NONE_BETTER


@pytest.mark.slow
def test_a_tuned_tile_is_used_where_it_is_asked_for(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    cache = tmp_path / "tiles.jsonl"
    shape = MoeShape(tokens=24, hidden=8, mlp_dim=8, experts=2)
    case = case_of("tiled", shape=shape)
    found = Tuned(candidate=Candidate(row_tiles=RowSizes(sizes=(16, 4))), found="1.1 times as fast", when="2026-11-22")
    keep(cache, key_of(case, platform="cpu", device_kind="cpu"), found)
    words = ["hillclimb", *TINY[1:], "--iters", "1", "--tile", "tuned", "--cache", str(cache)]
    code, out, _ = run(*words)
    assert code == 0
    row = json.loads(out.splitlines()[-1].removeprefix("RESULT_JSON "))
    assert row["config"]["row_tiles"] == "16,4"
    assert row["labels"]["tile_from"] == "tuned on 2026-11-22: 16,4, 1.1 times as fast"
    assert "tiles of 16,4 rows" in row["labels"]["ran"]
    code, out, err = run(*words, "--topk", "1")
    assert (code, out) == (2, "")
    assert "cause: the nearest one has topk 2, not 1" in err


@pytest.mark.slow
@pytest.mark.wide
def test_a_fresh_process_times_the_two() -> None:
    shape = MoeShape(tokens=24, hidden=8, mlp_dim=8, experts=2)
    case = case_of("tiled", shape=shape, iters=8)
    outcome = confirm(case, Candidate(row_tiles=RowSizes(sizes=(16, 4))), processes=1, seed=0)
    assert outcome.problem is None
    (one,) = outcome.ratios
    assert one.low is not None
    assert one.low <= one.value
    broken = confirm(case, Candidate(tile=Tile(m=8, k=128, n=128)), processes=1, seed=0)
    assert broken.problem is not None
    assert "exit code 2" in broken.problem
