"""Which backend a case gets that names none, and why."""

from dataclasses import replace

import pytest

from bench_core.aot.targets import TARGETS
from bench_core.gmm.default import ANYWHERE, default_backends
from bench_core.gmm.inflation_table import Compiled, InflationTable, inflation_table
from bench_core.gmm.registry import BACKENDS
from bench_core.harness.case import Case
from bench_core.harness.chosen import with_default_backend
from bench_core.harness.table import choices, table_case
from bench_core.parallel.spread import DpImpl, Parallel, ParallelMode
from bench_core.quant.mode import QuantMode
from bench_core.shapes import MoeShape

LITE = "TPU v5 lite"


def test_the_table_is_of_backends_and_devices_that_exist() -> None:
    table = inflation_table()
    assert set(table.software) == {"jax", "jaxlib", "libtpu"}
    assert {row.backend for row in table.rows} <= set(BACKENDS)
    kinds = {row.device_kind for row in table.rows}
    assert {LITE, "TPU v5", "TPU v6 lite"} <= kinds <= {target.device_kind for target in TARGETS.values()}
    assert all((row.inflation is None) or row.refused is None for row in table.rows)


def _table(*rows: tuple[str, float | None, str | None]) -> InflationTable:
    made = (Compiled(device_kind=LITE, backend=name, inflation=much, refused=why) for name, much, why in rows)
    return InflationTable(rows=tuple(made), software={"libtpu": "1"})


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([("ragged_dot", 20.0, None), ("gmm", 1.0, None)], ["gmm", ANYWHERE]),
        ([("ragged_dot", 1.4, None), ("gmm", 1.0, None)], [ANYWHERE]),
        ([("ragged_dot", 20.0, None), ("gmm", 1.0, None), ("gmm", None, "vmem")], [ANYWHERE]),
        ([("ragged_dot", 20.0, None), ("gmm", 2.0, None), ("tiled", 1.0, None)], ["tiled", "gmm", ANYWHERE]),
    ],
)
def test_a_backend_that_does_clearly_less_comes_first(
    monkeypatch: pytest.MonkeyPatch, rows: list, names: list[str]
) -> None:
    monkeypatch.setattr("bench_core.gmm.default.inflation_table", lambda: _table(*rows))
    assert [default.name for default in default_backends("tpu", LITE)] == names


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
        assert f"libtpu {inflation_table().software['libtpu']}" in label


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
