"""The backend of a case that names none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench_core.errors import UnsupportedCase
from bench_core.gmm.registry import Default, default_backends
from bench_core.harness.case import Case
from bench_core.harness.run import load_backend
from bench_core.routing.request import CapacityPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A case with the backend that it was given. `why`: where a table or a refusal decided."""

    case: Case
    why: str | None = None

    def labels(self) -> dict[str, str]:
        return {} if self.why is None else {"default_backend": f"{self.case.backend}: {self.why}"}


def choose_backends(cases: Sequence[Case], *, named: bool, platform: str, device_kind: str) -> list[Chosen]:
    """The cases with their own backends where these were `named`, else with the device's default."""
    if named:
        return [Chosen(case=case) for case in cases]
    return [with_default_backend(case, platform=platform, device_kind=device_kind) for case in cases]


def with_default_backend(case: Case, *, platform: str, device_kind: str) -> Chosen:
    """The case with the first default backend of the platform's device that serves it.

    Where none does it has the last one, whose refusal becomes its row.
    """
    *preferred, last = default_backends(platform, device_kind)
    refusals: list[str] = []
    for default in preferred:
        refusal = _refusal(replace(case, backend=default.name), platform=platform)
        if refusal is None:
            return _chosen(case, default, refusals)
        refusals.append(refusal)
    return _chosen(case, last, refusals)


def _chosen(case: Case, default: Default, refusals: list[str]) -> Chosen:
    whys = [*refusals, *([] if default.why is None else [default.why])]
    return Chosen(case=replace(case, backend=default.name), why="; ".join(whys) or None)


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
