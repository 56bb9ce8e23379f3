"""What pages say of predictions: of those that an entry made, how they came true, and what had been predicted of the
cases that an entry measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.predictions.rows import pairs_of, predicted_rows
from logbook_agent.findings.predictions.words import outcome_text, predicted_parts, seconds_text, short_text, terms_text
from logbook_agent.model.record import Record
from logbook_agent.text import markdown as md

if TYPE_CHECKING:
    from bench_core.accounting.prediction import Prediction
    from logbook_agent.findings.predictions.checked import Check, Checks, Direction

# A page of an entry stays as short as a person can read.
_SHOWN = 100
_SHOWN_HEADLINE = 4
_SHOWN_CAUTIONS = 10
NOT_MEASURED = "predicted, not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What follows from other entries, in lines of Markdown: how the predictions of an entry came true (`checked`), and
    what had been predicted of its measurements (`before`)."""

    checked: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


NOTHING = Beside()


def predicted_section(record: Record) -> str:
    """Every prediction of an entry with its terms, and what the rows claim against one another. What all of them share
    is said once, in front."""
    found = predicted_rows(record)
    shared = _shared([one.said for one in found]) if len(found) > 1 else _NOT_SHARED
    lines = [_lines_of("all of these: " + "; ".join(shared.parts), [], shared.notes)] if shared.parts else []
    for one in found[:_SHOWN]:
        said = one.said
        text = "; ".join(part for part in predicted_parts(said) if part not in shared.parts)
        notes = [note for note in said.cautions if not shared.parts or note not in shared.notes]
        lines.append(_lines_of(f"{one.name}: {text}" if one.name else text, _terms(said), notes))
    if (more := len(found) - _SHOWN) > 0:
        lines.append(f"and {more:,} more predictions: `logbook show {record.id} --json`")
    pairs = pairs_of(record, found)
    lines += [
        md.escape(f"{found[p.other].name} against {found[p.base].name}: {outcome_text(p.outcome)}")
        for p in pairs[:_SHOWN]
    ]
    return md.items(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What several predictions have in common: parts of their texts, and notes."""

    parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_NOT_SHARED = _Shared()


def _shared(said: Sequence[Prediction]) -> _Shared:
    """Behind the times, which are those of each. Without a shared part there are no shared notes either."""
    parts = [dict.fromkeys(predicted_parts(one)[1:]) for one in said]
    notes = [dict.fromkeys(one.cautions) for one in said]
    return _Shared(
        parts=tuple(part for part in parts[0] if all(part in own for own in parts)),
        notes=tuple(note for note in notes[0] if all(note in own for own in notes)),
    )


def _terms(said: Prediction) -> list[str]:
    return [f"of this: {terms}"] if (terms := terms_text(said)) else []


def _lines_of(text: str, below: Sequence[str], notes: Sequence[str]) -> str:
    """An item of a list, with what stands below it."""
    below = [*below, *(f"note: {md.one_line(note)}" for note in notes[:_SHOWN_CAUTIONS])]
    line = md.escape(text)
    return f"{line}\n{md.items(list(map(md.escape, below)))}" if below else line


def headline(record: Record) -> str | None:
    """`predicted, not measured: 7.9 ms (6.1 to 10.3)`; None where an entry predicts nothing and was not to."""
    found = predicted_rows(record) if any(status.run.predictions for status in record.runs) else []
    if not found:
        is_done = record.entry.is_prediction and record.state == "finished"
        asked = record.entry.predicting
        makes = asked is not None and asked.target is None
        return ("a calibration" if makes else "nothing was predicted") if is_done else None
    pairs = pairs_of(record, found)
    if pairs:
        texts = [f"{found[p.other].name} against {found[p.base].name} {p.outcome.word.value}" for p in pairs]
    else:
        texts = [f"{one.name} {short_text(one.said)}".strip() for one in found]
    more = len(texts) - _SHOWN_HEADLINE
    return f"{NOT_MEASURED}: " + "; ".join([*texts[:_SHOWN_HEADLINE], *([f"and {more} more"] if more > 0 else [])])


def beside(checks: Checks, entry_id: str) -> Beside:
    """What the page of an entry says of its predictions and measurements that follows from other entries."""
    own = checks.of_entry.get(entry_id, [])
    checked = [md.escape(text) for check in own if (text := _checked(check))]
    checked += [md.escape(text) for d in checks.directions_of.get(entry_id, ()) if (text := _direction(d))]
    before = [md.escape(_before(check)) for check in checks.checked_by(entry_id)]
    return Beside(checked=_bounded(checked), before=_bounded(before))


def _bounded(lines: Sequence[str]) -> tuple[str, ...]:
    more = len(lines) - _SHOWN
    return (*lines[:_SHOWN], *([f"and {more:,} more: `logbook predictions --json`"] if more > 0 else []))


def _checked(check: Check) -> str:
    """`none: measured 8.2 ms in MOE-004 (6 runs); predicted / measured 0.96, inside the range, bound held`."""
    name = f"{check.name}: " if check.name else ""
    notes = []
    if check.before:
        notes.append(f"the case had been measured before, in {', '.join(check.before)}")
    if check.repeats:
        notes.append("the same model had predicted the case before")
    if check.libtpu is not None:
        notes.append(_other_libtpu(check))
    uncounted = f"; not counted: {'; '.join(notes)}" if notes else ""
    if check.measured is None:
        return f"{name}{uncounted.removeprefix('; ')}" if notes else ""
    runs = f"{check.runs} run{'s' * (check.runs != 1)}"
    return f"{name}measured {seconds_text(check.measured)[0]} in {check.by} ({runs}); {_error(check)}{uncounted}"


def _other_libtpu(check: Check) -> str:
    return f"libtpu {check.libtpu} ran it, and the prediction is of libtpu {check.fact['libtpu']}"


def _error(check: Check) -> str:
    parts = []
    if not check.fact["fits"]:
        parts.append("it was predicted not to fit, and ran")
    if check.ratio is not None:
        parts.append(f"predicted / measured {check.ratio:.2f}")
    if check.inside is not None:
        parts.append("inside the range" if check.inside else "outside of the range")
    if check.held is not None:
        parts.append("not faster than the bound" if check.held else "faster than the bound, which is wrong")
    return ", ".join(parts) or "nothing was predicted of its time"


def _direction(direction: Direction) -> str:
    """`int8 against none: wins was right: measured 1.28 times as fast`."""
    found = direction.measured
    if found is None or direction.right is None:
        return ""
    how = "right" if direction.right else "wrong"
    return (
        f"{direction.other.name} against {direction.base.name}: {direction.word} was {how}: {found:.2f} times as fast"
    )


def _before(check: Check) -> str:
    """`MOE-003, none: predicted 7.9 ms (6.1 to 10.3), measured 8.2 ms; predicted / measured 0.96, ...`."""
    name = f", {check.name}" if check.name else ""
    fact = check.fact
    time = "no time"
    if fact["estimate"] is not None:
        ends = [fact["low"], fact["high"]] if fact["low"] is not None and fact["high"] is not None else []
        first, *others = seconds_text(fact["estimate"], *ends)
        time = first + (f" ({others[0]} to {others[1]})" if others else "")
    measured = seconds_text(check.measured)[0] if check.measured is not None else "nothing"
    other = f"; {_other_libtpu(check)}" if check.libtpu is not None else ""
    return f"{check.entry}{name}: predicted {time}, measured {measured}; {_error(check)}{other}"


def check_data(check: Check) -> dict[str, Any]:
    """One prediction as plain data."""
    fact = check.fact
    return {
        "entry": check.entry,
        "run": fact["run"],
        "name": check.name,
        "made": fact["at"],
        "predicted_s": fact["estimate"],
        "low_s": fact["low"],
        "high_s": fact["high"],
        "bound_s": fact["bound"],
        "fits": fact["fits"],
        "measured_s": check.measured,
        "measured_in": check.by,
        "runs": check.runs,
        "ratio": check.ratio,
        "inside_range": check.inside,
        "bound_held": check.held,
        "measured_with_libtpu": check.libtpu,
        "measured_before": list(check.before),
        "repeats": check.repeats,
        "counts": check.counts,
    }


def direction_data(direction: Direction) -> dict[str, Any]:
    """What was said of one prediction against another, as plain data."""
    return {
        "entry": direction.entry,
        "base": direction.base.name,
        "other": direction.other.name,
        "word": direction.word,
        "ratio": direction.ratio,
        "measured_ratio": direction.measured,
        "right": direction.right,
        "counts": direction.counts,
    }


def tally_lines(tally: Mapping[str, Any]) -> list[str]:
    """How predictions came true, in sentences; the most important first."""
    made = f"{tally['made']:,} prediction{'' if tally['made'] == 1 else 's'}"
    lines = [f"{made}, {tally['checked']:,} checked by a later measurement"]
    if tally["checked"]:
        lines.append(
            f"error of predictions: median {tally['median_error']:.1%}, largest {tally['largest_error']:.1%};"
            f" inside the range {tally['inside_range']} of {tally['with_range']};"
            f" not faster than the bound {tally['bound_held']} of {tally['with_bound']}"
        )
    if tally["directions_claimed"]:
        lines.append(
            f"directions of predictions: {tally['directions_right']} right of {tally['directions_checked']} checked,"
            f" {tally['directions_claimed']} claimed"
        )
    if tally["ran_nevertheless"]:
        lines.append(f"said not to fit, and ran: {tally['ran_nevertheless']} of {tally['said_not_to_fit']}")
    if tally["made_late"]:
        lines.append(f"not counted: {tally['made_late']} made after their case had been measured")
    if tally["other_libtpu"]:
        lines.append(f"not counted: {tally['other_libtpu']} whose case another libtpu ran")
    if tally["taken_back"]:
        lines.append(f"not counted: {tally['taken_back']} in entries that were taken back or superseded")
    if tally["repeated"]:
        lines.append(f"not counted: {tally['repeated']} that repeat a prediction of the same model")
    return lines
