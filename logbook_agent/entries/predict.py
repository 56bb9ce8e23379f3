"""`logbook predict`: what a case would take on a TPU that is not there, in an entry of its own kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from logbook_agent.entries.calibrations import calibration_words
from logbook_agent.entries.drafts import edited_fields
from logbook_agent.entries.run import RunRequest, RunResult, run
from logbook_agent.findings.predictions.rows import Predicted, PredictedPair, pairs_of, predicted_rows
from logbook_agent.findings.predictions.words import outcome_text, predicted_text
from logbook_agent.model.entry import Predicting
from logbook_agent.model.errors import UsageError
from logbook_agent.pages.views import changing
from logbook_agent.running.execution import Display
from logbook_agent.running.prepare import PROGRAM, bench_folder, predict_argv
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.commands.flags import flags

AOT = "--aot"
_SIDES = "--"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictResult:
    """The runs just made, and what they predict."""

    made: RunResult
    found: tuple[Predicted, ...]
    pairs: tuple[PredictedPair, ...]

    def data(self) -> dict[str, Any]:
        return {
            **self.made.data(),
            "predicted": [
                {"name": one.name, "run": one.run.run, "config": one.row.config, **one.said.json()}
                for one in self.found
            ],
            "pairs": [pair_data(self.found, pair) for pair in self.pairs],
        }

    def lines(self) -> list[str]:
        """For people: every prediction, and what they say against one another."""
        return predicted_lines(self.found, self.pairs)


def predict(
    workspace: Workspace,
    request: RunRequest,
    display: Display,
    *,
    calibration: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> PredictResult:
    """Run `bench-core predict` with the words of the request, which have two sides where a `--` stands between them.
    Nothing is written when the request does not fit."""
    book = workspace.book(request.entry_id)
    words = [*request.argv]
    target = target_of(words)
    first, rest = _first_side(words)
    argv = predict_argv([*first, *calibration_words(workspace, book, calibration, first), *rest])
    predicting = Predicting(target=target)
    request = dataclasses.replace(request, argv=argv, predicting=predicting, search_first=bench_folder())
    made = run(workspace, request, display, tell=tell)
    record = book.record(made.entry.id)
    numbers = {one.run for one in made.runs}
    own = tuple(s for s in record.runs if s.run.run in numbers)
    found = predicted_rows(dataclasses.replace(record, runs=own))
    return PredictResult(made=made, found=tuple(found), pairs=tuple(pairs_of(record, found)))


def target_of(words: Sequence[str]) -> str:
    """The slice that is predicted for. Raises UsageError where the words name none."""
    first = _first_side(words)[0]
    target = flags([PROGRAM, *first]).get("aot")
    if not words:
        predict_argv(words)
    if sum(word == AOT or word.startswith(f"{AOT}=") for word in first) > 1:
        raise UsageError(
            f"{AOT} is given twice",
            cause="an entry predicts for one slice",
            hint="leave one of them out, or make an entry of each",
        )
    if not target:
        raise UsageError(
            "no TPU named to predict for",
            cause=f"{AOT} is missing among the options of bench-core predict",
            hint=f"add after --: {AOT} v5p-8",
        )
    return target


def _first_side(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of side A, and those of side B with the `--` before them."""
    at = list(words).index(_SIDES) if _SIDES in words else len(words)
    return list(words[:at]), list(words[at:])


def add_field(workspace: Workspace, book: Book, entry_id: str, label: str, text: str) -> None:
    """Write a field of an entry, in the place of one with this label."""
    with changing(workspace, book), book.lock():
        entry = book.entry(entry_id)
        fields = edited_fields(entry.fields, [(label, text)], append=False)
        book.write_entry(dataclasses.replace(entry, fields=fields))


def pair_data(found: Sequence[Predicted], pair: PredictedPair) -> dict[str, Any]:
    """What the model says of one prediction against another, as data."""
    outcome = pair.outcome
    return {
        "base": found[pair.base].name,
        "other": found[pair.other].name,
        "word": outcome.word.value,
        "ratio": outcome.ratio,
        "why": outcome.why,
    }


def predicted_lines(found: Sequence[Predicted], pairs: Sequence[PredictedPair]) -> list[str]:
    """Every prediction, and what they say against one another."""
    lines = [f"{one.name}: {predicted_text(one.said)}" if one.name else predicted_text(one.said) for one in found]
    return lines + [f"{found[p.other].name} against {found[p.base].name}: {outcome_text(p.outcome)}" for p in pairs]
