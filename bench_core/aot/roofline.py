"""Rooflines of cases, on slices of TPUs that need not be there, and on devices that were timed."""

from dataclasses import dataclass, replace

from bench_core.accounting import count_bytes, count_flops
from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.roofline import Peak, Resource, Slice, Term, bound, device_bytes, peaks
from bench_core.aot.targets import TARGETS, AotTarget
from bench_core.harness.case import Case
from bench_core.harness.record import Number, Row
from bench_core.harness.row import arithmetic_of, computed_rows
from bench_core.parallel.plan import SpreadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Of one device of several that share the work evenly. `sent` says where the bytes of the links come from,
    `compiled` or `model`; it is empty where one device sends nothing."""

    terms: tuple[Term, ...]
    sent: str

    @property
    def bound(self) -> Term | None:
        return bound(self.terms)

    @property
    def known(self) -> list[Term]:
        return [term for term in self.terms if term.time_s is not None]

    def observations(self) -> dict[str, Number]:
        """The least time of each resource whose peak is known, and of all."""
        times: dict[str, Number] = {f"roofline_{term.resource}_s": term.time_s for term in self.known}
        return times | ({} if self.bound is None else {"roofline_bound_s": self.bound.time_s})

    def labels(self) -> dict[str, str]:
        """The bound that holds, the peaks with their sources, and why a term is missing."""
        missing = {term.resource.value: term.peak.unknown for term in self.terms if term.peak.unknown}
        same = len(missing) == len(self.terms) and len(set(missing.values())) == 1
        unknown = [*missing.values()][:1] if same else [f"{name}: {why}" for name, why in missing.items()]
        sends = any(term.resource is Resource.ICI for term in self.known)
        labels = {
            "roofline_bound": "" if self.bound is None else self.bound.resource.value,
            "roofline_peaks": "; ".join(f"{term.resource}: {sourced(term.peak)}" for term in self.known),
            "roofline_sent": self.sent if sends else "",
            "roofline_unknown": "; ".join(unknown),
        }
        return {name: text for name, text in labels.items() if text}


def sourced(peak: Peak) -> str:
    """What it is made of, who publishes it, and what another source has."""
    return f"{peak.words} ({peak.source})" + (f", not used: {peak.other}" if peak.other else "")


def slice_of(target: AotTarget) -> Slice:
    """How its chips are linked."""
    return Slice(name=target.name, links=target.links, most_links=2 * len(target.sides))


def slice_of_devices(kind: str, count: int) -> Slice | None:
    """The slice that has so many devices; None where none is known."""
    same = (one for one in TARGETS.values() if one.device_kind == kind and one.chips * one.chip.devices == count)
    found = next(same, None)
    return None if found is None else slice_of(found)


def case_roofline(case: Case, plan: SpreadPlan, target: AotTarget, *, ring_bytes: float | None, sent: str) -> Roofline:
    """Of a case on a slice. `ring_bytes`: that each device sends; one device alone sends nothing."""
    rows, spread = computed_rows(case, plan), case.parallel.spread
    return _roofline(
        target.device_kind,
        arithmetic_of(case),
        slice_of(target),
        flops=count_flops(case.shape, case.bench_pass, assignments=rows).total / spread.devices,
        hbm_bytes=device_bytes(
            count_bytes(case.shape, case.dtype, case.bench_pass, assignments=rows), ep=spread.ep, devices=spread.devices
        ),
        ring_bytes=ring_bytes,
        sent=sent if spread.devices > 1 else None,
    )


def with_roofline(row: Row, case: Case) -> Row:
    """A timed row of several devices with the roofline of these; any other row as it is."""
    used = next((group for group in row.environment.devices if group.used), None)
    if row.failed is not None or used is None or used.used == 1:
        return row
    seen = row.observations
    compiled = seen.get("compiled_ring_bytes")
    ring_bytes = seen.get("model_ring_bytes") if compiled is None else compiled
    found = _roofline(
        used.kind,
        arithmetic_of(case),
        slice_of_devices(used.kind, used.count),
        flops=(seen["flops"] or 0) / used.used,
        hbm_bytes=seen["model_bytes_per_device"],
        ring_bytes=ring_bytes,
        sent="model" if compiled is None else "compiled",
    )
    rate: dict[str, Number] = {}
    if ring_bytes is not None and found.known:
        rate["ring_gb_per_s_of_whole_step"] = ring_bytes / float(row.summary["time_s"]) / 1e9
    return replace(row, observations={**seen, **found.observations(), **rate}, labels={**row.labels, **found.labels()})


def _roofline(
    kind: str,
    arithmetic: Arithmetic | None,
    linked: Slice | None,
    *,
    flops: Number,
    hbm_bytes: Number,
    ring_bytes: Number,
    sent: str | None,
) -> Roofline:
    limits = peaks(kind, arithmetic, linked)
    amounts = {Resource.MXU: flops, Resource.HBM: hbm_bytes} | ({} if sent is None else {Resource.ICI: ring_bytes})
    terms = tuple(Term(resource=one, amount=amount, peak=limits[one]) for one, amount in amounts.items())
    return Roofline(terms=terms, sent=sent or "")
