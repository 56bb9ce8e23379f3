"""One program on the devices of several processes: what each of them does beside it. On one process all is as without.

Every process calls these functions in the same order: most of them wait for the others.
"""

from typing import Any

import jax
import numpy as np

# JAX leaves some of its functions without types.
_put: Any = jax.device_put
_from_parts: Any = jax.make_array_from_callback


def _utils() -> Any:
    """Loaded late: it is of use only among several."""
    from jax.experimental import multihost_utils

    return multihost_utils


def put(tree: Any, shardings: Any) -> Any:
    """Arrays that every process holds whole, laid out over the devices of all. None: on this process's first device."""
    if shardings is None or jax.process_count() == 1:
        return _put(tree, shardings)

    def one(array: Any, sharding: jax.sharding.Sharding) -> Any:
        whole = np.asarray(array)
        return _from_parts(whole.shape, sharding, lambda index: whole[index])

    # A sharding may stand for all arrays below it.
    return jax.tree.map(lambda sharding, part: jax.tree.map(lambda a: one(a, sharding), part), shardings, tree)


def on_host(array: Any) -> np.ndarray:
    """The whole array, in every process."""
    if isinstance(array, jax.Array) and not array.is_fully_addressable:
        whole: np.ndarray = _utils().process_allgather(array, tiled=True)
        return whole
    return np.asarray(array)


def wait_for_all() -> None:
    """Return when every process is here, so that their clocks start together."""
    if jax.process_count() > 1:
        _utils().sync_global_devices("bench_core")


def slowest(values: tuple[float, ...]) -> tuple[float, ...]:
    """The largest of all processes, of each value (float64, so that nothing of a clock is lost)."""
    if jax.process_count() == 1:
        return values
    # Devices without 64-bit numbers pass them on as pairs of 32 bits.
    bits = np.asarray(values, np.float64).view(np.uint32)
    everyone = np.ascontiguousarray(_utils().process_allgather(bits)).view(np.float64)
    return tuple(float(value) for value in everyone.reshape(jax.process_count(), -1).max(axis=0))


def largest(value: int | None) -> int | None:
    """The largest of all processes; None where one of them does not know."""
    known = slowest((-1.0 if value is None else float(value), 1.0 if value is None else 0.0))
    return None if known[1] else int(known[0])


def texts(own: str) -> list[str]:
    """The text of every process, in their order."""
    if jax.process_count() == 1:
        return [own]
    data = np.frombuffer(own.encode(), np.uint8)
    padded = np.zeros(int(slowest((float(data.size),))[0]), np.uint8)
    padded[: data.size] = data
    everyone = _utils().process_allgather(padded)
    # No text has a zero byte.
    return [np.asarray(one).tobytes().rstrip(b"\0").decode() for one in everyone]
