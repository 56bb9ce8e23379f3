"""The tables of the four seed logbooks, rebuilt whole from rows of their figures."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.run import Device, Failure, Measurement, Row, Scalar
from tests.unit.findings.tables.tables_support import to_markdown

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
