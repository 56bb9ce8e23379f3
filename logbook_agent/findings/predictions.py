"""The predicted rows of an entry, worded so that nobody takes them for measurements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from logbook_agent.model.record import Record
from logbook_agent.model.run import PredictedRow, Run
from logbook_agent.model.values import Scalar, spelt
from logbook_agent.text import markdown as md
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import bounded
from logbook_agent.text.shell_words import assignments

if TYPE_CHECKING:
    from bench_core.accounting.prediction import Outcome, Prediction

NOT_MEASURED = "predicted, not measured"
# The label of a row that says on which side of a command it stands: A or B.
_SIDE = "side"
# Of config: the slice that is predicted for, and how a measurement is repeated.
_SAME_CASE = frozenset(("aot", "iters", "warmup"))
_REFUSED_CHARS = 300
# Of a prediction with --published.
_PUBLISHED = ", published program"
_SHOWN, _SHOWN_HEADLINE, _SHOWN_NOTES = 100, 4, 10
# Seconds in a unit, and its name.
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One predicted row, of the run with this number. `name` tells it from the others of its entry."""

    run: int
    row: PredictedRow
    name: str

    @property
    def said(self) -> Prediction:
        return self.row.said

    def named(self, text: str) -> str:
        """The text with the name of the row in front, if it has one."""
        return f"{self.name}: {text}" if self.name else text


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedPair:
    """What the model says of side B of a command compared with its side A."""

    base: Predicted
    other: Predicted
    outcome: Outcome

    @property
    def text(self) -> str:
        """`B against A: wins, 1.31 times as fast by the model (from 1.2 on a direction is claimed)`."""
        ratio = f", {self.outcome.ratio:.2f} times as fast by the model" if self.outcome.ratio is not None else ""
        why = cut_line(self.outcome.why, _REFUSED_CHARS)
        return f"{self.other.name} against {self.base.name}: {self.outcome.word.value}{ratio} ({why})"


def predictions_of(record: Record) -> list[Predicted]:
    """The predicted rows of an entry, in the order they were made."""
    found = [(s.run, row) for s in record.runs if s.counts for row in s.run.predictions]
    return [Predicted(run=run.run, row=row, name=name) for (run, row), name in zip(found, _names(found), strict=True)]


def _names(found: Sequence[tuple[Run, PredictedRow]]) -> list[str]:
    """A name for each row: its side, the label of its run, the environment and config that vary. Config that only the
    row itself reports is added where the rest does not tell the rows apart."""
    names = [""] * len(found)
    for parts in (
        [row.labels.get(_SIDE, "") for _, row in found],
        _labels([run.label for run, _ in found]),
        _varied([run.config for run, _ in found]),
        _varied([run.env.variables for run, _ in found]),
        _varied([row.config for _, row in found]),
    ):
        if len({*names}) == len(names):
            break
        names = [", ".join(filter(None, both)) for both in zip(names, parts, strict=True)]
    return names


def _labels(labels: Sequence[str | None]) -> list[str]:
    return [label or "" for label in labels] if len({*labels}) > 1 else [""] * len(labels)


def _varied(mappings: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """The values that vary between mappings, as text: `topk=2`."""
    keys = dict.fromkeys(key for one in mappings for key in one if key not in _SAME_CASE)
    told = [{key: spelt(one[key]) for key in keys if key in one} for one in mappings]
    varied = [key for key in keys if len({one.get(key) for one in told}) > 1]
    return [assignments({key: one[key] for key in varied if key in one}) for one in told]


def predicted_pairs(found: Iterable[Predicted]) -> list[PredictedPair]:
    """Side B compared with side A, of each command that predicted both."""
    sides: dict[int, dict[str, Predicted]] = {}
    for one in found:
        sides.setdefault(one.run, {})[one.row.labels.get(_SIDE, "")] = one
    pairs = [(own["A"], own["B"]) for own in sides.values() if {"A", "B"} <= own.keys()]
    if not pairs:
        return []
    from bench_core.accounting.prediction import outcome  # only where something is claimed

    return [PredictedPair(base=a, other=b, outcome=outcome(a.said, b.said)) for a, b in pairs]


# -- words -----------------------------------------------------------------------------------------------


def short_text(said: Prediction) -> str:
    """`7.9 ms (6.1 to 10.3)`, or why there is no estimate."""
    if said.estimate is None:
        return f"nothing: {cut_line(said.refused or 'no reason was given', _REFUSED_CHARS)}"
    if said.low is None or said.high is None:
        return _seconds(said.estimate)[0]
    time, low, high = _seconds(said.estimate, said.low, said.high)
    return f"{time} ({low} to {high})"


def predicted_parts(said: Prediction) -> list[str]:
    """`predicted 7.9 ms (6.1 to 10.3), at least 3.0 ms`, then memory, libtpu, calibration, model and slice, which
    predictions of one entry mostly share."""
    times = f"predicted {short_text(said)}" + (f", at least {_seconds(said.bound)[0]}" if said.bound else "")
    memory = [] if said.fits is None else ["fits into HBM" if said.fits else "does not fit into HBM"]
    calibration = f"calibration {said.calibration}" if said.calibration is not None else "not calibrated"
    parts = [
        times,
        ", ".join([*memory, f"VMEM {said.vmem}"]),
        f"libtpu {said.libtpu}, {calibration}",
        f"model {said.model}, {said.devices} x {said.device_kind} of {said.target}" + _PUBLISHED * said.published,
        *([f"operations that the model does not know: {', '.join(said.unknown)}"] if said.unknown else []),
    ]
    return [cut_line(part, _REFUSED_CHARS) for part in parts]


def _seconds(*seconds: float) -> list[str]:
    """The times in the unit of the first, with three digits: `7.9 ms`, `6.1` and `10.3`; the unit stands once."""
    scale, unit = next(((s, u) for s, u in _UNITS if seconds[0] >= s), _UNITS[-1])
    texts = [f"{value / scale:,.0f}" if value >= 100 * scale else f"{value / scale:.3g}" for value in seconds]
    return [f"{texts[0]} {unit}", *texts[1:]]


def _notes(said: Prediction) -> list[str]:
    return [f"note: {md.one_line(note)}" for note in said.cautions[:_SHOWN_NOTES]]


def _terms(said: Prediction) -> list[str]:
    """The terms of the estimate, the largest first: `of this: grouped_matmul 4.1 ms, send 2.3 ms`."""
    ordered = sorted(((value, name) for name, value in said.terms.items() if value), reverse=True)
    terms = ", ".join(f"{cut_line(name, 60)} {_seconds(value)[0]}" for value, name in ordered)
    return [f"of this: {terms}"] if terms else []


# -- an entry --------------------------------------------------------------------------------------------


def predicted_section(record: Record) -> str:
    """Every prediction of an entry with its terms, and the claims, as Markdown. What all rows share stands once."""
    found = predictions_of(record)
    shared = _shared([one.said for one in found]) if len(found) > 1 else []
    notes = [text for text in shared if text.startswith("note: ")]
    parts = [text for text in shared if text not in notes]
    lines = [_item(f"all of these: {'; '.join(parts)}", notes)] if parts else []
    own_lines = []
    for one in found:
        text = "; ".join(part for part in predicted_parts(one.said) if part not in parts)
        own = [note for note in _notes(one.said) if not parts or note not in notes]
        own_lines.append(_item(one.named(text), [*_terms(one.said), *own]))
    lines += bounded(own_lines, _SHOWN, f"more predictions: `logbook show {record.id} --json`")
    return md.items([*lines, *(md.escape(claim.text) for claim in predicted_pairs(found)[:_SHOWN])])


def _shared(said: Sequence[Prediction]) -> list[str]:
    """What all predictions say behind their times, and their common notes."""
    texts = [[*predicted_parts(one)[1:], *_notes(one)] for one in said]
    return [text for text in texts[0] if all(text in own for own in texts)]


def _item(text: str, below: Sequence[str]) -> str:
    """An item of a list, with what stands below it."""
    line = md.escape(text)
    return f"{line}\n{md.items(list(map(md.escape, below)))}" if below else line


def predicted_headline(record: Record) -> str | None:
    """`predicted, not measured: 7.9 ms (6.1 to 10.3)`; None for an entry that is no prediction."""
    found = predictions_of(record)
    if not found:
        return "nothing was predicted" if record.entry.is_prediction and record.state == "finished" else None
    texts = [f"{c.other.name} against {c.base.name} {c.outcome.word.value}" for c in predicted_pairs(found)]
    texts = texts or [f"{one.name} {short_text(one.said)}".strip() for one in found]
    return f"{NOT_MEASURED}: {'; '.join(bounded(texts, _SHOWN_HEADLINE))}"
