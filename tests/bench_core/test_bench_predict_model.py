"""From a scheduled program to a prediction: programs of a few lines, and sums by hand."""

from dataclasses import replace

import pytest

from bench_core.accounting.prediction import Prediction, Word, outcome
from bench_core.aot.targets import TARGETS, choose_target
from bench_core.errors import UsageError
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case
from bench_core.harness.compiler_flags import CompilerFlags
from bench_core.parallel.spread import Parallel, ParallelMode
from bench_core.predict import calibration
from bench_core.predict.calibration import Calibration, fit
from bench_core.predict.model import Seconds, bound, seconds
from bench_core.predict.predicting import Predictor
from bench_core.predict.scheduled import NotScheduled, Scheduled, peak_bytes, variables
from bench_core.predict.slice import slice_rates
from bench_core.predict.terms import Terms, terms_of
from bench_core.quant.mode import QuantMode
from bench_core.routing.distribution import Distribution, PackStrategy, RoutingRequest
from bench_core.shapes import DType, MoeShape

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
PLAIN = Calibration(
    name="test",
    model=1,
    libtpu=LIBTPU,
    measured_with=LIBTPU,
    device_kind="TPU v5",
    constants={"flops": 459e12, "hbm": 2765e9, "link": 90e9},
    matmul_factor=2.0,
    routed_factor=3.0,
    low=0.5,
    high=1.5,
    range_of="nothing",
    shortest=0.0,
    most_sent=1.0,
    tiles=("128,128,128",),
    rows=(),
)


def scheduled(hlo: str = PROGRAM, *, libtpu: str = LIBTPU, buffer_bytes: int = 2**30) -> Scheduled:
    return Scheduled(hlo=hlo, buffer_bytes=buffer_bytes, vmem="not checked", ran="this", libtpu=libtpu, processor_s=1.0)


def predictor(target: str = "v5p-8", fitted: Calibration = PLAIN) -> Predictor:
    return Predictor(target=choose_target(target), calibration=fitted)


def test_terms_of_a_program() -> None:
    terms = terms_of(PROGRAM, buffer_bytes=7, tile=Tile(m=128, k=128, n=128))
    assert terms == Terms(
        matmul_flops=FLOPS,
        int8_flops=0,
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
    assert Terms.of_json(terms.json()) == terms


def test_the_estimate_is_the_sum_of_its_terms() -> None:
    found = predictor().of(CASE, scheduled())
    # Two links of a chip on a slice of 2 x 2.
    send = 1.5 * Y / (2 * 90e9)
    terms = {"matmul": 2 * FLOPS / 459e12, "grouped_matmul": 0, "memory": 3 * 2 * Y / 2765e9, "send": send}
    assert found.terms == pytest.approx(terms)
    assert found.estimate == pytest.approx(sum(terms.values()))
    assert (found.low, found.high) == pytest.approx((0.5 * found.estimate, 1.5 * found.estimate))
    assert found.bound == pytest.approx(send)
    assert (found.fits, found.vmem, found.refused, found.cautions) == (True, "not checked", None, ())


def test_a_matmul_may_be_bound_by_its_bytes() -> None:
    rates = slice_rates(choose_target("v5p-8"))
    assert rates is not None
    terms = terms_of(PROGRAM, buffer_bytes=7, tile=None)
    assert seconds(terms, rates).matmul == FLOPS / rates.flops
    assert seconds(replace(terms, matmul_flops=1), rates).matmul == (X + W + Y) / rates.hbm
    # Everything overlaps in the bound, and integers have a peak of their own.
    alone = replace(terms, sent_bytes={}, int8_flops=FLOPS, matmul_bytes=0, other_bytes=0)
    assert bound(alone, rates) == FLOPS / 918e12


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
    assert (rates.links(group), rates.all_links) == (links, most)


def test_every_target_has_rates_but_for_shared_links() -> None:
    for target in TARGETS.values():
        rates = slice_rates(target)
        assert rates is not None
        assert (rates.link is None) == (target.kind == "tpu7x")


@pytest.mark.parametrize(
    ("case", "outcome", "fitted", "words"),
    [
        (CASE, scheduled(libtpu="0.0.99"), PLAIN, "libtpu 0.0.99 compiled it, and the calibration belongs to"),
        (CASE, scheduled(PROGRAM.replace("negate(%y)", "fft(%y)")), PLAIN, "the model does not know 1 x fft"),
        (replace(CASE, dtype=DType.FLOAT32), scheduled(), PLAIN, "no float32 peak of a TPU is published"),
        (replace(CASE, quant_mode=QuantMode.INT8), scheduled(), PLAIN, "no measurement of --quant-mode int8"),
        (CASE, scheduled(), replace(PLAIN, constants={**PLAIN.constants, "hbm": 2460e9}), "made with other rates"),
    ],
)
def test_what_cannot_be_said_is_refused(case: Case, outcome: Scheduled, fitted: Calibration, words: str) -> None:
    found = predictor(fitted=fitted).of(case, outcome)
    assert found.refused is not None
    assert words in found.refused
    assert (found.estimate, found.low, found.high) == (None, None, None)
    assert found.bound is not None
    assert found.bound > 0


def test_chips_whose_devices_share_links_have_no_estimate_of_collectives() -> None:
    found = predictor("tpu7x-8").of(CASE, scheduled())
    assert found.refused == "the devices of a TPU7x chip share its links, and no rate of that is published"
    alone = "\n".join(line for line in PROGRAM.splitlines() if "all-reduce" not in line)
    assert predictor("tpu7x-8").of(CASE, scheduled(alone)).estimate is not None


def test_a_calibration_that_is_too_fast_is_refused() -> None:
    alone = "\n".join(line for line in PROGRAM.splitlines() if "all-reduce" not in line)
    found = predictor(fitted=replace(PLAIN, matmul_factor=0.1, routed_factor=0.1)).of(CASE, scheduled(alone))
    assert found.refused is not None
    assert found.refused.endswith("less than the lower bound")


def test_notes_say_what_nothing_tests() -> None:
    tiled = predictor(fitted=replace(PLAIN, tiles=("512,1024,1024",))).of(CASE, scheduled())
    assert tiled.cautions == ("no row behind the calibration has tiles of 128,128,128: theirs are 512,1024,1024",)
    fitted = replace(PLAIN, measured_with="unknown", shortest=0.1, most_sent=0.2)
    case = replace(CASE, backend="ragged_dot", parallel=CASE.parallel)
    found = predictor("v5e-8", fitted).of(case, scheduled())
    assert [caution.split(",")[0] for caution in found.cautions] == [
        "the calibration's rows do not say which libtpu ran them",
        "the factors were fitted on TPU v5",
        "no row that tests the model took less than 100 ms",
        "another libtpu compiles ragged_dot otherwise; its weight gradient here costs many times gmm's",
        "collectives are 37% of the estimate",
    ]


def test_a_program_that_is_too_large_does_not_fit() -> None:
    large = predictor().of(CASE, scheduled(buffer_bytes=96 * 2**30))
    assert (large.fits, large.refused) == (False, None)
    refused = NotScheduled(reason="hbm", message="too\nlarge", libtpu=LIBTPU, processor_s=1.0)
    found = predictor().of(CASE, refused)
    assert (found.fits, found.refused, found.bound) == (False, "hbm: too large", None)
    small = predictor().of(CASE, scheduled())
    assert [outcome(small, other).word for other in (large, found, small)] == [
        Word.DOES_NOT_FIT,
        Word.DOES_NOT_FIT,
        Word.SAME_PROGRAM,
    ]


def test_a_digest_is_of_operations() -> None:
    """Not of names, places in a source file, their order, or how a sort compares; but of tiles and settings."""

    def digest(text: str = PROGRAM, case: Case = CASE) -> str | None:
        return predictor().of(case, scheduled(text)).program

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
    assert predictor().of(CASE, given).program != digest()


def test_variables_that_change_a_program() -> None:
    environ = {"XLA_FLAGS": "--xla_dump_to=/d --xla_a=1 --xla_dump_hlo_as_proto", "LIBTPU_INIT_ARGS": " ", "HOME": "/"}
    assert variables(environ) == "XLA_FLAGS=--xla_a=1"
    assert variables({"LIBTPU_INIT_ARGS": "--b --c=2"}) == "LIBTPU_INIT_ARGS='--b --c=2'"


def test_a_direction_holds_without_what_may_be_hidden() -> None:
    """Collectives that may run beside other work count in an estimate; a direction that hangs on them is none."""

    def said(estimate: float, hidden: float = 0.0) -> Prediction:
        return Prediction(
            target="v5p-8", device_kind="TPU v5", devices=4, libtpu="1", model=1, estimate=estimate, hidden=hidden
        )

    base = said(1.0)
    assert outcome(base, said(1.25)).word == Word.LOSES
    assert outcome(base, said(1.25, 0.05)).word == Word.LOSES
    found = outcome(base, said(1.25, 0.06))
    assert (found.word, found.ratio) == (Word.UNDECIDED, 0.8)
    assert found.why == "it is below 1.2 if collectives that may run beside other work take no time"
    assert outcome(said(1.25, 0.06), base).word == Word.UNDECIDED
    # What the faster side may hide makes it faster still.
    assert outcome(said(1.25), said(1.0, 0.5)).word == Word.WINS


def test_what_does_not_fit_into_vmem_before_it_is_scheduled() -> None:
    refused = NotScheduled(reason="vmem", message="too large", libtpu=LIBTPU, processor_s=1.0)
    found = predictor().of(CASE, refused)
    assert (found.fits, found.vmem, found.refused) == (None, "does not fit", "vmem: too large")
    assert outcome(predictor().of(CASE, scheduled()), found).word == Word.DOES_NOT_FIT


def test_factors_are_fitted() -> None:
    def parts(matmul: float, routed: float) -> Seconds:
        return Seconds(matmul=matmul, grouped=routed / 2, memory=routed / 2, send=0.5, move=0.25, hidden=0.0)

    rows = [parts(1, 1), parts(0, 2), parts(0, 3)]
    assert fit(rows, [1.2 * p.matmul + 1.7 * p.routed + 0.75 for p in rows]) == pytest.approx((1.2, 1.7))
    with pytest.raises(UsageError, match="do not tell the factors"):
        fit([parts(1, 1), parts(2, 2)], [2, 4])
    with pytest.raises(UsageError, match="do not tell the factors"):
        fit([parts(0, 1), parts(0, 2)], [2, 4])
    with pytest.raises(UsageError, match="a factor is positive"):
        fit([parts(1, 1), parts(5, 1)], [4, 3])


def test_peak_bytes() -> None:
    vmem = "Memory Space: vmem (color=1)\nTotal bytes: 7\n"
    assert peak_bytes(f"Memory Space: default (color=0)\nTotal bytes: 2411592832 (2.25GiB)\n\n{vmem}") == 2411592832
    with pytest.raises(ValueError, match="no total"):
        peak_bytes(vmem)


def test_the_calibration_that_is_shipped_belongs_to_a_chip_of_the_table() -> None:
    fitted = calibration.seeds()
    rates = slice_rates(choose_target("v5p-8"))
    assert rates is not None
    assert fitted.constants == rates.constants()
    assert 1 <= fitted.matmul_factor < fitted.routed_factor < 3
    assert 0.5 < fitted.low < 1 < fitted.high < 2
