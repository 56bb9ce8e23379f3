"""Symmetric int8 codes and their scales."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int8

from bench_core.quant.fake import FLOAT32_TINY, LEVELS
from bench_core.quant.sums import Sums


class Codes(NamedTuple):
    """codes * scale is the quantised array; `scale` has size 1 along the reduced axis."""

    codes: Int8[Array, "*shape"]
    scale: Sums[Array, "*scales"]


def int8_codes(values: Sums[Array, "*shape"], *, axis: int) -> Codes:
    """The codes behind `fake_quantise`: clip(round(values / scale), -127, 127), scale = absmax / 127."""
    scale = jnp.max(jnp.abs(values), axis=axis, keepdims=True) / LEVELS
    # As in `fake_quantise`: no division by a scale that the hardware may flush to zero.
    scale = jnp.where(scale >= FLOAT32_TINY, scale, 1.0)
    return Codes(codes=jnp.clip(jnp.round(values / scale), -LEVELS, LEVELS).astype(jnp.int8), scale=scale)


def dequantised(codes: Codes) -> Sums[Array, "*shape"]:
    return codes.codes.astype(codes.scale.dtype) * codes.scale
