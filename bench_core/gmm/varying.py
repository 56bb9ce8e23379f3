"""Arrays that a program makes by itself, on a mesh of devices."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, Shaped

# JAX leaves this function without types.
_typeof: Callable[[Array], Any] = jax.typeof


def varies_over(array: Shaped[Array, "..."]) -> frozenset[str]:
    """The axes of a `shard_map` over which the array may differ between devices; none outside of one."""
    axes: frozenset[str] = frozenset(_typeof(array).manual_axis_type.varying)
    return axes


def varying_as(array: Shaped[Array, "*shape"], *others: Shaped[Array, "..."]) -> Shaped[Array, "*shape"]:
    """The same array, as one that may differ between devices where one of `others` may.

    Zeros are the same on every device. A loop that begins with them and goes on with something else needs one type.
    """
    axes = frozenset[str]().union(*map(varies_over, others)) - varies_over(array)
    return jax.lax.pcast(array, tuple(sorted(axes)), to="varying") if axes else array
