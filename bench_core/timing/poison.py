"""Buffers that a program must overwrite: an output that it leaves unwritten shows."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bench_core.errors import NonFiniteOutput


def _fresh(like: Any) -> Any:
    return jax.tree.map(lambda one: jnp.full(one.shape, _lost(one.dtype), one.dtype), like)


def _on_devices(one: Any) -> jax.Array:
    return jnp.full(one.shape, _lost(one.dtype), one.dtype, device=one.sharding)


def _lost(dtype: np.dtype[Any]) -> float | int:
    return float("nan") if jnp.issubdtype(dtype, jnp.inexact) else int(np.iinfo(dtype).min)


_in_place: Callable[[Any], Any] = jax.jit(_fresh, donate_argnums=0, keep_unused=True)


@functools.lru_cache(maxsize=16)
def _in_their_places(shardings: tuple[jax.sharding.Sharding, ...]) -> Callable[[Any], Any]:
    """As `_in_place`, for lists of arrays on several devices: values that depend on nothing would lie on all."""
    return jax.jit(_fresh, donate_argnums=0, keep_unused=True, out_shardings=list(shardings))


def poisoned(like: Any, outputs: Any = None) -> Any:
    """Arrays like `like` full of NaN (integers: the lowest value), on the devices that its shardings name.
    `outputs` gives its memory away for them."""
    leaves, tree = jax.tree.flatten(like)
    shardings = tuple(one.sharding for one in leaves if one.sharding is not None)
    if outputs is None:
        return jax.tree.map(_on_devices, like)
    if not shardings:
        return _in_place(outputs)
    return jax.tree.unflatten(tree, _in_their_places(shardings)(jax.tree.leaves(outputs)))


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
