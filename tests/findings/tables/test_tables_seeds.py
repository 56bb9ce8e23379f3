"""The tables of the four seed logbooks, rebuilt whole from rows of their figures."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row, Scalar
from tests.findings.tables.tables_support import to_markdown

V5P = (Device(platform="tpu", kind="TPU v5p", count=4, used=4),)
TFLOPS = Metric(name="tflops", direction="max", unit="TF/s")
TOKENS = Metric(name="tokens_per_s", direction="max", unit="tokens/s")


def case(
    config: dict[str, Scalar],
    *,
    entry: str = "NULL-001",
    run: int = 1,
    label: str | None = None,
    **metrics: float,
) -> Case:
    measured = {name: Measurement(samples=(value,)) for name, value in metrics.items()}
    return Case(entry=entry, run=run, label=label, row=Row(config=config, metrics=measured, devices=V5P))


def golden(cases: Iterable[Case], spec: TableSpec, *declared: Metric) -> str:
    return "\n" + to_markdown(tabulate(list(cases), spec, declared=declared)) + "\n"


SHAPES = (
    (32768, 2048, 1408, 60),
    (32768, 2048, 2048, 64),
    (65536, 3072, 3072, 128),
)
# shape, topk: tokens/s and TF/s at null 0.1 and at 0.9
NULL_ROUTING = (
    (0, 2, 1572435, 146.826, 2001485, 20.886),
    (0, 4, 1268519, 236.764, 1905736, 39.768),
    (0, 8, 920847, 343.774, 1833742, 76.137),
    (1, 2, 1341959, 182.263, 1653547, 25.099),
    (1, 4, 1110265, 301.420, 1588905, 48.228),
    (1, 8, 821075, 445.857, 1540460, 93.032),
    (2, 2, 665998, 203.410, 869324, 29.685),
    (2, 4, 533793, 326.091, 835862, 56.790),
    (2, 8, 383765, 469.213, 771626, 104.977),
)
UNGATED = {0: 858766, 1: 765115, 2: 354834}  # topk=8, null 0.0, run last


def null_routing() -> list[Case]:
    cases = []
    for number, topk, tokens_low, tflops_low, tokens_high, tflops_high in NULL_ROUTING:
        tokens, hidden, mlp_dim, experts = SHAPES[number]
        config: dict[str, Scalar] = {
            "shape": f"{tokens}x{hidden}x{mlp_dim}x{experts}",
            "topk": topk,
            "backend": "gmm",
        }
        points = ((0.1, tokens_low, tflops_low), (0.5, None, None), (0.9, tokens_high, tflops_high))
        for frac, rate, flops in points:
            # The seed does not print the fractions in between; any figure will do.
            values = {"tokens_per_s": rate or 1.0, "tflops": flops or 1.0}
            cases.append(case({**config, "null_route_frac": frac}, **values))
    return cases


def test_null_routing_first_to_last() -> None:
    spec = TableSpec(metrics=("tokens_per_s", "tflops"), pivot="null_route_frac", first_last=True, delta=True)
    assert (
        golden(null_routing(), spec, TFLOPS, TOKENS)
        == """
| shape | topk | tokens_per_s @0.1 | tokens_per_s @0.9 | delta tokens_per_s | tflops @0.1 | tflops @0.9 | delta tflops |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 32768x2048x1408x60 | 2 | 1,572,435 | 2,001,485 | +27.29% | 146.826 | 20.886 | -85.77% |
| 32768x2048x1408x60 | 4 | 1,268,519 | 1,905,736 | +50.23% | 236.764 | 39.768 | -83.20% |
| 32768x2048x1408x60 | 8 | 920,847 | 1,833,742 | +99.14% | 343.774 | 76.137 | -77.85% |
| 32768x2048x2048x64 | 2 | 1,341,959 | 1,653,547 | +23.22% | 182.263 | 25.099 | -86.23% |
| 32768x2048x2048x64 | 4 | 1,110,265 | 1,588,905 | +43.11% | 301.420 | 48.228 | -84.00% |
| 32768x2048x2048x64 | 8 | 821,075 | 1,540,460 | +87.62% | 445.857 | 93.032 | -79.13% |
| 65536x3072x3072x128 | 2 | 665,998 | 869,324 | +30.53% | 203.410 | 29.685 | -85.41% |
| 65536x3072x3072x128 | 4 | 533,793 | 835,862 | +56.59% | 326.091 | 56.790 | -82.58% |
| 65536x3072x3072x128 | 8 | 383,765 | 771,626 | +101.07% | 469.213 | 104.977 | -77.63% |

- same in all rows: `backend=gmm`
- 1 other value of null_route_frac not shown
"""
    )


def test_null_routing_gain_over_the_baseline_that_ran_last() -> None:
    cases = null_routing()
    for number, tokens_per_s in UNGATED.items():
        shape = "x".join(map(str, SHAPES[number]))
        config: dict[str, Scalar] = {"shape": shape, "topk": 8, "backend": "gmm", "null_route_frac": 0.0}
        cases.append(case(config, entry="NULL-002", tokens_per_s=tokens_per_s))
    spec = TableSpec(
        metrics=("tokens_per_s",),
        where={"topk": "8"},
        pivot="null_route_frac",
        values=("0", "0.10"),
        delta=True,
        means=True,
    )
    assert (
        golden(cases, spec, TOKENS)
        == """
| shape | tokens_per_s @0.0 | tokens_per_s @0.1 | delta tokens_per_s |
| --- | ---: | ---: | ---: |
| 32768x2048x1408x60 | 858,766 | 920,847 | +7.23% |
| 32768x2048x2048x64 | 765,115 | 821,075 | +7.31% |
| 65536x3072x3072x128 | 354,834 | 383,765 | +8.15% |
| arithmetic mean |  |  | +7.57% |
| geometric mean |  |  | +7.56% |

- same in all rows: `topk=8 backend=gmm`
"""
    )


OVERLAP = {
    1: (19.052, 21.045, 48.700),
    2: (36.304, 40.809, 87.079),
    4: (66.479, 77.035, 131.548),
    6: (92.423, 109.129, 163.053),
    8: (115.088, 137.846, 159.369),
}


def overlap() -> list[Case]:
    return [
        case({"hidden": 3072, "mlp_dim": 3072, "topk": topk, "impl": impl}, tflops=value)
        for topk, row in OVERLAP.items()
        for impl, value in zip(("ref", "staged_dp", "fused_ep"), row, strict=True)
    ]


def test_overlap_with_per_device_in_brackets_and_ratios() -> None:
    spec = TableSpec(pivot="impl", per_device=True, ratio=True, base="staged_dp")
    assert (
        golden(overlap(), spec, TFLOPS)
        == """
| topk | tflops @ ref | tflops @ staged_dp | tflops @ fused_ep | tflops ref/staged_dp | tflops fused_ep/staged_dp |
| ---: | ---: | ---: | ---: | ---: | ---: |
| 1 | 19.052 (4.763) | 21.045 (5.261) | 48.700 (12.175) | 0.91x | 2.31x |
| 2 | 36.304 (9.076) | 40.809 (10.202) | 87.079 (21.770) | 0.89x | 2.13x |
| 4 | 66.479 (16.620) | 77.035 (19.259) | 131.548 (32.887) | 0.86x | 1.71x |
| 6 | 92.423 (23.106) | 109.129 (27.282) | 163.053 (40.763) | 0.85x | 1.49x |
| 8 | 115.088 (28.772) | 137.846 (34.462) | 159.369 (39.842) | 0.83x | 1.16x |

- same in all rows: `hidden=3072 mlp_dim=3072`
- in brackets: per device
"""
    )


def test_expert_parallel_ab_by_topk() -> None:
    figures = {("none", 2): 192.599, ("none", 8): 167.623, ("ep", 2): 232.246, ("ep", 8): 336.867}
    cases = [
        case({"tokens": 32768, "parallel_mode": mode, "topk": topk}, tflops=value)
        for (mode, topk), value in figures.items()
    ]
    assert (
        golden(cases, TableSpec(pivot="parallel_mode", delta=True), TFLOPS)
        == """
| topk | tflops @ none | tflops @ ep | delta tflops |
| ---: | ---: | ---: | ---: |
| 2 | 192.599 | 232.246 | +20.59% |
| 8 | 167.623 | 336.867 | +100.97% |

- same in all rows: `tokens=32768`
"""
    )


def test_remat_with_a_delta_for_each_mode() -> None:
    figures = {2: (144.654, 138.346, 144.748), 8: (339.391, 313.676, 338.917)}
    cases = [
        case({"topk": topk, "remat_mode": mode}, tflops=value)
        for topk, row in figures.items()
        for mode, value in zip(("none", "expert_mlp", "combine"), row, strict=True)
    ]
    assert (
        golden(cases, TableSpec(pivot="remat_mode", delta=True, each=True), TFLOPS)
        == """
| topk | tflops @ none | tflops @ expert_mlp | tflops @ combine | delta tflops @ expert_mlp | delta tflops @ combine |
| ---: | ---: | ---: | ---: | ---: | ---: |
| 2 | 144.654 | 138.346 | 144.748 | -4.36% | +0.06% |
| 8 | 339.391 | 313.676 | 338.917 | -7.58% | -0.14% |
"""
    )


def test_topk_scaling_of_two_shapes() -> None:
    figures = {
        2048: ((1, 232.771, 822178), (2, 275.583, 768470), (8, 443.204, 546088)),
        3072: ((1, 247.132, 396773), (2, 290.871, 366926), (8, 457.438, 252458)),
    }
    cases = [
        case({"tokens": 32768, "hidden": hidden, "topk": topk}, tflops=tflops, tokens_per_s=rate)
        for hidden, rows in figures.items()
        for topk, tflops, rate in rows
    ]
    assert (
        golden(cases, TableSpec(), TFLOPS, TOKENS)
        == """
| hidden | topk | tflops | tokens_per_s |
| ---: | ---: | ---: | ---: |
| 2048 | 1 | 232.771 | 822,178 |
| 2048 | 2 | 275.583 | 768,470 |
| 2048 | 8 | 443.204 | 546,088 |
| 3072 | 1 | 247.132 | 396,773 |
| 3072 | 2 | 290.871 | 366,926 |
| 3072 | 8 | 457.438 | 252,458 |

- same in all rows: `tokens=32768`
"""
    )


def test_smoke_matrix_with_a_failure() -> None:
    cells = (("ragged_dot", "float32", 12.5), ("gmm", "float32", 13.25), ("gmm", "bfloat16", None))
    cases = []
    for run, (backend, dtype, value) in enumerate(cells, start=1):
        label = "Negative control" if value is None else None
        found = case({"backend": backend, "dtype": dtype}, run=run, label=label, tflops=value or 1.0)
        cases.append(found if value is not None else failed(found, "TypeError"))
    assert (
        golden(cases, TableSpec(delta=True), TFLOPS)
        == """
| label | backend | dtype | tflops | delta tflops |
| --- | --- | --- | ---: | ---: |
|  | ragged_dot | float32 | 12.500 | base |
|  | gmm | float32 | 13.250 | +6.00% |
| Negative control | gmm | bfloat16 | failed: TypeError | ? |

- 1 of 3 cases failed
"""
    )


def failed(found: Case, reason: str) -> Case:
    row = Row(config=found.row.config, failed=Failure(reason=reason))
    return Case(entry=found.entry, run=found.run, label=found.label, row=row)
