"""`bench-core compare --predict`: the cases of a study on TPUs that are not there, and which path would win."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from bench_core.accounting.prediction import Prediction, outcome
from bench_core.aot.targets import AotTarget
from bench_core.cli.predicted import Subject, say_predictions
from bench_core.studies.study import Entry

if TYPE_CHECKING:
    from bench_core.harness.chosen import Chosen


def predict_study(
    entries: Sequence[Entry], chosen: "Sequence[Chosen]", target: AotTarget, labels: Mapping[str, str]
) -> bool:
    """Print the prediction of every case, and of each shape every path against those before it. False when nothing can
    be said of any."""
    subjects = [
        Subject(name=f"{_shape(entry)}: {entry.name}", chosen=one, config=entry.config, labels=labels)
        for entry, one in zip(entries, chosen, strict=True)
    ]
    predictions = list(say_predictions(subjects, target, full=False))
    both = zip(entries, predictions, strict=True)
    for _, group in itertools.groupby(both, key=lambda pair: pair[0].case.shape):
        for line in _outcomes(list(group)):
            typer.echo(line, err=True)
    return any(one.bound is not None for one in predictions)


def _shape(entry: Entry) -> str:
    return f"batch={entry.batch} topk={entry.case.shape.topk}"


def _outcomes(group: Sequence[tuple[Entry, Prediction]]) -> Iterator[str]:
    for (first, a), (second, b) in itertools.combinations(group, 2):
        found = outcome(a, b)
        ratio = "" if found.ratio is None else f", {found.ratio:.2f} times as fast"
        yield f"predicted, {_shape(first)}: {second.name} against {first.name}: {found.word}{ratio} ({found.why})"
