"""Which backend a case gets that names none, and why."""

import json
from dataclasses import replace
from pathlib import Path

from bench_core.gmm.registry import ANYWHERE, default_backends
from bench_core.harness.backend import with_default_backend
from bench_core.harness.case import Case
from bench_core.harness.table import choices, table_case
from bench_core.parallel.spread import DpImpl, Parallel, ParallelMode
from bench_core.shapes import MoeShape, QuantMode

LITE = "TPU v5 lite"
COMPILED = json.loads((Path(__file__).parents[3] / "benchmarks/moe_aot_inflation.json").read_text())


def test_the_default_on_a_tpu_is_what_was_compiled() -> None:
    """Of the programs in the table: on every kind gmm computes few FLOPs in vain, and ragged_dot many."""
    for kind in {row["device_kind"] for row in COMPILED["rows"]}:
        own = [row for row in COMPILED["rows"] if row["device_kind"] == kind]
        assert not any(row["refused"] for row in own)
        gmm, anywhere = (
            max(row["flops_inflation"] for row in own if row["backend"] == name) for name in ("gmm", ANYWHERE)
        )
        first, last = default_backends("tpu", kind)
        by = ", ".join(f"{package} {version}" for package, version in COMPILED["software"].items())
        assert (first.name, last.name) == ("gmm", ANYWHERE)
        assert first.why == (
            f"up to {gmm:.2f} times the model FLOPs on {kind}, ragged_dot up to {anywhere:.2f} (compiled by {by})"
        )


def test_a_device_without_programs_is_given_what_serves_everything() -> None:
    (only,) = default_backends("tpu", "TPU v99")
    assert (only.name, only.why) == (ANYWHERE, "nothing was compiled for TPU v99 to compare it with")


def _case(**changes: object) -> Case:
    return replace(table_case("ragged_dot", choices(full=False)[0] | {"quant": "none", "capacity": "none"}), **changes)


def test_on_a_tpu_gmm_is_the_default_where_it_serves_the_case() -> None:
    for kind in (LITE, "TPU v5p", "TPU v6 lite"):
        chosen = with_default_backend(_case(), platform="tpu", device_kind=kind)
        assert chosen.case.backend == "gmm"
        (label,) = chosen.labels().values()
        assert label.startswith("gmm: up to 1.0")
        assert f"times the model FLOPs on {kind}, ragged_dot up to 2" in label
        assert f"libtpu {COMPILED['software']['libtpu']}" in label


def test_what_gmm_does_not_serve_has_ragged_dot_with_the_reason() -> None:
    chosen = with_default_backend(_case(quant_mode=QuantMode.INT8_REAL), platform="tpu", device_kind=LITE)
    assert chosen.case.backend == "ragged_dot"
    assert "backend gmm cannot serve --quant-mode int8_real" in chosen.labels()["default_backend"]
    many = MoeShape(tokens=2**19 + 1, hidden=8, mlp_dim=8, experts=2, topk=1)
    chosen = with_default_backend(_case(shape=many, shared_fused=False), platform="tpu", device_kind=LITE)
    assert chosen.case.backend == "ragged_dot"
    assert f"gmm may get {2**19 + 1} rows, and of 4097 tiles" in chosen.labels()["default_backend"]
    cut = Parallel(mode=ParallelMode.DP, dp_impl=DpImpl.AUTO, devices=4)
    chosen = with_default_backend(_case(parallel=cut), platform="tpu", device_kind=LITE)
    assert chosen.case.backend == "ragged_dot"
    assert "XLA's partitioner cannot cut a Pallas kernel" in chosen.labels()["default_backend"]
