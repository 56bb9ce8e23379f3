"""Names of the ways to sort assignments by expert. No JAX."""

from enum import StrEnum


class PackStrategy(StrEnum):
    """`argsort`: two argsorts. `tuple_sort`: pairs (expert, assignment) are sorted, and sorted back."""

    ARGSORT = "argsort"
    TUPLE_SORT = "tuple_sort"
