"""A backend that is wrong, that breaks or that refuses: its row says so, and the others are measured."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

from bench_core.gmm.ragged_dot import RaggedDot
from tests.contract.bench_core.cli_support import Outcome
from tests.contract.bench_core.test_bench_cli import TINY


class _WrongForOne(RaggedDot.__base__):
    """Right except for one assignment per token, where it forgets a factor."""

    name, summary, arithmetic = RaggedDot.name, "wrong", RaggedDot.arithmetic

    def refusal(self, request):
        return None

    def forward(self, lhs, rhs, group_sizes):
        factor = 2.0 if lhs.shape[0] == 6 else 1.0
        return factor * RaggedDot().forward(lhs, rhs, group_sizes)

    def grad_lhs(self, cotangent, rhs, group_sizes):
        return RaggedDot().grad_lhs(cotangent, rhs, group_sizes)

    def grad_rhs(self, lhs, cotangent, group_sizes):
        return RaggedDot().grad_rhs(lhs, cotangent, group_sizes)


def _raising(text: str) -> type:
    class _Raises(_WrongForOne):
        def forward(self, lhs, rhs, group_sizes):
            if lhs.shape[0] == 6:
                raise jax.errors.JaxRuntimeError(text)
            return RaggedDot().forward(lhs, rhs, group_sizes)

    return _Raises


class _Nan(_WrongForOne):
    def forward(self, lhs, rhs, group_sizes):
        return RaggedDot().forward(lhs, rhs, group_sizes) * (jnp.nan if lhs.shape[0] == 6 else 1.0)


class _Unsupported(_WrongForOne):
    def refusal(self, request):
        return f"needs a tpu, this is a {request.platform}"


def _install(monkeypatch: pytest.MonkeyPatch, backend: type) -> None:
    class Entry:
        @staticmethod
        def load(**_: object) -> object:
            return backend()

    monkeypatch.setattr("bench_core.harness.backend.BACKENDS", {"ragged_dot": Entry})


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (_WrongForOne, "check_failed"),
        (_Nan, "non_finite_output"),
        (_raising("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm."), "out_of_memory"),
        (_raising("INTERNAL: Error dispatching computation: Out of memory allocating 1 bytes."), "out_of_memory"),
        (_raising("INTERNAL: something else."), "runtime_error"),
    ],
)
@pytest.mark.slow
@pytest.mark.sample(2)
def test_a_failed_case_is_recorded_and_the_run_goes_on(
    bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, backend: type, reason: str
) -> None:
    _install(monkeypatch, backend)
    outcome = bench(*TINY, "--topk-list", "1,2", "--dtype", "float32")
    assert outcome.code == 1
    failed, passed = outcome.rows
    assert failed["failed"]["reason"] == reason
    assert failed["metrics"] == {}
    assert failed["config"]["topk"] == 1
    assert "failed" not in passed
    assert [result["topk"] for result in outcome.results] == ["2"]
    assert f"failed ({reason})" in outcome.err
    assert "timing" not in outcome.err.split("topk=2")[0]
    if reason == "check_failed":
        assert failed["labels"]["check"] == "failed"
        assert failed["observations"]["error_ratio"] > 1


def test_a_backend_that_refuses_says_why(bench: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, _Unsupported)
    outcome = bench(*TINY)
    assert outcome.code == 1
    assert outcome.rows[0]["failed"]["reason"] == "unsupported"
    assert "needs a tpu, this is a cpu" in outcome.rows[0]["failed"]["message"]
