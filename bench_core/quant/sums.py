"""The dtype of sums, and of all that lies between two matmuls."""

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from bench_core.shapes import DType

if TYPE_CHECKING:
    from typing import Annotated as Sums
else:
    from jaxtyping import AbstractDtype

    class Sums(AbstractDtype):
        """An array of the dtype that `sum_dtype` gives: float32, and float64 in a case of float64."""

        dtypes = ("float32", "float64")


__all__ = ["Sums", "sum_dtype", "types_for"]

# JAX leaves this without types.
_x64: Callable[[bool], contextlib.AbstractContextManager[Any]] = jax.enable_x64


def sum_dtype(dtype: jnp.dtype) -> jnp.dtype:
    """float64 for float64; float32 for float32 and bfloat16."""
    sums: jnp.dtype = jnp.dtype(jnp.float64 if dtype == jnp.float64 else jnp.float32)
    return sums


def types_for(dtype: DType) -> contextlib.AbstractContextManager[Any]:
    """Inside of it JAX has float64, where `dtype` is that. For the others it changes nothing: JAX with 64-bit types
    makes other programs of the same code, whose indices are wider."""
    return _x64(True) if dtype is DType.FLOAT64 else contextlib.nullcontext()
