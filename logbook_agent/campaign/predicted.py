"""Predictions of several cases in one entry, each by a run of `bench-core predict`, as `ab` and `sweep` want them."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from logbook_agent.entries.drafts import Prose, check_required, create_entry, draft_entry, with_relations
from logbook_agent.entries.series import Series, series
from logbook_agent.findings.predictions.rows import Predicted, PredictedPair, pairs_of, predicted_rows
from logbook_agent.findings.predictions.words import short_text
from logbook_agent.model.entry import PREDICTION, Entry, Predicting
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Header
from logbook_agent.model.run import Run, Scalar
from logbook_agent.running.execution import Display
from logbook_agent.running.prepare import PROGRAM, bench_folder, predict_argv, prepare
from logbook_agent.store import root as books
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line

_MEASURES = "hillclimb"
_ERROR = "error: "
_SHOWN_CHARS = 300
# Options of hillclimb that say how a call is timed or shown, which a prediction has no use for.
_NOT_PREDICTED = ("--stage-timing", "--profile", "--list", "--coordinator", "--process-id", "--timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictable:
    """A case to be predicted: the command that measures it, and what is declared of it. `key` tells it from the others,
    `name` is for people."""

    key: str
    name: str
    argv: tuple[str, ...]
    config: Mapping[str, Scalar] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What all predictions of an entry share. `calibration` are the words that name one, as of `calibration_words`."""

    predicting: Predicting
    title: str
    prose: Prose = field(default_factory=Prose)
    label: str | None = None
    calibration: tuple[str, ...] = ()
    cwd: str | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedCases:
    """The runs just made, what they predict, and by key the prediction of each case (None: none was made), and why none
    was made of the others."""

    series: Series
    found: tuple[Predicted, ...]
    pairs: tuple[PredictedPair, ...]
    by_key: Mapping[str, Predicted | None]
    missing: Mapping[str, str]


def check_predictable(argv: Sequence[str], *, shell: bool, what: str) -> None:
    """Raises UsageError unless the command is one of `bench-core hillclimb` that can be predicted."""
    if shell or list(argv[:2]) != [PROGRAM, _MEASURES]:
        said = argv[0] if shell else " ".join(argv[:2])
        raise UsageError(
            f"{what} cannot be predicted: its command is {said!r}",
            cause=f"the model knows the programs of {PROGRAM} {_MEASURES} alone",
            hint="leave --predict out",
        )
    for word in argv[2:]:
        if word.partition("=")[0] in (*_NOT_PREDICTED, "--aot"):
            raise UsageError(
                f"{what} cannot be predicted with {word}",
                cause="--predict names the slice" if word.startswith("--aot") else "a prediction times nothing",
                hint="leave that option out, or --predict",
            )


def predict_words(argv: Sequence[str], target: str, calibration: Sequence[str] = ()) -> list[str]:
    """The command that predicts what a command of hillclimb measures."""
    return predict_argv([*argv[2:], "--aot", target, *calibration])


def predict_cases(
    workspace: Workspace, book: Book, wanted: Sequence[Predictable], asked: Asked, display: Display
) -> PredictedCases:
    """Predict each of the cases in a new entry of the book, each different program request once. Nothing is written
    where a command cannot start."""
    prose = with_relations(book, asked.prose)
    check_required(workspace, prose, asked.label)
    target = asked.predicting.target or ""
    commands = {
        one.key: prepare(
            workspace,
            predict_words(one.argv, target, asked.calibration),
            env=one.env,
            cwd=asked.cwd,
            label=asked.label,
            search_first=bench_folder(),
        )
        for one in wanted
    }

    def new_entry() -> Entry:
        draft = draft_entry(workspace, prose, title=prose.title or asked.title, kind=PREDICTION)
        return create_entry(workspace, book, dataclasses.replace(draft, predicting=asked.predicting))

    run_of: dict[str, int] = {}
    made_of: dict[str, int] = {}
    with series(workspace, book, new_entry, display) as made:
        for number, one in enumerate(wanted, start=1):
            command = commands[one.key]
            same = repr((_timeless(command.argv), sorted(command.env.items())))
            if same not in made_of:
                run = made.make(command, dict(one.config), timeout_s=asked.timeout_s)
                if run is None:
                    break
                made_of[same] = run.run
                said = "; ".join(f"predicted {short_text(row.said)}" for row in run.predictions) or _nothing(run)
                display.progress(f"[{number}/{len(wanted)}] {one.name}: {said}")
            run_of[one.key] = made_of[same]
    record = book.record(made.entry.id)
    found = predicted_rows(record)
    by_run = {one.run.run: one for one in reversed(found)}
    runs = {status.run.run: status.run for status in record.runs}
    by_key = {one.key: by_run.get(run_of.get(one.key, 0)) for one in wanted}
    return PredictedCases(
        series=made,
        found=tuple(found),
        pairs=tuple(pairs_of(record, found)),
        by_key=by_key,
        missing={key: _nothing(runs.get(run_of.get(key, 0))) for key, one in by_key.items() if one is None},
    )


def _nothing(run: Run | None) -> str:
    """`nothing was predicted: --aot v9 is not known`: the error that the command printed, where it did."""
    said = run.output.last_words if run is not None and run.output is not None else ""
    if not said.startswith(_ERROR):
        return "nothing was predicted"
    return f"nothing was predicted: {cut_line(said.removeprefix(_ERROR), _SHOWN_CHARS)}"


def _timeless(argv: Sequence[str]) -> list[str]:
    """A command without how often a call is timed, which changes no program."""
    kept, skip = [], False
    for word in argv:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif name in ("--iters", "--warmup"):
            skip = not equals
        else:
            kept.append(word)
    return kept


@contextlib.contextmanager
def book_for_nothing(workspace: Workspace, book: Book | None) -> Iterator[Book]:
    """A logbook that is gone afterwards: what is predicted there is not recorded. It has the metrics of `book`."""
    with tempfile.TemporaryDirectory(prefix="logbook-") as folder:
        metrics = book.header.metrics if book is not None else ()
        header = Header(
            topic="dry-run", title="dry run", prefix="DRY", opened=workspace.stamp(), zone="UTC", metrics=metrics
        )
        yield books.create(Path(folder), header, durable=False, redactor=lambda: workspace.redactor)
