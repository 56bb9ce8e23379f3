"""Predictions of several cases: compiled one after another, and printed as each is there."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench_core.accounting.prediction import Prediction
from bench_core.aot.targets import AotTarget, aot_config
from bench_core.cli.rows import Printed
from bench_core.flag import ConfigValue
from bench_core.harness.record import result_file, result_line, to_json
from bench_core.predict.calibration import Calibration
from bench_core.predict.shown import head, shown

if TYPE_CHECKING:
    from bench_core.harness.chosen import Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A case to predict. `name` is what its reader knows it by; `config` and `labels` go into its row, too."""

    name: str
    chosen: "Chosen"
    config: Mapping[str, ConfigValue] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def say_predictions(
    subjects: Sequence[Subject], target: AotTarget, factors: Calibration, *, full: bool
) -> Iterator[Prediction]:
    """Print and return the prediction of every case: rows on stdout, terms on stderr."""
    # Late, so that help and refusals do not wait for the packages that the rows name.
    from bench_core.predict.predicting import Predictor
    from bench_core.predict.scheduled import Scheduled, schedule
    from bench_core.predict.software import software

    report = Printed(result_file(os.environ))
    predictor = Predictor(target=target, calibration=factors)
    for line in head(target, factors):
        report.progress(line)
    outcomes = schedule([subject.chosen.case for subject in subjects], target, full=full)
    for subject, found in zip(subjects, outcomes, strict=True):
        case = subject.chosen.case
        prediction = predictor.of(case, found)
        for line in shown(prediction, subject.name, found):
            report.progress(line)
        ran = {"ran": found.ran} if isinstance(found, Scheduled) else {}
        config = {**subject.config, **aot_config(case, target)}
        document: dict[str, object] = {
            "config": config,
            "labels": {**subject.chosen.labels(), **subject.labels, **ran},
            "devices": [],
            **software(found.libtpu),
            "prediction": prediction.json(),
        }
        said = {"prediction": "refused" if prediction.estimate is None else "made"}
        report.lines([result_line(config, said), f"RESULT_JSON {to_json(document)}"], document)
        yield prediction
