"""Slots that go to no expert. NumPy."""

import numpy as np
from jaxtyping import Bool, Float32

from bench_core.routing.distribution import NullMode


def real_slots(
    rng: np.random.Generator, *, tokens: int, topk: int, null_frac: float, mode: NullMode
) -> Bool[np.ndarray, "tokens topk"]:
    """True where a slot keeps its expert; exactly round(null_frac * tokens * topk) slots do not.

    independent: every slot draws a uniform number, and the slots with the smallest become null.
    take_until_null: a slot competes with the smallest number of its token up to itself, which is the rule
    "null below a threshold, and everything behind the first null" with the threshold chosen such that the
    fraction is met. Equal numbers of one token keep the earlier slot, hence a prefix.
    """
    draws = rng.random((tokens, topk))
    if mode is NullMode.TAKE_UNTIL_NULL:
        draws = np.minimum.accumulate(draws, axis=1)
    nulls = round(null_frac * draws.size)
    # Stable, on descending numbers: equal ones stay in the order of slots, and the last of all become null.
    order = np.argsort(-draws.reshape(-1), kind="stable")
    real = np.ones(draws.size, np.bool_)
    real[order[draws.size - nulls :]] = False
    return real.reshape(tokens, topk)


def real_weights(
    weights: Float32[np.ndarray, "tokens topk"], real: Bool[np.ndarray, "tokens topk"], *, renormalize: bool
) -> Float32[np.ndarray, "tokens topk"]:
    """Zero for null slots; with `renormalize` the others are divided by their sum (a token without any keeps
    zeros)."""
    kept = np.where(real, weights, np.float32(0))
    if renormalize:
        sums = kept.sum(axis=1, keepdims=True)
        # A token that lost nothing keeps its weights to the last bit.
        whole = real.all(axis=1, keepdims=True)
        kept = np.where(whole, kept, kept / np.where(sums > 0, sums, np.float32(1)))
    return kept
