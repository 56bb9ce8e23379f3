"""What NumPy draws of a routing: logits in which consecutive tokens favour one expert, and slots without an expert."""

import numpy as np

from bench_core.arrays import Bool, Float32, Int64
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


FAVOURITE_LOGIT = 6.0


def run_favourites(
    rng: np.random.Generator, *, tokens: int, experts: int, alpha: float
) -> Int64[np.ndarray, " tokens"]:
    """The favoured expert of every token.

    Run lengths are geometric, P(n) = (1 - alpha) alpha^(n - 1), with mean 1 / (1 - alpha); the last run is cut
    at the last token. Each run is given to a least-loaded expert, by lot among equals, and counts with its
    length.
    """
    favourites = np.empty(tokens, np.int64)
    load = np.zeros(experts, np.int64)
    start = 0
    while start < tokens:
        length = min(int(rng.geometric(1.0 - alpha)), tokens - start)
        expert = int(rng.choice(np.flatnonzero(load == load.min())))
        favourites[start : start + length] = expert
        load[expert] += length
        start += length
    return favourites


def run_logits(
    rng: np.random.Generator, *, tokens: int, experts: int, alpha: float, noise_scale: float
) -> Float32[np.ndarray, "tokens experts"]:
    """noise_scale * normal, plus 6 for the favourite of the token's run."""
    favourites = run_favourites(rng, tokens=tokens, experts=experts, alpha=alpha)
    logits: Float32[np.ndarray, "tokens experts"] = noise_scale * rng.standard_normal((tokens, experts), np.float32)
    logits[np.arange(tokens), favourites] += np.float32(FAVOURITE_LOGIT)
    return logits
