"""Router logits in which consecutive tokens favour one expert. NumPy."""

import numpy as np
from jaxtyping import Float32, Int64

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
