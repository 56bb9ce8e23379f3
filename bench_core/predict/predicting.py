"""From a scheduled program to what is said about its time. No JAX."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench_core.accounting.prediction import Prediction
from bench_core.accounting.roofline import Work, roofline
from bench_core.aot.refusals import Reason
from bench_core.aot.targets import AotTarget
from bench_core.gmm.registry import BACKENDS
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case
from bench_core.predict.model import MODEL, Calibration, Rates, Seconds, seconds, slice_rates
from bench_core.predict.scheduled import PUBLISHED_TILE, NotScheduled, Scheduled
from bench_core.predict.terms import Terms, terms_of
from bench_core.quant.mode import QuantMode
from bench_core.shapes import DType

SEEN_FROM = 0.01
"""The share of an estimate from which something is worth a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What is known of a scheduled program: the terms of each device, and the least that any program has to do.
    `moved_before`, `vmem` and `libtpu` are as in `scheduled.Scheduled`."""

    terms: Terms
    work: Work
    moved_before: int
    vmem: str
    libtpu: str


def costs_of(case: Case, found: Scheduled) -> Costs:
    """The costs of a case's program. One that computes with other values, or was compiled with other flags, is another
    program, although its operations are the same: a grouped matmul takes as long as its groups make it."""
    settings = f"{case.compiler_flags} {found.variables} {case.seed} {case.routing}"
    terms = terms_of(found.hlo, buffer_bytes=found.buffer_bytes, tile=_tile_of(case), settings=settings)
    return Costs(terms=terms, work=found.work, moved_before=found.moved_before, vmem=found.vmem, libtpu=found.libtpu)


def _tile_of(case: Case) -> Tile | None:
    """The tile of its grouped matmuls; None of a backend without one."""
    return case.tile or BACKENDS[case.backend].default_tile


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictor:
    """Predicts cases for one slice with one calibration; `published`: as the published logbooks describe them."""

    target: AotTarget
    calibration: Calibration
    published: bool

    def of(self, case: Case, found: Costs | NotScheduled) -> Prediction:
        """What is said of a case that was scheduled, or that the compiler refused."""
        blank = Prediction(
            target=self.target.name,
            device_kind=self.target.device_kind,
            devices=case.parallel.spread.devices,
            libtpu=found.libtpu,
            model=MODEL,
            calibration=self.calibration.name,
            published=self.published,
        )
        if isinstance(found, NotScheduled):
            return _not_scheduled(blank, found)
        rates, terms = slice_rates(self.target), found.terms
        known = replace(blank, program=terms.program, unknown=terms.unknown, vmem=found.vmem)
        if rates is None:
            return replace(known, refused=f"not all peaks of {self.target.device_kind} are published")
        bound = roofline(found.work, self.target.device_kind, self.target.slice).bound_s
        known = replace(known, fits=terms.buffer_bytes <= rates.hbm_bytes, bound=bound)
        refused = self._refusal(case, found, rates)
        if refused is not None:
            return replace(known, refused=refused)
        return self._estimated(known, case, seconds(terms, rates, moved_before=found.moved_before))

    def _refusal(self, case: Case, found: Costs, rates: Rates) -> str | None:
        """Why there is no estimate."""
        fitted = self.calibration
        if found.libtpu != fitted.libtpu:
            return f"libtpu {found.libtpu} compiled it, and the calibration belongs to libtpu {fitted.libtpu}"
        if found.terms.unknown:
            return f"the model does not know {'; '.join(found.terms.unknown)}"
        if found.terms.sent_bytes and rates.link is None:
            return f"the devices of a {self.target.device_kind} chip share its links, and no rate of that is published"
        if case.dtype is not DType.BFLOAT16:
            return f"no {case.dtype} peak of a TPU is published"
        if case.quant_mode is not QuantMode.NONE:
            return f"no measurement of --quant-mode {case.quant_mode} on a TPU exists to calibrate or test the model"
        return None

    def _estimated(self, known: Prediction, case: Case, parts: Seconds) -> Prediction:
        """With a range where published rows test it."""
        fitted, least = self.calibration, known.bound or 0.0
        estimate = fitted.estimate(parts)
        untested = list(self._untested(case, parts, estimate))
        said = replace(
            known,
            estimate=estimate,
            terms=fitted.terms(parts),
            hidden=parts.hidden,
            cautions=(*untested, *_notes(case, fitted, parts, estimate)),
        )
        if untested:
            return said
        return replace(
            said,
            low=max(least, min(estimate, fitted.low * (estimate - parts.hidden))),
            high=max(estimate, fitted.high * estimate),
        )

    def _untested(self, case: Case, parts: Seconds, estimate: float) -> Iterator[str]:
        """Why no published row tests an estimate, which then has no range."""
        fitted, tile = self.calibration, _tile_of(case)
        if not self.published:
            own = fitted.command
            yield (
                f"no range: of {own.rows} published rows, estimates of this version's own programs have a median error "
                f"of {100 * own.median_error:.0f}% and a rank correlation of {own.rank_correlation:.2f} "
                f"(with --published {100 * fitted.published.median_error:.0f}% and "
                f"{fitted.published.rank_correlation:.2f})"
            )
        if self.target.device_kind != fitted.device_kind:
            yield f"the factors were fitted on {fitted.device_kind}, and nothing measured tests them on this chip"
        if estimate < fitted.shortest:
            yield f"no row that tests the model took less than {1e3 * fitted.shortest:.0f} ms"
        if tile is not None and tile != PUBLISHED_TILE:
            yield f"no row that tests the model has tiles of {tile}: theirs are {PUBLISHED_TILE}"
        if case.backend == "ragged_dot":
            yield "another libtpu compiles ragged_dot otherwise; its weight gradient here costs many times gmm's"
        if parts.send > fitted.most_sent * estimate:
            share = f"{100 * parts.send / estimate:.0f}% of the estimate"
            yield f"collectives are {share}, and at most {100 * fitted.most_sent:.0f}% in the rows that test the model"


def _notes(case: Case, fitted: Calibration, parts: Seconds, estimate: float) -> Iterator[str]:
    """What else the reader of an estimate has to know."""
    yield "the calibration's rows do not say which libtpu ran them"
    if parts.move:
        yield (
            "the term move_arguments was chosen after the published rows were seen; without it their median error is "
            f"{100 * fitted.without_move:.1f}%, with it {100 * fitted.published.median_error:.1f}%"
        )
    if case.shared_fused:
        yield "measured, --shared-fused changes a time by 2%, which the model does not see"
    if parts.hidden > SEEN_FROM * estimate:
        yield f"{1e3 * parts.hidden:.3g} ms of collectives may run beside other work; the low end leaves them out"


def _not_scheduled(blank: Prediction, outcome: NotScheduled) -> Prediction:
    message = " ".join(outcome.message.split())
    fits = False if outcome.reason == Reason.HBM else None
    vmem = "does not fit" if outcome.reason == Reason.VMEM else blank.vmem
    return replace(blank, fits=fits, vmem=vmem, refused=f"{outcome.reason}: {message}")
