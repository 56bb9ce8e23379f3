"""From a duration to rates."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Rates over all devices used: 1e12 model FLOPs per second, and tokens per second."""

    tflops: float
    tokens_per_s: float


def throughput(*, flops: int, tokens: int, time_s: float) -> Throughput:
    """Rates of one call of `flops` model FLOPs over `tokens` tokens that took `time_s` seconds.

    Raises:
        ValueError: `time_s` is not positive (a clock that stood still measures nothing).
    """
    if time_s <= 0:
        raise ValueError(f"a duration of {time_s} s has no throughput")
    return Throughput(tflops=flops / time_s / 1e12, tokens_per_s=tokens / time_s)
