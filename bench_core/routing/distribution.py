"""Names of the routing distributions. No JAX."""

from enum import StrEnum


class Distribution(StrEnum):
    """`random`: independent standard normal router logits."""

    RANDOM = "random"
