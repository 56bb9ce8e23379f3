"""Buffers that a program must overwrite: an output that it leaves unwritten shows."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.errors import NonFiniteOutput


def _fresh(like: Any) -> Any:
    return jax.tree.map(lambda one: jnp.full(one.shape, _lost(one.dtype), one.dtype), like)


def _lost(dtype: np.dtype[Any]) -> float | int:
    return float("nan") if jnp.issubdtype(dtype, jnp.inexact) else int(np.iinfo(dtype).min)


_in_place: Callable[[Any], Any] = jax.jit(_fresh, donate_argnums=0, keep_unused=True)


def poisoned(like: Any, outputs: Any = None) -> Any:
    """Arrays like `like` full of NaN (integers: the lowest value). `outputs` gives its memory away for them."""
    return _fresh(like) if outputs is None else _in_place(outputs)


@jax.jit
def _finite(outputs: Any) -> Any:
    return jax.tree.map(lambda array: jnp.isfinite(array).all(), outputs)


def require_written(outputs: Any) -> None:
    """Every element is finite, so the program has written it.

    Raises:
        NonFiniteOutput: one is not; the error names its output.
    """
    for path, finite in jax.tree.leaves_with_path(_finite(outputs)):
        if not bool(finite):
            raise NonFiniteOutput(
                f"{jax.tree_util.keystr(path, simple=True)} holds NaN or infinity after a call",
                cause="the program computed it, or left a part unwritten: outputs hold NaN before each call",
                hint="run the case again; if it repeats, report the backend",
            )
