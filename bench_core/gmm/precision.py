"""The precision argument that makes float32 mean float32 on every platform."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def matmul_precision(operand: Float[Array, "..."]) -> jax.lax.Precision:
    """DEFAULT for bfloat16 operands, HIGHEST otherwise.

    The default multiplies float32 operands as bfloat16 on TPU and as TF32 on recent GPUs, which is neither
    what `--dtype float32` says nor within its tolerance.
    """
    return jax.lax.Precision.DEFAULT if operand.dtype == jnp.bfloat16 else jax.lax.Precision.HIGHEST
