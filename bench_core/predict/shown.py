"""A prediction as lines for a reader. Pure, no JAX."""

from collections.abc import Iterator

from bench_core.accounting.prediction import Prediction
from bench_core.aot.targets import AotTarget
from bench_core.predict.calibration import Calibration
from bench_core.predict.scheduled import NotScheduled, Scheduled

_NAMES = {
    "matmul": "plain matmuls",
    "grouped_matmul": "grouped matmuls, with the padding of tiles",
    "memory": "HBM traffic of everything else",
    "send": "collectives",
    "move_arguments": "arguments that move",
}


def head(target: AotTarget, calibration: Calibration) -> Iterator[str]:
    """What all predictions of a command have in common."""
    yield f"predicted for {target.name} ({target.device_kind}), not measured: no TPU takes part"
    yield (
        f"calibration: {calibration.name}; times {calibration.matmul_factor:.2f} for plain matmuls, "
        f"times {calibration.routed_factor:.2f} for grouped matmuls and HBM traffic"
    )


def shown(prediction: Prediction, name: str, outcome: Scheduled | NotScheduled) -> Iterator[str]:
    """The prediction of one case, which has this name."""
    yield name
    if prediction.estimate is not None and prediction.low is not None and prediction.high is not None:
        yield f"  {_ms(prediction.estimate)}  estimate, likely {_ms(prediction.low)} to {_ms(prediction.high)}"
        for term, time_s in ((term, time_s) for term, time_s in prediction.terms.items() if time_s):
            yield f"    {_ms(time_s)}  {_NAMES.get(term, term)}"
    if prediction.bound is not None:
        yield f"  {_ms(prediction.bound)}  lower bound: no call is faster"
    if prediction.refused is not None:
        yield f"  no estimate: {prediction.refused}"
    if isinstance(outcome, Scheduled):
        fits = {True: "fits", False: "does not fit", None: "not known"}[prediction.fits]
        gib = outcome.buffer_bytes / 2**30
        yield f"  HBM {fits} ({gib:.2f} GiB), VMEM {prediction.vmem}; {outcome.processor_s:.1f} processor-seconds"
    for caution in prediction.cautions:
        yield f"  note: {caution}"


def _ms(time_s: float) -> str:
    """Of one width where that is enough."""
    return f"{1e3 * time_s:9.3f} ms"
