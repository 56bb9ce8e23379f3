"""The backend of a case: whether it serves the case, which one a case gets that names none, and what each serves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench_core.blocks.matmul import INTEGER_PRODUCTS, LONGEST_SUM
from bench_core.blocks.modes import IMPLS
from bench_core.errors import UnsupportedCase
from bench_core.gmm.base import GroupedMatmul, MatmulRequest
from bench_core.gmm.registry import BACKENDS, Default, default_backends
from bench_core.harness.case import Case
from bench_core.parallel.spread import DpImpl, EpImpl
from bench_core.routing.request import CapacityPolicy
from bench_core.shapes import TIMED_DTYPES, BenchPass, DType, QuantMode


def require_form(case: Case, *, platform: str) -> None:
    """The platform has what the case's form sends with. No other form takes its place.

    Raises:
        UnsupportedCase: it has not.
    """
    if case.parallel.spread.impl is EpImpl.RAGGED_ALL_TO_ALL and platform == "cpu":
        raise UnsupportedCase(
            "--ep-impl ragged_all_to_all cannot run on CPU",
            cause="XLA for CPU has no ragged all-to-all",
            hint="use --ep-impl all_to_all, which sends the same rows in padded buffers, or compile it by --aot",
        )


def load_backend(case: Case, *, platform: str) -> GroupedMatmul:
    """The backend of `case` for programs that are compiled for `platform`.

    Raises:
        UnsupportedCase: it cannot serve the case there.
    """
    if case.dtype is DType.FLOAT64 and platform != "cpu":
        raise UnsupportedCase(
            f"float64 is not checked on {platform}",
            cause="float64 is checked on CPU alone: it is about what a form computes, and a TPU has no float64",
            hint="set JAX_PLATFORMS=cpu",
        )
    backend = BACKENDS[case.backend].load(platform=platform, tile=case.tile)
    partitioned = case.parallel.dp_impl is DpImpl.AUTO
    refusal = backend.refusal(MatmulRequest(platform=platform, dtype=case.dtype, partitioned=partitioned))
    if refusal is not None:
        raise UnsupportedCase(f"backend {case.backend} cannot serve this case: {refusal}", cause=refusal, hint=_LISTED)
    if case.quant_mode is not QuantMode.INT8_REAL:
        return backend
    longest = max(case.shape.hidden, case.shape.mlp_dim, case.shape.shared_expert_dim)
    if longest > LONGEST_SUM:
        raise UnsupportedCase(
            f"--quant-mode int8_real cannot sum {longest} products",
            cause=f"an int32 is certain to hold the sum of at most {LONGEST_SUM} products of int8 codes",
            hint="use --quant-mode int8, or smaller widths",
        )
    if backend.name not in INTEGER_PRODUCTS:
        able = ", ".join(name for name in BACKENDS if name in INTEGER_PRODUCTS) or "no backend"
        refused = f"backend {case.backend} cannot serve --quant-mode int8_real, {able} can"
        why = "it has no int8 x int8 matmul with int32 accumulation"
        raise UnsupportedCase(refused, cause=why, hint=_LISTED)
    return backend


_LISTED = "bench-core hillclimb --list shows what each backend can serve"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A case with the backend that it was given. `why`: where a table or a refusal decided."""

    case: Case
    why: str | None = None

    def labels(self) -> dict[str, str]:
        return {} if self.why is None else {"default_backend": f"{self.case.backend}: {self.why}"}


def with_default_backend(case: Case, *, platform: str, device_kind: str) -> Chosen:
    """The case with the first default backend of the platform's device that serves it.

    Where none does it has the last one, whose refusal becomes its row.
    """
    *preferred, last = default_backends(platform, device_kind)
    whys: list[str] = []
    for default in preferred:
        own = replace(case, backend=default.name)
        refusal = _refusal(own, platform=platform)
        if refusal is None:
            return _chosen(own, default, whys)
        whys.append(refusal)
    return _chosen(replace(case, backend=last.name), last, whys)


def _chosen(case: Case, default: Default, refusals: list[str]) -> Chosen:
    return Chosen(case=case, why="; ".join([*refusals, *filter(None, [default.why])]) or None)


def _refusal(case: Case, *, platform: str) -> str | None:
    """Why its backend does not serve the case, or may not: rows are counted before any routing is known."""
    try:
        backend = load_backend(case, platform=platform)
    except UnsupportedCase as error:
        return error.message
    refused = backend.rows_refusal(most_rows(case))
    return None if refused is None else f"{case.backend} may get {most_rows(case)} rows, and {refused}"


def most_rows(case: Case) -> int:
    """Rows that the experts of one device get at the most: every slot of its data shard, or its padded capacities."""
    shape, spread = case.shape, case.parallel.spread
    slots = spread.padded_tokens(shape.tokens) // spread.dp * shape.topk
    limit = case.capacity.per_expert(assignments=slots, experts=shape.experts)
    padded = case.capacity.policy is CapacityPolicy.PAD and limit is not None
    return shape.experts // spread.ep * limit if padded and limit is not None else slots


def listing(platform: str, device_kind: str) -> Iterator[str]:
    """What each backend and implementation serves there, in lines; a backend that refuses a case says why."""
    defaults = default_backends(platform, device_kind)
    yield f"backends on {platform}:"
    for name, entry in BACKENDS.items():
        backend = entry.load(platform=platform)
        yield f"  {name}{_rank(name, defaults)}: {backend.ran()}"
        served = [mode for mode in QuantMode if mode is not QuantMode.INT8_REAL or name in INTEGER_PRODUCTS]
        for dtype in TIMED_DTYPES:
            refusal = backend.refusal(MatmulRequest(platform=platform, dtype=dtype))
            answer = f"yes, quant modes {', '.join(served)}" if refusal is None else f"no: {refusal}"
            for bench_pass in BenchPass:
                yield f"    {dtype.value} {bench_pass.value}: {answer}"
    yield "impls (every backend, dtype, pass and quant mode):"
    for impl in IMPLS.values():
        yield f"  {impl.name}: {impl.summary}"


def _rank(name: str, defaults: Sequence[Default]) -> str:
    """When a case that names no backend gets this one, in words behind its name."""
    names = [default.name for default in defaults]
    if name not in names:
        return ""
    at = names.index(name)
    when = f"default where {', '.join(names[:at])} cannot serve" if at else "default"
    why = defaults[at].why
    return f" ({when}: {why})" if why else f" ({when})"
