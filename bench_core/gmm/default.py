"""Which backends a case is given that names none. No JAX."""

from collections.abc import Mapping
from types import MappingProxyType

ANYWHERE = "ragged_dot"
"""Serves every platform and every case: it stands in until the platform is known."""

_BY_PLATFORM: Mapping[str, tuple[str, ...]] = MappingProxyType({"cpu": ("tiled", ANYWHERE)})


def default_backends(platform: str) -> tuple[str, ...]:
    """Names of backends, best first: a case gets the first one that serves it.

    `platform` is JAX's name: cpu, gpu, tpu. On CPU `ragged_dot` multiplies by every expert, so `tiled` comes first.
    """
    return _BY_PLATFORM.get(platform, (ANYWHERE,))
