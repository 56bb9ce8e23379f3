"""What a prediction was made with. No JAX."""

import platform
from importlib import metadata


def software(libtpu: str) -> dict[str, object]:
    """Versions and host, as a row reports them."""
    packages = {package: metadata.version(package) for package in ("jax", "jaxlib", "numpy")}
    versions = {"python": platform.python_version(), **packages, "libtpu": libtpu}
    return {"software": versions, "host": platform.node()}
