"""`bench-core hillclimb --list`: what each backend and implementation can serve on this platform."""

from collections.abc import Sequence

import typer

from bench_core.blocks.matmul import INTEGER_PRODUCTS
from bench_core.blocks.modes import IMPLS
from bench_core.gmm.base import MatmulRequest
from bench_core.gmm.registry import BACKENDS, Default, default_backends
from bench_core.harness.environment import start_devices
from bench_core.shapes import TIMED_DTYPES, BenchPass, QuantMode


def print_listing() -> None:
    """Print the tables; a backend that refuses a case says why.

    Raises:
        UsageError: JAX finds no device of the platform that it was told to use.
    """
    first = start_devices()[0]
    platform = first.platform
    defaults = default_backends(platform, first.device_kind)
    typer.echo(f"backends on {platform}:")
    for name, entry in BACKENDS.items():
        backend = entry.load(platform=platform)
        typer.echo(f"  {name}{_rank(name, defaults)}: {backend.ran()}")
        served = [mode for mode in QuantMode if mode is not QuantMode.INT8_REAL or name in INTEGER_PRODUCTS]
        modes = ", ".join(served)
        for dtype in TIMED_DTYPES:
            for bench_pass in BenchPass:
                request = MatmulRequest(platform=platform, dtype=dtype, bench_pass=bench_pass)
                refusal = backend.refusal(request)
                answer = f"yes, quant modes {modes}" if refusal is None else f"no: {refusal}"
                typer.echo(f"    {dtype.value} {bench_pass.value}: {answer}")
    typer.echo("impls (every backend, dtype, pass and quant mode):")
    for impl in IMPLS.values():
        typer.echo(f"  {impl.name}: {impl.summary}")


def _rank(name: str, defaults: Sequence[Default]) -> str:
    """When a case that names no backend gets this one, in words behind its name."""
    names = [default.name for default in defaults]
    if name not in names:
        return ""
    at = names.index(name)
    when = f"default where {', '.join(names[:at])} cannot serve" if at else "default"
    why = defaults[at].why
    return f" ({when}: {why})" if why else f" ({when})"
