"""Types of arrays, by element type and shape: `Float[Array, "m k"]`.

They are jaxtyping's for type checkers, and in a process that has imported it, as the tests do to check every shape.
Elsewhere the shapes are words: to import jaxtyping takes a tenth of a short run.
"""

import sys
from typing import TYPE_CHECKING, Any

from jax import Array

if TYPE_CHECKING:
    from typing import Annotated as Sums

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Float32, Float64, Int, Int8, Int32, Int64, Shaped

    if not TYPE_CHECKING:
        from jaxtyping import AbstractDtype

        class Sums(AbstractDtype):
            """An array of the dtype that `quant.sum_dtype` gives: float32, and float64 in a case of float64."""

            dtypes = ("float32", "float64")
else:

    class Shaped:
        """The array's own type."""

        def __class_getitem__(cls, of: tuple[Any, str]) -> Any:
            return of[0]

    Bool = Float = Float32 = Float64 = Int = Int8 = Int32 = Int64 = Sums = Shaped

__all__ = ["Array", "Bool", "Float", "Float32", "Float64", "Int", "Int8", "Int32", "Int64", "Shaped", "Sums"]
