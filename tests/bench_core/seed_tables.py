"""The tables of docs/explanation/prediction.md, from the kept terms and the published rows. Pure."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from seed_errors import GROUPS, Compared, compare_rows, errors, once, unseen
from seed_rows import SeedRow, parts_of, terms_of_row

from bench_core.predict.calibration import Calibration, fit
from bench_core.predict.model import Seconds
from bench_core.predict.slice import SliceRates
from bench_core.predict.terms import Terms

STUDY = "grug_moe_ep_vs_dp_logbook.md"
STUDY_LINES = {
    "batch 192": ((38, 39), (42, 43)),
    "batch 1920": ((67, 68), (71, 72)),
    "batch 1920, 4 expert devices": ((96, 97), (100, 101)),
}


def tables(rows: Sequence[SeedRow], document: Mapping[str, Any], fitted: Calibration, rates: SliceRates) -> str:
    """All of them, as Markdown."""
    compared = compare_rows(unseen(rows), document, fitted, rates)
    parts = [
        _factors(fitted),
        _by_group(compared),
        _by_ratio(compared),
        _worst(compared),
        _study(rows, document, fitted, rates),
        _tried(rows, document, rates),
        _bounds(compared),
        _cost(document),
    ]
    return "\n\n".join(parts)


def _factors(fitted: Calibration) -> str:
    return (
        f"Plain matmuls take {fitted.matmul_factor:.2f} times, grouped matmuls and HBM traffic "
        f"{fitted.routed_factor:.2f} times what published rates give. Nine in ten of {fitted.range_of} lie between "
        f"{fitted.low:.2f} and {fitted.high:.2f} times their estimate."
    )


def _table(head: str, lines: Sequence[Sequence[str]]) -> str:
    """`head`: the names of the columns with bars between them, of which the first is words."""
    names = head.split(" | ")
    marks = ["---"] + ["---:"] * (len(names) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in (names, marks, *lines))


def _by_group(compared: Sequence[Compared]) -> str:
    head = "rows | count | cases | rank correlation | median error | largest | tends to | directions claimed | right"
    lines = []
    for name, belongs in GROUPS.items():
        own = [one for one in compared if belongs(one.row.marks)]
        for label, some in ((name, own), *([("  each case once", once(own))] if name == "all of these" else [])):
            found = errors(some)
            lines.append(
                [
                    label.strip(),
                    str(found.rows),
                    str(found.cases),
                    f"{found.rank_correlation:.3f}",
                    f"{100 * found.median:.1f}%",
                    f"{100 * found.largest:.0f}%",
                    f"{100 * found.bias:+.1f}%",
                    str(found.claimed),
                    f"{100 * found.right / found.claimed:.1f}%",
                ]
            )
    return _table(head, lines)


def _by_ratio(compared: Sequence[Compared]) -> str:
    bins = [("1.5 and more", 1.5), ("1.3 to 1.5", 1.3), ("1.2 to 1.3", 1.2), ("1.1 to 1.2", 1.1), ("below 1.1", 1.0)]
    found = {name: [0, 0] for name, _ in bins}
    for a, b in itertools.combinations(compared, 2):
        if a.row.case == b.row.case or a.estimate_s == b.estimate_s:
            continue
        ratio = max(a.estimate_s, b.estimate_s) / min(a.estimate_s, b.estimate_s)
        cell = found[next(name for name, least in bins if ratio >= least)]
        cell[0] += 1
        cell[1] += (a.estimate_s > b.estimate_s) == (a.time_s > b.time_s)
    lines = [[name, str(pairs), f"{100 * right / pairs:.1f}%"] for name, (pairs, right) in found.items()]
    return _table("predicted ratio of two cases | pairs of rows | direction right", lines)


def _worst(compared: Sequence[Compared]) -> str:
    worst = sorted(once(compared), key=lambda one: -abs(one.error))[:6]
    lines = [
        [
            f"`{_short(one.row)}`",
            one.row.source,
            f"{1e3 * one.time_s:.1f} ms",
            f"{1e3 * one.estimate_s:.1f} ms",
            f"{100 * one.error:+.0f}%",
        ]
        for one in worst
    ]
    return _table("the largest errors | row | measured | estimate | error", lines)


def _short(row: SeedRow) -> str:
    """What tells the case from others of its logbook."""
    left_out = ("backend gmm", "impl fused_w13", "shared-expert-dim 0", "bench-pass forward_backward")
    words = [word for word in row.options.removeprefix("--").split(" --") if word not in left_out]
    return " ".join(word.split(" ", 1)[-1] if word.startswith(("parallel", "bench")) else word for word in words)


def _study(rows: Sequence[SeedRow], document: Mapping[str, Any], fitted: Calibration, rates: SliceRates) -> str:
    at = {row.source: row for row in rows if "dp_study" in row.marks and "baseline_dp" not in row.marks}
    lines, ratios = [], []
    for name, pairs in STUDY_LINES.items():
        for pair in pairs:
            dp, ep = (at[f"{STUDY}:{line}"] for line in pair)
            times = [dp.time_s, ep.time_s]
            estimates = [fitted.estimate(parts_of(document, row, rates)) for row in (dp, ep)]
            ratios += [time_s / estimate_s for time_s, estimate_s in zip(times, estimates, strict=True)]
            lines.append(
                [
                    f"{name}, topk {dp.case.shape.topk}",
                    *(f"{1e3 * time_s:.1f} ms" for time_s in times),
                    f"{times[0] / times[1]:.2f}",
                    *(f"{1e3 * time_s:.1f} ms" for time_s in estimates),
                    f"{estimates[0] / estimates[1]:.2f}",
                ]
            )
    head = "data x expert against data parallelism | dp | dp_ep | ratio | dp, estimate | dp_ep, estimate | ratio"
    said = (
        f"Of this study only the directions test the model. Its times are {min(ratios):.1f} to {max(ratios):.1f} times "
        "the estimates, for a reason that its logbook does not tell."
    )
    return f"{_table(head, lines)}\n\n{said}"


def _plain(parts: Seconds, terms: Terms, rates: SliceRates) -> Seconds:
    return parts


def _once_read(parts: Seconds, terms: Terms, rates: SliceRates) -> Seconds:
    return replace(parts, memory=parts.memory - terms.kernel_bytes / rates.hbm)


def _separate(parts: Seconds, terms: Terms, rates: SliceRates) -> Seconds:
    bytes_s = terms.matmul_bytes / rates.hbm
    return replace(parts, matmul=terms.matmul_flops / rates.flops, memory=parts.memory + bytes_s)


def _without_padding(parts: Seconds, terms: Terms, rates: SliceRates) -> Seconds:
    return replace(parts, grouped=terms.kernel_flops / rates.flops)


def _without_rows(parts: Seconds, terms: Terms, rates: SliceRates) -> Seconds:
    return replace(parts, memory=parts.memory - terms.moved_bytes / rates.hbm)


TRIED: Mapping[str, Callable[[Seconds, Terms, SliceRates], Seconds]] = {
    "the model": _plain,
    "grouped matmuls read nothing that their FLOPs do not hide": _once_read,
    "bytes of plain matmuls beside their FLOPs": _separate,
    "grouped matmuls without the padding of tiles": _without_padding,
    "rows are gathered and scattered for nothing": _without_rows,
}
"""Other sums, each with factors fitted to the same three rows."""


def _tried(rows: Sequence[SeedRow], document: Mapping[str, Any], rates: SliceRates) -> str:
    lines = []
    for name, change in TRIED.items():

        def parts(row: SeedRow, change: Callable[[Seconds, Terms, SliceRates], Seconds] = change) -> Seconds:
            return change(parts_of(document, row, rates), terms_of_row(document, row), rates)

        marked = [row for row in rows if "fit" in row.marks]
        matmul, routed = fit([parts(row) for row in marked], [row.time_s for row in marked])
        compared = []
        for row in unseen(rows):
            own = parts(row)
            estimate = matmul * own.matmul + routed * own.routed + own.unscaled
            compared.append(Compared(row=row, time_s=row.time_s, estimate_s=estimate, send_s=own.send, bound_s=0.0))
        found = errors(compared)
        lines.append(
            [
                name,
                f"{matmul:.2f}, {routed:.2f}",
                f"{found.rank_correlation:.3f}",
                f"{100 * found.median:.1f}%",
                f"{100 * found.largest:.0f}%",
            ]
        )
    return _table("sum | factors | rank correlation | median error | largest", lines)


def _bounds(compared: Sequence[Compared]) -> str:
    closest = max(compared, key=lambda one: one.bound_s / one.time_s)
    share = f"{100 * closest.bound_s / closest.time_s:.0f}%"
    return f"The lower bound is never above a measured time: it is at most {share} of one ({closest.row.source})."


def _cost(document: Mapping[str, Any]) -> str:
    took = sorted(program["processor_s"] for program in document["programs"].values())
    return (
        f"The {len(took)} programs took {took[len(took) // 2]:.1f} processor-seconds each in the middle, "
        f"the largest {took[-1]:.1f}, on a machine without other work; "
        f"lowering and drawing the routing are part of it (jax {document['jax']}, libtpu {document['libtpu']})."
    )


def document_with(page: str, text: str) -> str:
    """The page with the tables in their place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


BEGIN, END = "<!-- predict-seeds -->", "<!-- /predict-seeds -->"
