"""The FLOPs that XLA counts over the model's, and programs of which it counts too few."""

import jax
import pytest

from bench_core.accounting.inflation import weigh
from bench_core.timing.compiling import program_cost


def test_a_loop_has_no_count_and_says_so() -> None:
    x = jax.ShapeDtypeStruct((8, 8), jax.numpy.float32)
    looped = program_cost(jax.jit(lambda x: jax.lax.fori_loop(0, 9, lambda _, y: y @ x, x)).lower(x).compile())
    assert weigh(compiled_flops=1.0, text=None, model_flops=1).ratio is None
    inflation = weigh(compiled_flops=looped.flops, text=looped.text, model_flops=9 * 2 * 8**3)
    assert (inflation.compiled_flops, inflation.ratio) == (None, None)
    assert inflation.unknown == "1 of 1 matmuls are in loops, of which the compiler counts one turn"


TEXT = """ENTRY %main (a: f32[4,3,5], w: f32[4,5,2]) -> f32[4,3,2] {
  ROOT %dot.1 = f32[4,3,2]{2,1,0} dot(%a, %w), lhs_contracting_dims={2}, rhs_contracting_dims={1}
}"""
DOT = 2 * 4 * 3 * 5 * 2


@pytest.mark.parametrize(
    ("compiled", "model", "ratio", "words"),
    [
        (None, DOT, None, "does not count"),
        (DOT, 0, None, "no model FLOPs"),
        (DOT, 2 * DOT, None, "does not know what some kernel does"),
        (DOT, DOT, 1.0, None),
        (DOT, DOT // 4, 4.0, None),
    ],
)
def test_inflation(compiled: float | None, model: int, ratio: float | None, words: str | None) -> None:
    inflation = weigh(compiled_flops=compiled, text=TEXT, model_flops=model)
    assert inflation.ratio == inflation.observations()["flops_inflation"] == ratio
    said = " ".join(inflation.labels().values())
    assert said == "" if words is None else words in said
