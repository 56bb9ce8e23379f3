"""`bench-core hillclimb --list`: what each backend and implementation can serve on this platform."""

import jax
import typer

from bench_core.blocks.impls import IMPLS
from bench_core.blocks.int8_matmul import INTEGER_PRODUCTS
from bench_core.gmm.base import MatmulRequest
from bench_core.gmm.default import default_backends
from bench_core.gmm.registry import BACKENDS
from bench_core.quant.mode import QuantMode
from bench_core.shapes import BenchPass, DType


def print_listing() -> None:
    """Print the tables; a backend that refuses a case says why."""
    platform = jax.default_backend()
    typer.echo(f"backends on {platform}:")
    for name, entry in BACKENDS.items():
        backend = entry.load(platform=platform)
        typer.echo(f"  {name}{_rank(name, platform)}: {backend.ran()}")
        served = [mode for mode in QuantMode if mode is not QuantMode.INT8_REAL or name in INTEGER_PRODUCTS]
        modes = ", ".join(served)
        for dtype in DType:
            for bench_pass in BenchPass:
                request = MatmulRequest(platform=platform, dtype=dtype, bench_pass=bench_pass)
                refusal = backend.refusal(request)
                answer = f"yes, quant modes {modes}" if refusal is None else f"no: {refusal}"
                typer.echo(f"    {dtype.value} {bench_pass.value}: {answer}")
    typer.echo("impls (every backend, dtype, pass and quant mode):")
    for impl in IMPLS.values():
        typer.echo(f"  {impl.name}: {impl.summary}")


def _rank(name: str, platform: str) -> str:
    """When a case that names no backend gets this one, in words behind its name."""
    names = default_backends(platform)
    if name not in names:
        return ""
    before = names[: names.index(name)]
    return f" (default where {', '.join(before)} cannot serve)" if before else " (default)"
