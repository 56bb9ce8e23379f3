"""What a backend promises about its rounding: the tolerance of every check follows from it. No JAX."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """Unit roundoffs (largest relative error of one rounding to nearest) and counts of roundings.

    A sum of n products is off by at most gamma(n) = n u / (1 - n u) times the sum of magnitudes, in any
    order of summation (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1).
    """

    accumulate_roundoff: float
    """Roundoff u of the accumulator and of elementwise work between matmuls."""
    division_roundings: int
    """A division may be compiled to a reciprocal and a product."""
    sigmoid_roundings: int
    """Error of the logistic function in units of u: exp of a few ulp, an addition, a division."""

    def gamma(self, terms: int) -> float:
        """Relative error bound of a sum of `terms` products."""
        product = terms * self.accumulate_roundoff
        return product / (1.0 - product)


FLOAT32_ACCUMULATION = Arithmetic(accumulate_roundoff=2.0**-24, division_roundings=3, sigmoid_roundings=16)
