"""What a case has each device do at the least, and the rooflines of timed rows."""

from dataclasses import replace

import numpy as np

from bench_core.accounting import count_flops
from bench_core.accounting.chips import CHIPS
from bench_core.accounting.roofline import Resource, Slice, Term, Work, least_bytes, peaks, roofline
from bench_core.aot.targets import TARGETS
from bench_core.arrays import Int32
from bench_core.blocks.inputs import make_routing
from bench_core.harness.case import Case
from bench_core.harness.record import Number, Row
from bench_core.harness.row import arithmetic_of, computed_rows
from bench_core.parallel.block import padded_routing
from bench_core.parallel.communication import model_ring_bytes, sendings
from bench_core.parallel.plan import Buckets, SpreadPlan, plan_spread
from bench_core.parallel.spread import EpImpl, Spread
from bench_core.shapes import BenchPass


def case_work(case: Case) -> tuple[Work, dict[str, float]]:
    """The least work of a device, whatever program computes the case in its form, and the bytes that the form sends, by
    the keys of `parallel.communication`. The routing is drawn: experts without rows are not read."""
    shape, spread = case.shape, case.parallel.spread
    routing = padded_routing(make_routing(case.seed, shape=shape, request=case.routing), spread, shape.experts)
    chosen = np.asarray(routing.experts)
    plan = plan_spread(chosen, tokens=shape.tokens, experts=shape.experts, capacity=case.capacity, spread=spread)
    kept = chosen if plan.buckets is None else _kept(chosen, plan.buckets, shape.experts)
    mean = _of_mean_device(plan, chosen, shape.experts)
    sent = model_ring_bytes(sendings(shape, case.dtype, case.bench_pass, mean))
    flops = count_flops(shape, case.bench_pass, assignments=computed_rows(case, plan))
    work = Work(
        arithmetic=arithmetic_of(case),
        flops=flops / spread.devices,
        hbm_bytes=least_bytes(
            shape,
            case.dtype,
            case.bench_pass,
            read=_read_experts(kept, shape.experts, spread),
            stored=shape.experts // spread.ep,
            read_tokens=_read_tokens(case, kept) / spread.devices,
            tokens=shape.tokens / spread.devices,
        ),
        ring_bytes=_least_ring_bytes(case, mean) if spread.devices > 1 else None,
    )
    return work, sent


def _least_ring_bytes(case: Case, plan: SpreadPlan) -> float:
    """What any program of the form sends. Where every device gets all tokens of its data shard it may compute the whole
    gradients of a shared expert and of a router, as the published programs do, and nothing of them is summed."""
    shape, bench_pass = case.shape, case.bench_pass
    if plan.spread.impl in (EpImpl.PSUM, EpImpl.RING):
        shape = replace(shape, shared_expert_dim=0)
        bench_pass = BenchPass.FORWARD_BACKWARD if bench_pass.backward else bench_pass
    return model_ring_bytes(sendings(shape, case.dtype, bench_pass, plan))["model_ring_bytes"]


def _kept(chosen: Int32[np.ndarray, "padded topk"], buckets: Buckets, experts: int) -> Int32[np.ndarray, "padded topk"]:
    """With null slots in the place of those that a capacity drops. Buckets may be of the tokens alone."""
    kept = chosen.copy()
    kept[: len(buckets.of)][~buckets.kept] = experts
    return kept


def _read_tokens(case: Case, kept: Int32[np.ndarray, "padded topk"]) -> int:
    """All where a shared expert or a router reads them, else those with a row."""
    if case.shape.shared_expert_dim or case.has_router:
        return case.shape.tokens
    return int((kept < case.shape.experts).any(axis=1).sum())


def _read_experts(chosen: Int32[np.ndarray, "tokens topk"], experts: int, spread: Spread) -> int:
    """The experts with rows of the device that has the most of them. Where XLA's partitioner shares out the work, they
    may be shared out, too."""
    if spread.auto:
        return _with_rows(chosen, experts, spread.ep) // spread.dp
    return max(_with_rows(part, experts, spread.ep) for part in np.array_split(chosen, spread.dp))


def _with_rows(chosen: Int32[np.ndarray, "tokens topk"], experts: int, ep: int) -> int:
    rows = np.bincount(chosen.reshape(-1), minlength=experts)[:experts]
    return int((rows.reshape(ep, -1) > 0).sum(axis=1).max())


def _of_mean_device(plan: SpreadPlan, chosen: Int32[np.ndarray, "tokens topk"], experts: int) -> SpreadPlan:
    """The plan, in which a ragged all-to-all sends what leaves a device in the mean. Its own numbers are those of the
    device with the most rows, some of which stay where they are."""
    spread = plan.spread
    if spread.impl is not EpImpl.RAGGED_ALL_TO_ALL:
        return plan
    source = (np.arange(len(chosen)) * spread.devices // len(chosen))[:, None]
    stays = (chosen < experts) & (source % spread.ep == chosen // (experts // spread.ep))
    leave = max(0, plan.assignments.real - int(stays.sum())) / spread.devices
    # Of what is sent, a ring counts the part that goes to others.
    rows = int(leave * spread.ep / (spread.ep - 1))
    return replace(plan, sent_rows=rows, rows=(rows,), assignments=replace(plan.assignments, layout=None))


def slice_of_devices(kind: str, count: int) -> Slice | None:
    """The slice that has so many devices; None where none is known."""
    same = (one for one in TARGETS.values() if one.device_kind == kind and one.devices == count)
    found = next(same, None)
    return None if found is None else found.slice


def whole_step(prefix: str, ring_bytes: Number, time_s: float) -> dict[str, Number]:
    """The bytes that a device sends over the time of the whole call, in GB/s: how busy links were, not how fast."""
    return {} if ring_bytes is None else {f"{prefix}_ring_gb_per_s_of_whole_step": ring_bytes / time_s / 1e9}


def with_roofline(row: Row, case: Case) -> Row:
    """A timed row of several devices with the roofline of these; any other row as it is."""
    used = next((group for group in row.environment.devices if group.used), None)
    if row.failed is not None or used is None or used.used == 1:
        return row
    linked = slice_of_devices(used.kind, used.count)
    nothing = Work(arithmetic=None, flops=0, hbm_bytes=0, ring_bytes=0)
    work = case_work(case)[0] if used.kind in CHIPS else nothing
    found = roofline(work, used.kind, linked)
    more: dict[str, Number] = {}
    if found.known:
        seen, time_s = row.observations, float(row.summary["time_s"])
        model, compiled = seen.get("model_ring_bytes"), seen.get("compiled_ring_bytes")
        link = peaks(used.kind, None, linked)[Resource.ICI]
        sent = None if compiled is None else Term(resource=Resource.ICI, amount=compiled, peak=link).time_s
        more = {} if sent is None else {"compiled_ici_s": sent}
        more["roofline_hbm_bytes"] = work.hbm_bytes
        more |= whole_step("model", model, time_s) | whole_step("compiled", compiled, time_s)
    observations = {**row.observations, **found.observations(), **more}
    return replace(row, observations=observations, labels={**row.labels, **found.labels()})
