"""The figures of benchmarks/calibration.py as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cells import (
    BOUND,
    CLOCK_MODELS,
    EFFECTS,
    FAMILIES,
    FIVE,
    LARGE,
    NOISES,
    NONE,
    ON,
    ONCE,
    ORDER,
    ORDER_MODEL,
    ORDER_NONE,
    SWEEPS,
    clock_cells,
    missed,
    power,
)
from machines import MODELS
from simulation import Cell, Tally

Found = Sequence[tuple[Cell, Tally]]
Of = Mapping[tuple[str, str], Tally]

_POWER = """**What `logbook ab` finds within its default budget of 20 pairs**, by noise (standard deviation of a run)
and effect: settled and right, and mean pairs. {trials} trials."""
_MACHINES = """**On machines of all kinds**: a false difference where there is none, within 20 pairs, 100 pairs, five
sittings of 20 pairs, and 8 pairs that are judged once; a false *no difference* where the effect is 1%; the intervals
that hold the true effect when the comparison ends (none, 1%, 3%: the fewest). {trials} trials."""
_FAMILIES = """**Several questions at once**: a false difference in any of them, within 20 / 100 pairs.
{trials} trials."""
_CLOCKS = """**Coarse clocks**, values from 1 to 2: a false *no difference* where the effect is 3%, and the intervals
that hold the true effect (none, 0.2%, 1%, 3%: the fewest). Runs that scatter by 1% mostly end on one poll of 0.1, where
no difference can be seen. {trials} trials."""
_AGAIN = """**The worst again**, and all beyond a limit: false differences, false *no difference* and intervals within
100 pairs. {trials} new trials."""


def document(found: Found, second: Found) -> str:
    """All tables, with what is beyond a limit before them."""
    of = {(c.experiment.name, c.model): t for c, t in found}
    beyond = missed(found, second)
    parts = [
        f"Limits missed: {'; '.join(beyond) or 'none'}.",
        _stated(_POWER, found, power(0).name),
        _power(of),
        _sentences(of),
        _stated(_MACHINES, found, NONE.name),
        _machines(of),
        _stated(_FAMILIES, found, FAMILIES[0].name),
        _families(of),
        _stated(_CLOCKS, found, clock_cells()[0][0].name),
        _clocks(of),
        _stated(_AGAIN, second),
        _again(second),
    ]
    return "\n\n".join(part for part in parts if part)


def _stated(text: str, found: Found, experiment: str = "") -> str:
    """A text with the trials of an experiment's cells."""
    made = (cell.trials for cell, _ in found if experiment in ("", cell.experiment.name))
    return text.format(trials=f"{next(made, 0):,}")


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _power(of: Of) -> str:
    def cell(name: str, model: str, what: str) -> str:
        tally = of.get((name, model))
        return "" if tally is None else f"{tally.part(what):.1%}, {tally.part('pairs 20'):.1f}"

    head = ["noise", *("none" if not e else f"{e:.0%}" for e in EFFECTS)]
    whats = ["right 20" if e else "same 20" for e in EFFECTS]
    rows = [
        [noise, *(cell(power(e).name, model, what) for e, what in zip(EFFECTS, whats, strict=True))]
        for noise, model in NOISES.items()
    ]
    return _rows(head, rows)


def _sentences(of: Of) -> str:
    """What else is found, a line each."""
    lines = []
    if (order := of.get((ORDER.name, ORDER_MODEL))) and (none := of.get((ORDER_NONE.name, ORDER_MODEL))):
        lines.append(
            f"- Where the second run of a pair is 5% slower, at 1% noise: 2% is found in {order.part('right 20'):.1%} "
            f"({order.part('pairs 20'):.1f} pairs), *no difference* in {none.part('same 20'):.1%}."
        )
    powers = [of[at] for m in NOISES.values() for e in EFFECTS if (at := (power(e).name, m)) in of]
    if powers:
        wrong = max(t.part("wrong 20") for t in powers)
        lines.append(f"- A difference in the wrong direction: at most {wrong:.1%} in a cell.")
    if on := of.get((ON.name, "normal 5%")):
        shares = ", ".join(f"{on.part(f'right {b}'):.0%} by {b} pairs" for b in ON.budgets)
        lines.append(f"- Going on, with an effect of 3% at 5% noise: {shares}.")
    lines += [
        f"- {e.name.capitalize()} (1% noise, two runs of each, one is 3% better), then fresh pairs of the best against "
        f"the base: found in {t.part('right'):.1%} with {t.part('runs'):.0f} runs."
        for e in SWEEPS
        if (t := of.get((e.name, "normal 1%")))
    ]
    return "\n".join(lines)


def _machines(of: Of) -> str:
    def part(name: str, model: str, what: str) -> str:
        tally = of.get((name, model))
        return "" if tally is None else f"{tally.part(what):.1%}"

    def covered(model: str) -> str:
        there = [t for e in (NONE, BOUND, LARGE) if (t := of.get((e.name, model)))]
        return f"{min(t.part(f'covered {b}') for t in there for b in (20, 100)):.1%}" if there else ""

    head = [
        "machine",
        "up to 20 pairs",
        "up to 100",
        "five sittings of 20",
        "8 once",
        "false *no difference*",
        "intervals",
    ]
    rows = [
        [
            model,
            part(NONE.name, model, "claimed 20"),
            part(NONE.name, model, "claimed 100"),
            part(FIVE.name, model, "claimed 100"),
            part(ONCE.name, model, "claimed 8"),
            part(BOUND.name, model, "same 100"),
            covered(model),
        ]
        for model in MODELS
        if (NONE.name, model) in of
    ]
    return _rows(head, rows) if rows else ""


def _families(of: Of) -> str:
    models = list(dict.fromkeys(m for e in FAMILIES for m in MODELS if (e.name, m) in of))
    rows = []
    for e in FAMILIES:
        shown = [of.get((e.name, m)) for m in models]
        both = ["" if t is None else f"{t.part('claimed 20'):.1%} / {t.part('claimed 100'):.1%}" for t in shown]
        rows.append([e.name, *both])
    return _rows(["", *models], rows) if models else ""


def _clocks(of: Of) -> str:
    by_clock: dict[str, list[str]] = {}
    for e, _ in clock_cells():
        by_clock.setdefault(e.clock, []).append(e.name)
    rows = []
    for clock, names in by_clock.items():
        shown = []
        for model in CLOCK_MODELS:
            there = [of[name, model] for name in dict.fromkeys(names) if (name, model) in of]
            shown += (
                [f"{there[-1].part('same 20'):.1%}", f"{min(t.part('covered 20') for t in there):.1%}"]
                if there
                else ["", ""]
            )
        rows.append([clock, *shown])
    return _rows(
        ["reported in", *(f"{m}: {what}" for m in CLOCK_MODELS for what in ("*no difference*", "intervals"))], rows
    )


def _again(second: Found) -> str:
    rows = []
    for cell, t in second:
        b = cell.experiment.budgets[-1]
        is_none = not cell.experiment.effect
        claimed, same = (f"{t.part(f'{what} {b}'):.1%}" for what in ("claimed", "same"))
        rows.append([cell.name, claimed if is_none else "", "" if is_none else same, f"{t.part(f'covered {b}'):.1%}"])
    return _rows(["", "difference", "*no difference*", "intervals"], rows) if rows else ""
