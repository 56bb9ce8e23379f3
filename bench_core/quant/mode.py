"""Names of the quantisation modes. No JAX."""

from enum import StrEnum


class QuantMode(StrEnum):
    """How matmul operands are quantised.

    `int8` is fake quantisation: operands are rounded to 255 levels and multiplied in the case's dtype. It
    applies to every matmul of the block, routed and shared alike. `int8_real` multiplies the int8 codes
    themselves in the forward pass, with int32 accumulation; its backward pass is that of `int8`.
    """

    NONE = "none"
    INT8 = "int8"
    INT8_REAL = "int8_real"
