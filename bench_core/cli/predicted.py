"""Predictions of several cases: compiled one after another, and printed as each is there."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import TYPE_CHECKING

from bench_core.accounting.prediction import Prediction
from bench_core.aot.targets import AotTarget, aot_config
from bench_core.cli.rows import Printed
from bench_core.flag import ConfigValue
from bench_core.harness.record import result_file, result_line, to_json

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
    subjects: Sequence[Subject], target: AotTarget, *, full: bool, published: bool = False
) -> Iterator[Prediction]:
    """Print and return the prediction of every case: rows on stdout, terms on stderr."""
    # Late, so that help and refusals do not wait for the packages that the rows name.
    from bench_core.predict.model import calibration
    from bench_core.predict.predicting import Predictor, costs_of
    from bench_core.predict.scheduled import PUBLISHED_TILE, Scheduled, schedule

    report, factors = Printed(result_file(os.environ)), calibration()
    predictor = Predictor(target=target, calibration=factors, published=published)
    whose = "as the published logbooks describe them" if published else "of this version"
    report.progress(f"predicted for {target.name} ({target.device_kind}), not measured: no TPU takes part")
    report.progress(f"programs: {whose}")
    report.progress(
        f"calibration: {factors.name}; times {factors.matmul_factor:.2f} for plain matmuls, "
        f"times {factors.routed_factor:.2f} for grouped matmuls and HBM traffic"
    )
    cases = [subject.chosen.case for subject in subjects]
    if published:
        cases = [replace(case, tile=PUBLISHED_TILE) if case.backend == "gmm" else case for case in cases]
    outcomes = schedule(cases, target, full=full, published=published)
    for subject, case, found in zip(subjects, cases, outcomes, strict=True):
        prediction = predictor.of(case, costs_of(case, found) if isinstance(found, Scheduled) else found)
        size = found.buffer_bytes if isinstance(found, Scheduled) else None
        for line in _shown(prediction, subject.name, buffer_bytes=size, published_rows=factors.published.rows):
            report.progress(line)
        ran = {"ran": found.ran} if isinstance(found, Scheduled) else {}
        config = {**subject.config, **aot_config(case, target), **({"published": True} if published else {})}
        packages = {package: metadata.version(package) for package in ("jax", "jaxlib", "numpy")}
        document: dict[str, object] = {
            "config": config,
            "labels": {**subject.chosen.labels(), **subject.labels, **ran},
            "devices": [],
            "software": {"python": platform.python_version(), **packages, "libtpu": found.libtpu},
            "host": platform.node(),
            "prediction": prediction.json(),
        }
        said = {"prediction": "refused" if prediction.estimate is None else "made"}
        report.lines([result_line(config, said), f"RESULT_JSON {to_json(document)}"], document)
        yield prediction


_NAMES = {
    "matmul": "plain matmuls",
    "grouped_matmul": "grouped matmuls, with the padding of tiles",
    "memory": "HBM traffic of everything else",
    "send": "collectives",
    "move_arguments": "arguments that move",
}


def _shown(prediction: Prediction, name: str, *, buffer_bytes: int | None, published_rows: int) -> Iterator[str]:
    """The prediction of one case, which has this name, as lines for a reader."""
    yield name
    if prediction.estimate is not None:
        whose = "the published program" if prediction.published else "this version's program"
        yield f"  {_ms(prediction.estimate)}  estimate of {whose}"
        if prediction.low is not None and prediction.high is not None:
            ends = f"{_ms(prediction.low).strip()} to {_ms(prediction.high).strip()}"
            yield f"    {ends}: nine in ten of {published_rows} published rows lie in this range of theirs"
        for term, time_s in ((term, time_s) for term, time_s in prediction.terms.items() if time_s):
            yield f"    {_ms(time_s)}  {_NAMES.get(term, term)}"
    if prediction.bound is not None:
        yield f"  {_ms(prediction.bound)}  lower bound: no call of the case is faster, whatever its program"
    if prediction.refused is not None:
        yield f"  no estimate: {prediction.refused}"
    if buffer_bytes is not None:
        fits = {True: "fits", False: "does not fit", None: "not known"}[prediction.fits]
        yield f"  HBM {fits} ({buffer_bytes / 2**30:.2f} GiB), VMEM {prediction.vmem}"
    for caution in prediction.cautions:
        yield f"  note: {caution}"


def _ms(time_s: float) -> str:
    """Of one width where that is enough."""
    return f"{1e3 * time_s:9.3f} ms"
