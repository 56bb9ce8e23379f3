"""From a scheduled program to a prediction: programs of a few lines, and sums by hand."""

from dataclasses import replace

import pytest

from bench_core.accounting import count_flops
from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.prediction import ACROSS, Prediction, Word, outcome
from bench_core.accounting.roofline import Work
from bench_core.aot.roofline import case_work
from bench_core.aot.targets import TARGETS, choose_target
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags
from bench_core.parallel.spread import ALONE, Parallel, ParallelMode
from bench_core.predict.model import Accuracy, Calibration, calibration, seconds, slice_rates
from bench_core.predict.predicting import Predictor, costs_of
from bench_core.predict.scheduled import PUBLISHED_TILE, NotScheduled, Scheduled, peak_bytes, variables
from bench_core.predict.terms import Terms, terms_of
from bench_core.quant.mode import QuantMode
from bench_core.routing.distribution import Distribution, PackStrategy, RoutingRequest
from bench_core.shapes import BenchPass, DType, MoeShape

LIBTPU = "0.0.42.1"
PROGRAM = """HloModule jit_into, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

ENTRY %main (x: bf16[4096,2048], w: bf16[2048,8192]) -> bf16[4096,8192] {
  %x = bf16[4096,2048]{1,0} parameter(0)
  %w = bf16[2048,8192]{1,0} parameter(1)
  %y = bf16[4096,8192]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %z = bf16[4096,8192]{1,0} negate(%y)
  ROOT %all = bf16[4096,8192]{1,0} all-reduce(%z), replica_groups={{0,1,2,3}}, to_apply=%add
}
"""
MIB = 2**20
FLOPS = 2 * 4096 * 2048 * 8192
X, W, Y = 16 * MIB, 32 * MIB, 64 * MIB
CASE = Case(
    shape=MoeShape(tokens=512, hidden=128, mlp_dim=128, experts=8, topk=2, shared_expert_dim=0),
    routing=RoutingRequest(),
    backend="gmm",
    parallel=Parallel(mode=ParallelMode.EP),
).over(4)
NOTHING = Accuracy(rows=7, rank_correlation=0.5, median_error=0.25, inside=0)
PLAIN = Calibration(
    name="test",
    model=2,
    libtpu=LIBTPU,
    device_kind="TPU v5",
    matmul_factor=2.0,
    routed_factor=3.0,
    low=0.5,
    high=1.5,
    shortest=0.0,
    most_sent=1.0,
    published=NOTHING,
    command=NOTHING,
    without_move=0.5,
)
WORK = Work(arithmetic=Arithmetic.BFLOAT16, flops=459e6, hbm_bytes=1.0, ring_bytes=360e3)


def scheduled(hlo: str = PROGRAM, *, libtpu: str = LIBTPU, buffer_bytes: int = 2**30, moved: int = 0) -> Scheduled:
    return Scheduled(
        hlo=hlo,
        buffer_bytes=buffer_bytes,
        vmem="not checked",
        ran="this",
        libtpu=libtpu,
        processor_s=1.0,
        work=WORK,
        moved_before=moved,
    )


def said(
    case: Case = CASE,
    found: Scheduled | NotScheduled | None = None,
    *,
    target: str = "v5p-8",
    fitted: Calibration = PLAIN,
    published: bool = False,
) -> Prediction:
    predictor = Predictor(target=choose_target(target), calibration=fitted, published=published)
    found = scheduled() if found is None else found
    return predictor.of(case, costs_of(case, found) if isinstance(found, Scheduled) else found)


def test_terms_of_a_program() -> None:
    terms = terms_of(PROGRAM, buffer_bytes=7, tile=Tile(m=128, k=128, n=128))
    assert terms == Terms(
        matmul_flops=FLOPS,
        matmul_bytes=X + W + Y,
        kernel_flops=0,
        padded_flops=0,
        kernel_bytes=0,
        other_bytes=2 * Y,
        moved_bytes=0,
        sent_bytes={4: 2 * 3 * Y / 4},
        buffer_bytes=7,
        program=terms.program,
    )


TILED = replace(CASE, tile=PUBLISHED_TILE)


def test_the_estimate_is_the_sum_of_its_terms() -> None:
    found = said(TILED, scheduled(moved=360), published=True)
    # Two links of a chip on a slice of 2 x 2.
    send = 1.5 * Y / (2 * 90e9)
    terms = {"matmul": 2 * FLOPS / 459e12, "grouped_matmul": 0, "memory": 3 * 2 * Y / 2765e9, "send": send}
    assert found.terms == pytest.approx({**terms, "move_arguments": 2e-9})
    assert found.estimate == pytest.approx(sum(found.terms.values()))
    assert (found.low, found.high) == pytest.approx((0.5 * found.estimate, 1.5 * found.estimate))
    # That of the work, whatever the program does: 360 kB over two links.
    assert found.bound == pytest.approx(2e-6)
    assert (found.fits, found.vmem, found.refused, found.published) == (True, "not checked", None, True)
    assert [caution.split(",")[0] for caution in found.cautions] == [
        "the calibration's rows do not say which libtpu ran them",
        "the term move_arguments was chosen after the published rows were seen; without it their median error is 50.0%",
    ]


def test_a_matmul_may_be_bound_by_its_bytes() -> None:
    rates = slice_rates(choose_target("v5p-8"))
    assert rates is not None
    terms = terms_of(PROGRAM, buffer_bytes=7, tile=None)
    assert seconds(terms, rates).matmul == FLOPS / rates.flops
    assert seconds(replace(terms, matmul_flops=1), rates).matmul == (X + W + Y) / rates.hbm


@pytest.mark.parametrize("tile", ["128,128,128", "128,1024,2048", "512,1024,2048", "512,2048,2048"])
def test_a_bound_is_of_the_case(tile: str) -> None:
    """The same for every tile, backend and schedule, also of a program that does more."""
    more = PROGRAM.replace("negate(%y)", "negate(%y)\n  %again = bf16[4096,8192]{1,0} sqrt(%z)")
    cases = [replace(CASE, tile=Tile.parse(tile)), replace(CASE, backend="ragged_dot")]
    bounds = {said(case, scheduled(hlo)).bound for case in cases for hlo in (PROGRAM, more)}
    assert bounds == {said().bound}


def test_a_bound_counts_what_must_move() -> None:
    """By hand, from the routing that is drawn: 1024 tokens, so that every expert of every device has rows."""
    case = replace(CASE, shape=replace(CASE.shape, tokens=1024), bench_pass=BenchPass.FORWARD_BACKWARD)
    weights, x = 3 * 2 * 128 * 128 * 2, 1024 * 128 * 2 // 4
    work, _ = case_work(case)
    assert work.flops == count_flops(case.shape, case.bench_pass).total / 4
    # Weights and tokens are read; the output and all gradients are written.
    assert work.hbm_bytes == 2 * weights + 3 * x
    assert work.ring_bytes == 2 * 2 * 3 / 4 * 4 * x
    # A single token with two experts reads two of them, and one device at least one of these.
    few, _ = case_work(replace(CASE, shape=replace(CASE.shape, tokens=1)))
    assert few.hbm_bytes in (weights // 2 + 2 * 64, weights + 2 * 64)
    alone = replace(CASE, parallel=ALONE)
    assert (case_work(alone)[0].ring_bytes, said(alone).devices) == (None, 1)


@pytest.mark.parametrize(
    ("target", "group", "links", "most"),
    [
        ("v5p-8", 4, 2, 2),
        ("v5p-8", 2, 1, 2),
        # A cube of 4 x 4 x 4 chips closes to rings, so a group that fills a side has two links along it.
        ("v5p-128", 4, 2, 6),
        ("v5p-128", 16, 4, 6),
        ("v5p-128", 64, 6, 6),
        ("v5p-128", 2, 1, 6),
        ("v5e-8", 8, 2, 3),
        ("v6e-16", 16, 2, 4),
    ],
)
def test_links_of_a_group(target: str, group: int, links: int, most: int) -> None:
    rates = slice_rates(choose_target(target))
    assert rates is not None
    assert (rates.links(group), choose_target(target).links) == (links, most)


def test_every_target_has_rates_but_for_shared_links() -> None:
    for target in TARGETS.values():
        rates = slice_rates(target)
        assert rates is not None
        assert (rates.link is None) == (target.kind == "tpu7x")


@pytest.mark.parametrize(
    ("case", "outcome", "words"),
    [
        (CASE, scheduled(libtpu="0.0.99"), "libtpu 0.0.99 compiled it, and the calibration belongs to"),
        (CASE, scheduled(PROGRAM.replace("negate(%y)", "fft(%y)")), "the model does not know 1 x fft"),
        (replace(CASE, dtype=DType.FLOAT32), scheduled(), "no float32 peak of a TPU is published"),
        (replace(CASE, quant_mode=QuantMode.INT8), scheduled(), "no measurement of --quant-mode int8"),
    ],
)
def test_what_cannot_be_said_is_refused(case: Case, outcome: Scheduled, words: str) -> None:
    found = said(case, outcome)
    assert found.refused is not None
    assert words in found.refused
    assert (found.estimate, found.low, found.high) == (None, None, None)
    assert found.bound is not None
    assert found.bound > 0


def test_chips_whose_devices_share_links_have_no_estimate_of_collectives() -> None:
    found = said(target="tpu7x-8")
    assert found.refused == "the devices of a TPU7x chip share its links, and no rate of that is published"
    alone = "\n".join(line for line in PROGRAM.splitlines() if "all-reduce" not in line)
    assert said(found=scheduled(alone), target="tpu7x-8").estimate is not None


def test_what_no_row_tests_has_no_range() -> None:
    own = said(TILED)
    assert (own.low, own.high) == (None, None)
    assert own.cautions[0] == (
        "no range: of 7 published rows, estimates of this version's own programs have a median error of 25% and a rank "
        "correlation of 0.50 (with --published 25% and 0.50)"
    )
    tiled = said(published=True)
    assert tiled.cautions[0] == "no row that tests the model has tiles of 128,128,128: theirs are 512,1024,1024"
    fitted = replace(PLAIN, shortest=0.1, most_sent=0.2)
    case = replace(CASE, backend="ragged_dot")
    found = said(case, target="v5e-8", fitted=fitted, published=True)
    assert (tiled.low, found.low, found.high) == (None, None, None)
    assert [caution.split(",")[0] for caution in found.cautions] == [
        "the factors were fitted on TPU v5",
        "no row that tests the model took less than 100 ms",
        "another libtpu compiles ragged_dot otherwise; its weight gradient here costs many times gmm's",
        "collectives are 37% of the estimate",
        "the calibration's rows do not say which libtpu ran them",
    ]


def test_a_program_that_is_too_large_does_not_fit() -> None:
    large = said(found=scheduled(buffer_bytes=96 * 2**30))
    assert (large.fits, large.refused) == (False, None)
    refused = NotScheduled(reason="hbm", message="too\nlarge", libtpu=LIBTPU, processor_s=1.0)
    found = said(found=refused)
    assert (found.fits, found.refused, found.bound) == (False, "hbm: too large", None)
    small = said()
    assert [outcome(small, other).word for other in (large, found, small)] == [
        Word.DOES_NOT_FIT,
        Word.DOES_NOT_FIT,
        Word.SAME_PROGRAM,
    ]


def test_a_digest_is_of_operations() -> None:
    """Not of names, places in a source file, their order, or how a sort compares; but of tiles and settings."""

    def digest(text: str = PROGRAM, case: Case = CASE) -> str | None:
        return said(case, scheduled(text)).program

    lines = PROGRAM.splitlines()
    at = next(i for i, line in enumerate(lines) if " %x = " in line)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    renamed = PROGRAM.replace("%z", "%negated")
    same = [renamed, "\n".join(lines), PROGRAM.replace("negate(%y)", "negate(%y), metadata={}")]
    assert {digest(text) for text in same} == {digest()}
    other = [
        PROGRAM.replace("negate", "sqrt"),
        PROGRAM.replace("8192]", "8191]"),
        PROGRAM.replace("{0,1,2,3}", "{0,1},{2,3}"),
    ]
    assert digest() not in {digest(text) for text in other}
    tiles = [replace(CASE, tile=Tile(m=128, k=128, n=size)) for size in (128, 256)]
    flags = replace(CASE, compiler_flags=CompilerFlags.parse(["xla_a=1"]))
    # The values that it computes with decide how long a grouped matmul takes.
    values = [replace(CASE, seed=1), replace(CASE, routing=RoutingRequest(distribution=Distribution.RUNS))]
    assert len({digest(case=case) for case in (*tiles, flags, *values)}) == 5
    assert digest(case=replace(CASE, iters=9, pack_strategy=PackStrategy.TUPLE_SORT)) == digest()
    given = replace(scheduled(), variables="LIBTPU_INIT_ARGS=--xla_a=1")
    assert said(found=given).program != digest()


def test_variables_that_change_a_program() -> None:
    environ = {"XLA_FLAGS": "--xla_dump_to=/d --xla_a=1 --xla_dump_hlo_as_proto", "LIBTPU_INIT_ARGS": " ", "HOME": "/"}
    assert variables(environ) == "XLA_FLAGS=--xla_a=1"
    assert variables({"LIBTPU_INIT_ARGS": "--b --c=2"}) == "LIBTPU_INIT_ARGS='--b --c=2'"


def made(estimate: float, hidden: float = 0.0, *, devices: int = 4, published: bool = False) -> Prediction:
    return Prediction(
        target="v5p-8",
        device_kind="TPU v5",
        devices=devices,
        libtpu="1",
        model=2,
        estimate=estimate,
        hidden=hidden,
        published=published,
    )


def test_a_direction_holds_without_what_may_be_hidden() -> None:
    """Collectives that may run beside other work count in an estimate; a direction that hangs on them is none."""
    base = made(1.0)
    assert outcome(base, made(1.25)).word == Word.LOSES
    assert outcome(base, made(1.25, 0.05)).word == Word.LOSES
    found = outcome(base, made(1.25, 0.06))
    assert (found.word, found.ratio) == (Word.UNDECIDED, 0.8)
    assert found.why == "it is below 1.2 if collectives that may run beside other work take no time"
    assert outcome(made(1.25, 0.06), base).word == Word.UNDECIDED
    # What the faster side may hide makes it faster still.
    assert outcome(made(1.25), made(1.0, 0.5)).word == Word.WINS


@pytest.mark.parametrize("published", [True, False])
def test_several_devices_against_one(published: bool) -> None:
    """A direction takes more, and that one device is faster is never claimed."""
    decides = ACROSS[published]
    several = made(1.0, published=published)
    one = made(decides + 0.01, devices=1, published=published)
    assert outcome(one, several).word == Word.WINS
    assert outcome(several, one).word == Word.LOSES
    found = outcome(made(decides - 0.01, devices=1, published=published), several)
    assert (found.word, found.why) == (
        Word.UNDECIDED,
        f"a ratio below {decides} decides nothing between 1 and 4 devices",
    )
    small = outcome(made(0.1, devices=1, published=published), several)
    assert (small.word, small.why) == (
        Word.UNDECIDED,
        "no published row tests a claim that 1 of 4 devices are faster",
    )
    other = outcome(one, made(1.0, published=not published))
    assert other.word == Word.NO_PREDICTION
    assert other.why.startswith("they are not of one kind: published ")


def test_what_does_not_fit_into_vmem_before_it_is_scheduled() -> None:
    refused = NotScheduled(reason="vmem", message="too large", libtpu=LIBTPU, processor_s=1.0)
    found = said(found=refused)
    assert (found.fits, found.vmem, found.refused) == (None, "does not fit", "vmem: too large")
    assert outcome(said(), found).word == Word.DOES_NOT_FIT


def test_peak_bytes() -> None:
    vmem = "Memory Space: vmem (color=1)\nTotal bytes: 7\n"
    assert peak_bytes(f"Memory Space: default (color=0)\nTotal bytes: 2411592832 (2.25GiB)\n\n{vmem}") == 2411592832
    with pytest.raises(ValueError, match="no total"):
        peak_bytes(vmem)


def test_the_calibration_that_is_shipped() -> None:
    fitted = calibration()
    assert fitted.device_kind == choose_target("v5p-8").device_kind
    assert 1 <= fitted.matmul_factor < fitted.routed_factor < 3
    assert 0.5 < fitted.low < 1 < fitted.high < 2
