"""Join the other processes of a job."""

from typing import Any

import jax

from bench_core.errors import JobBroken
from bench_core.job.link import Place

FIND_S = 90
"""JAX's limit for the others to come; less than the starter's own."""
SILENT_S = 30
"""A process on another host that was not heard of for so long is gone."""


def join(place: Place) -> None:
    """To be called before JAX is used for anything else.

    Raises:
        JobBroken: the others were not found.
    """
    initialize: Any = jax.distributed.initialize
    try:
        initialize(
            place.coordinator,
            place.processes,
            place.process,
            initialization_timeout=FIND_S,
            heartbeat_timeout_seconds=SILENT_S,
        )
    except RuntimeError as error:
        raise JobBroken("no_start", f"could not join the job at {place.coordinator}: {error}") from error
