"""The tables of predictions in benchmarks/README.md, from the kept costs and the published rows. Pure."""

import itertools
from collections.abc import Sequence

from seed_errors import (
    GROUPS,
    Compared,
    against_one_device,
    compared,
    errors,
    flops_alone,
    scored_rows,
    without_move,
)
from seed_rows import FORMS, kept, predicted, read_rows

from bench_core.accounting.prediction import outcome
from bench_core.predict.model import Calibration

STUDY = "grug_moe_ep_vs_dp_logbook.md"
STUDY_LINES = {
    "batch 192": ((38, 39), (42, 43)),
    "batch 1920": ((67, 68), (71, 72)),
    "batch 1920, 4 expert devices": ((96, 97), (100, 101)),
}
NAMED = {"command": "`predict`", "published": "`predict --published`"}


def tables(fitted: Calibration) -> str:
    """All of them, as Markdown."""
    rows = scored_rows(unseen=True)
    by_form = {form: compared(rows, form, fitted) for form in FORMS}
    parts = [
        _by_group(by_form),
        _said(by_form, fitted),
        _by_ratio(by_form),
        _one_device({form: compared(scored_rows(unseen=False), form, fitted) for form in FORMS}),
        _study(fitted),
        _bounds([one for some in by_form.values() for one in some]),
        _cost(),
    ]
    return "\n\n".join(parts)


def _table(head: str, lines: Sequence[Sequence[str]]) -> str:
    """`head`: the names of the columns with bars between them, of which the first is words."""
    names = head.split(" | ")
    marks = ["---"] + ["---:"] * (len(names) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in (names, marks, *lines))


def _by_group(by_form: dict[str, list[Compared]]) -> str:
    head = (
        "command and rows | rows | Spearman | median error | largest | tends to | in range | directions right | "
        "of pairs that differ in one option"
    )
    lines = []
    for form, some in by_form.items():
        for name, belongs in GROUPS.items():
            found = errors([one for one in some if belongs(one.row.marks)])
            lines.append(
                [
                    f"{NAMED[form]}: {name}",
                    str(found.rows),
                    f"{found.rank_correlation:.3f}",
                    f"{100 * found.median:.1f}%",
                    f"{100 * found.largest:.0f}%",
                    f"{100 * found.bias:+.1f}%",
                    f"{found.inside}" if form == "published" else "none printed",
                    f"{found.right} of {found.claimed}",
                    f"{found.one_right} of {found.one_claimed}",
                ]
            )
    return _table(head, lines)


def _said(by_form: dict[str, list[Compared]], fitted: Calibration) -> str:
    some = by_form["published"]
    within = sum(fitted.low <= one.time_s / one.estimate_s <= fitted.high for one in by_form["command"])
    return (
        f"The factors are {fitted.matmul_factor:.2f} and {fitted.routed_factor:.2f}. The range is {fitted.low:.2f} to "
        f"{fitted.high:.2f} times an estimate: nine in ten of these rows of `--published`, so it is fitted to them. Of "
        f"`predict`, {within} of {len(by_form['command'])} would lie in it. `move_arguments` was chosen after the rows "
        "were seen; without it the median error of `--published` is "
        f"{100 * errors(without_move(some)).median:.1f}%. FLOPs of a device alone have a Spearman of "
        f"{flops_alone(some):.3f}. `predict` has tiles of 128 x 128 x 128, with which routed work costs more than in "
        "the published rows, so it errs where two cases differ in routed and in shared work. Directions are those of "
        "pairs of as many devices, from a ratio of 1.2 on."
    )


def _by_ratio(by_form: dict[str, list[Compared]]) -> str:
    bins = [("1.5 and more", 1.5), ("1.3 to 1.5", 1.3), ("1.2 to 1.3", 1.2), ("1.1 to 1.2", 1.1), ("below 1.1", 1.0)]
    lines = []
    cells = {name: [name] for name, _ in bins}
    for some in by_form.values():
        found = {name: [0, 0] for name, _ in bins}
        for a, b in itertools.combinations(some, 2):
            if a.row.case == b.row.case or a.estimate_s == b.estimate_s or a.said.devices != b.said.devices:
                continue
            ratio = max(a.estimate_s, b.estimate_s) / min(a.estimate_s, b.estimate_s)
            cell = found[next(name for name, least in bins if ratio >= least)]
            cell[0] += 1
            cell[1] += (a.estimate_s > b.estimate_s) == (a.time_s > b.time_s)
        for name, (pairs, right) in found.items():
            cells[name] += [str(pairs), f"{100 * right / max(1, pairs):.1f}%"]
    lines = list(cells.values())
    return _table("predicted ratio of two cases | `predict`: pairs | right | `--published`: pairs | right", lines)


def _one_device(by_form: dict[str, list[Compared]]) -> str:
    head = (
        "expert parallelism over four devices against one | pairs | directions claimed | right | wrong if 1.2 decided"
    )
    lines = []
    for form, some in by_form.items():
        pairs = against_one_device(some)
        claims = [(a, b, outcome(a.said, b.said).word) for a, b in pairs]
        claimed = [(a.time_s > b.time_s) == (word == "wins") for a, b, word in claims if word in ("wins", "loses")]
        wrong = sum(
            max(r := a.estimate_s / b.estimate_s, 1 / r) >= 1.2 and (r > 1) != (a.time_s > b.time_s) for a, b in pairs
        )
        lines.append([NAMED[form], str(len(pairs)), str(len(claimed)), str(sum(claimed)), str(wrong)])
    return _table(head, lines)


def _study(fitted: Calibration) -> str:
    at = {row.source: row for row in read_rows() if "dp_study" in row.marks and "baseline_dp" not in row.marks}
    lines, ratios = [], []
    for name, pairs in STUDY_LINES.items():
        for pair in pairs:
            dp, ep = (at[f"{STUDY}:{line}"] for line in pair)
            times = [dp.time_s, ep.time_s]
            estimates = [predicted(row, "command", fitted).estimate or 0.0 for row in (dp, ep)]
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
    head = "`predict`: data x expert against data | dp | dp_ep | ratio | dp, estimate | dp_ep, estimate | ratio"
    said = (
        f"Of this study only the directions test the model. Its times are {min(ratios):.1f} to {max(ratios):.1f} times "
        "the estimates, for a reason that its logbook does not tell."
    )
    return f"{_table(head, lines)}\n\n{said}"


def _bounds(some: Sequence[Compared]) -> str:
    closest = max(some, key=lambda one: (one.said.bound or 0.0) / one.time_s)
    share = f"{100 * (closest.said.bound or 0.0) / closest.time_s:.0f}%"
    return f"The lower bound is never above a measured time: it is at most {share} of one ({closest.row.source})."


def _cost() -> str:
    took = sorted(program["processor_s"] for form in FORMS for program in kept()[form].values())
    return (
        f"The {len(took)} programs took {took[len(took) // 2]:.1f} processor-seconds each in the middle, the largest "
        f"{took[-1]:.1f} (jax {kept()['jax']}, libtpu {kept()['libtpu']})."
    )


def document_with(page: str, text: str) -> str:
    """The page with the tables in their place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


BEGIN, END = "<!-- predict-seeds -->", "<!-- /predict-seeds -->"
