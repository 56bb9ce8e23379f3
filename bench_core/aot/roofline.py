"""Rooflines on slices of TPUs that need not be there, and of the devices that a row was timed on."""

from dataclasses import dataclass, replace

from bench_core.accounting import count_bytes, count_flops
from bench_core.accounting.roofline import Peak, Resource, Slice, Term, bound, device_bytes, peaks
from bench_core.aot.targets import TARGETS, AotTarget
from bench_core.harness.case import Case
from bench_core.harness.record import Number, Row
from bench_core.harness.row import arithmetic_of, computed_rows
from bench_core.parallel.plan import SpreadPlan

MODEL, COMPILED = "roofline", "compiled"
"""How keys begin of times that follow from the model, and from a compiled program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """Of one device. One that has nobody to send to has no term of `ici`."""

    terms: tuple[Term, ...]

    @property
    def bound(self) -> Term | None:
        return bound(self.terms)

    @property
    def known(self) -> list[Term]:
        return [term for term in self.terms if term.time_s is not None]

    def of(self, resource: Resource) -> Term | None:
        return next((term for term in self.terms if term.resource is resource), None)

    def observations(self, prefix: str) -> dict[str, Number]:
        """The least time of each resource whose peak is known, and of all."""
        times: dict[str, Number] = {f"{prefix}_{term.resource}_s": term.time_s for term in self.known}
        return times | ({} if self.bound is None else {f"{prefix}_bound_s": self.bound.time_s})

    def labels(self) -> dict[str, str]:
        """The bound that holds, the peaks with their sources, and why a term is missing."""
        missing = {term.resource.value: term.peak.unknown for term in self.terms if term.peak.unknown}
        same = len(missing) == len(self.terms) and len(set(missing.values())) == 1
        unknown = [*missing.values()][:1] if same else [f"{name}: {why}" for name, why in missing.items()]
        labels = {
            "roofline_bound": "" if self.bound is None else self.bound.resource.value,
            "roofline_peaks": "; ".join(f"{term.resource}: {sourced(term.peak)}" for term in self.known),
            "roofline_unknown": "; ".join(unknown),
        }
        return {name: text for name, text in labels.items() if text}


def sourced(peak: Peak) -> str:
    """What it is made of, who publishes it, and what another source has."""
    return f"{peak.words} ({peak.source})" + (f", not used: {peak.other}" if peak.other else "")


def whole_step(prefix: str, ring_bytes: Number, time_s: float) -> dict[str, Number]:
    """The bytes that a device sends over the time of the whole call, in GB/s: how busy links were, not how fast."""
    return {} if ring_bytes is None else {f"{prefix}_ring_gb_per_s_of_whole_step": ring_bytes / time_s / 1e9}


def slice_of(target: AotTarget) -> Slice:
    """How its chips are linked."""
    return Slice(name=target.name, links=target.links, most_links=2 * len(target.sides))


def slice_of_devices(kind: str, count: int) -> Slice | None:
    """The slice that has so many devices; None where none is known."""
    same = (one for one in TARGETS.values() if one.device_kind == kind and one.devices == count)
    found = next(same, None)
    return None if found is None else slice_of(found)


def roofline_on(
    target: AotTarget, case: Case, *, flops: Number, hbm_bytes: Number, ring_bytes: Number, sends: bool
) -> Roofline:
    """Of what each device of a slice has to do. `sends`: there are several."""
    limits = peaks(target.device_kind, arithmetic_of(case), slice_of(target))
    return _roofline(limits, flops=flops, hbm_bytes=hbm_bytes, ring_bytes=ring_bytes, sends=sends)


def case_roofline(case: Case, plan: SpreadPlan, target: AotTarget, *, ring_bytes: float) -> Roofline:
    """Of the model of a case, whose devices share the work evenly. `ring_bytes`: that each of them sends."""
    rows, spread = computed_rows(case, plan), case.parallel.spread
    moved = count_bytes(case.shape, case.dtype, case.bench_pass, assignments=rows)
    return roofline_on(
        target,
        case,
        flops=count_flops(case.shape, case.bench_pass, assignments=rows).total / spread.devices,
        hbm_bytes=device_bytes(moved, ep=spread.ep, devices=spread.devices),
        ring_bytes=ring_bytes,
        sends=spread.devices > 1,
    )


def with_roofline(row: Row, case: Case) -> Row:
    """A timed row of several devices with the roofline of these; any other row as it is."""
    used = next((group for group in row.environment.devices if group.used), None)
    if row.failed is not None or used is None or used.used == 1:
        return row
    seen, time_s = row.observations, float(row.summary["time_s"])
    limits = peaks(used.kind, arithmetic_of(case), slice_of_devices(used.kind, used.count))
    model, compiled = seen.get("model_ring_bytes"), seen.get("compiled_ring_bytes")
    found = _roofline(
        limits,
        flops=(seen["flops"] or 0) / used.used,
        hbm_bytes=seen["model_bytes_per_device"],
        ring_bytes=model,
        sends=True,
    )
    more: dict[str, Number] = {}
    if found.known:
        sent = Term(resource=Resource.ICI, amount=compiled, peak=limits[Resource.ICI]).time_s
        more = {} if sent is None else {f"{COMPILED}_ici_s": sent}
        more |= whole_step("model", model, time_s) | whole_step(COMPILED, compiled, time_s)
    observations = {**seen, **found.observations(MODEL), **more}
    return replace(row, observations=observations, labels={**row.labels, **found.labels()})


def _roofline(
    limits: dict[Resource, Peak], *, flops: Number, hbm_bytes: Number, ring_bytes: Number, sends: bool
) -> Roofline:
    amounts = {Resource.MXU: flops, Resource.HBM: hbm_bytes} | ({Resource.ICI: ring_bytes} if sends else {})
    return Roofline(terms=tuple(Term(resource=one, amount=amount, peak=limits[one]) for one, amount in amounts.items()))
