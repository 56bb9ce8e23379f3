"""From a scheduled program to what is said about its time. No JAX."""

from dataclasses import dataclass, replace

from bench_core.accounting.prediction import Prediction
from bench_core.aot.refusals import Reason
from bench_core.aot.targets import AotTarget
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case
from bench_core.predict.calibration import UNKNOWN, Calibration
from bench_core.predict.model import MODEL, Seconds, bound, seconds
from bench_core.predict.scheduled import NotScheduled, Scheduled
from bench_core.predict.slice import SliceRates, slice_rates
from bench_core.predict.terms import Terms, terms_of
from bench_core.quant.mode import QuantMode
from bench_core.shapes import DType

SEEN_FROM = 0.01
"""The share of an estimate from which something is worth a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """Predicts cases for one slice with one calibration."""

    target: AotTarget
    calibration: Calibration

    def of(self, case: Case, outcome: Scheduled | NotScheduled) -> Prediction:
        """What is said of a case that was scheduled, or that the compiler refused."""
        blank = Prediction(
            target=self.target.name,
            device_kind=self.target.device_kind,
            devices=case.parallel.spread.devices,
            libtpu=outcome.libtpu,
            model=MODEL,
            calibration=self.calibration.name,
        )
        if isinstance(outcome, NotScheduled):
            return _not_scheduled(blank, outcome)
        rates = slice_rates(self.target)
        terms = case_terms(case, outcome)
        known = replace(blank, program=terms.program, unknown=terms.unknown, vmem=outcome.vmem)
        if rates is None:
            return replace(known, refused=f"not all peaks of {self.target.device_kind} are published")
        known = replace(known, fits=terms.buffer_bytes <= rates.hbm_bytes, bound=bound(terms, rates))
        refused = self._refusal(case, terms, rates, outcome.libtpu)
        if refused is not None:
            return replace(known, refused=refused)
        return self._estimated(known, case, terms, rates)

    def _refusal(self, case: Case, terms: Terms, rates: SliceRates, libtpu: str) -> str | None:
        """Why there is no estimate."""
        fitted = self.calibration
        if libtpu != fitted.libtpu:
            return f"libtpu {libtpu} compiled it, and the calibration belongs to libtpu {fitted.libtpu}"
        own = rates.constants()
        if self.target.device_kind == fitted.device_kind and dict(fitted.constants) != own:
            return f"the calibration was made with other rates of this chip: {dict(fitted.constants)}, now {own}"
        if terms.unknown:
            return f"the model does not know {'; '.join(terms.unknown)}"
        if terms.sent_bytes and rates.link is None:
            return f"the devices of a {self.target.device_kind} chip share its links, and no rate of that is published"
        if case.dtype is not DType.BFLOAT16:
            return f"no {case.dtype} peak of a TPU is published"
        if case.quant_mode is not QuantMode.NONE:
            return f"no measurement of --quant-mode {case.quant_mode} on a TPU exists to calibrate or test the model"
        return None

    def _estimated(self, known: Prediction, case: Case, terms: Terms, rates: SliceRates) -> Prediction:
        fitted = self.calibration
        parts, least = seconds(terms, rates), bound(terms, rates)
        estimate = fitted.estimate(parts)
        if estimate < least:
            return replace(known, refused=f"the calibration makes it {estimate:.3g} s, less than the lower bound")
        return replace(
            known,
            estimate=estimate,
            low=max(least, min(estimate, fitted.low * (estimate - parts.hidden))),
            high=max(estimate, fitted.high * estimate),
            terms=fitted.terms(parts),
            hidden=parts.hidden,
            cautions=tuple(_cautions(case, fitted, self.target, parts, estimate)),
        )


def _not_scheduled(blank: Prediction, outcome: NotScheduled) -> Prediction:
    message = " ".join(outcome.message.split())
    fits = False if outcome.reason == Reason.HBM else None
    vmem = "does not fit" if outcome.reason == Reason.VMEM else blank.vmem
    return replace(blank, fits=fits, vmem=vmem, refused=f"{outcome.reason}: {message}")


def case_terms(case: Case, scheduled: Scheduled) -> Terms:
    """The terms of a case's program. One that computes with other values, or was compiled with other flags, is another
    program, although its operations are the same: a grouped matmul takes as long as its groups make it."""
    settings = f"{case.compiler_flags} {scheduled.variables} {case.seed} {case.routing}"
    return terms_of(scheduled.hlo, buffer_bytes=scheduled.buffer_bytes, tile=tile_of(case), settings=settings)


def tile_of(case: Case) -> Tile | None:
    """The tile of its grouped matmuls; None of a backend without one."""
    return case.tile or BACKENDS[case.backend].default_tile


def _cautions(case: Case, fitted: Calibration, target: AotTarget, parts: Seconds, estimate: float) -> list[str]:
    """What the reader of an estimate has to know."""
    said = []
    if fitted.measured_with == UNKNOWN:
        said.append("the calibration's rows do not say which libtpu ran them")
    if target.device_kind != fitted.device_kind:
        said.append(f"the factors were fitted on {fitted.device_kind}, and nothing measured tests them on this chip")
    if estimate < fitted.shortest:
        said.append(f"no row that tests the model took less than {1e3 * fitted.shortest:.0f} ms")
    tile = tile_of(case)
    if tile is not None and str(tile) not in fitted.tiles:
        said.append(f"no row behind the calibration has tiles of {tile}: theirs are {' and '.join(fitted.tiles)}")
    if case.backend == "ragged_dot":
        said.append("another libtpu compiles ragged_dot otherwise; its weight gradient here costs many times gmm's")
    if case.shared_fused:
        said.append("measured, --shared-fused changes a time by 2%, which the model does not see")
    if parts.send > fitted.most_sent * estimate:
        share = f"{100 * parts.send / estimate:.0f}% of the estimate"
        said.append(
            f"collectives are {share}, and at most {100 * fitted.most_sent:.0f}% in the rows that test the model"
        )
    if parts.hidden > SEEN_FROM * estimate:
        said.append(
            f"{1e3 * parts.hidden:.3g} ms of collectives may run beside other work; the low end leaves them out"
        )
    return said
