"""Arrays that a program makes by itself, on a mesh of devices."""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import jax
from jax import export

from bench_core.arrays import Array, Shaped

Results = TypeVar("Results", Array, tuple[Array, ...])


def varies_over(array: Shaped[Array, "..."]) -> frozenset[str]:
    """The axes of a `shard_map` over which the array may differ between devices; none outside of one."""
    return frozenset(jax.typeof(array).manual_axis_type.varying)


def varying_as(array: Shaped[Array, "*shape"], *others: Shaped[Array, "..."]) -> Shaped[Array, "*shape"]:
    """The same array, as one that may differ between devices where one of `others` may.

    Zeros are the same on every device. A loop that begins with them and goes on with something else needs one type.
    """
    axes = frozenset[str]().union(*map(varies_over, others)) - varies_over(array)
    return jax.lax.pcast(array, tuple(sorted(axes)), to="varying") if axes else array


def traced_apart(function: Callable[..., Results], arguments: Sequence[Array], *, platform: str) -> Results:
    """`function(*arguments)` of a function that does not say over which axes its results vary, as others' Pallas
    kernels do not; they vary where one of the arguments may.

    It is traced for `platform` in a thread of its own: what JAX knows about the mesh belongs to this one. Functions
    that are equal are traced once for the same shapes.
    """
    shapes = tuple((array.shape, str(array.dtype)) for array in arguments)
    exported = _exported(function, shapes, platform, jax.config.read("jax_enable_x64"))
    return jax.tree.map(lambda result: varying_as(result, *arguments), exported.call(*arguments))


@functools.lru_cache(maxsize=64)
def _exported(function: Callable[..., Any], shapes: tuple[Any, ...], platform: str, _wide: bool) -> Any:
    arguments = [jax.ShapeDtypeStruct(*shape) for shape in shapes]
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: export.export(jax.jit(function), platforms=[platform])(*arguments)).result()
