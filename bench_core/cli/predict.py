"""`bench-core predict`: how long a call would take on TPUs that are not there."""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench_core.accounting.prediction import Prediction, outcome
from bench_core.aot.targets import AotTarget, choose_target
from bench_core.cli import hillclimb
from bench_core.cli.flags import read_words, with_flags
from bench_core.cli.predicted import Subject, say_predictions
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared
from bench_core.harness.case import CASE_FLAGS, Case

if TYPE_CHECKING:
    from bench_core.harness.chosen import Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides cases."""

    full: Annotated[
        bool, Flag(help="Compile to the end, which takes minutes: only this tells whether kernels fit into VMEM.")
    ] = False
    published: Annotated[
        bool,
        Flag(help="Of the programs that the published logbooks describe, to compare with their rows; with a range."),
    ] = False


_OTHER = inspect.Parameter(
    "other",
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    annotation=Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTIONS OF B]", help="Options in which a second case differs, to compare the two."),
    ],
    default=None,
)


def predict(given: Mapping[str, Any]) -> None:
    """Predict the time of a call of a gated MoE block on TPUs that are not there. Nothing of it is measured.

    Each case is compiled as far as its schedule, for the slice that --aot names. A RESULT line and a RESULT_JSON line
    per case on stdout, with a prediction and without metrics; all terms on stderr. Options behind -- make a second
    case, and a line PREDICTED says what is predicted of it against the first one. Exit code: 0 done, 1 nothing can be
    said of any case, 2 the request is wrong.
    """
    asked = build(Asked, given)
    if given.get("aot") is None:
        raise UsageError(
            "predict needs --aot, the slice of TPUs to predict for",
            cause="a prediction is of a compiled program, and a compiler needs to know for what",
            hint="use --aot v5p-8",
        )
    target = choose_target(given["aot"])
    sides = _sides(given, target)
    _refuse_tile(sides, published=asked.published)
    predictions = list(say_predictions(_subjects(sides), target, full=asked.full, published=asked.published))
    if len(sides) == 2:
        _say_outcome(predictions[0], predictions[1])
    if all(one.bound is None for one in predictions):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Cases of one list of options. `name` is A or B of a pair, else empty."""

    name: str
    cases: "list[Chosen]"


def _sides(given: Mapping[str, Any], target: AotTarget) -> list[Side]:
    other = given.get("other")
    own = {name: value for name, value in given.items() if name in {flag.name for flag in hillclimb.ON_SLICE}}
    if not other:
        return [Side(name="", cases=hillclimb.cases_on(own, target))]
    changed = read_words(with_flags(hillclimb.hillclimb, hillclimb.ON_SLICE), other, typed_only=True)
    if "aot" in changed:
        raise UsageError(
            "--aot cannot stand behind --",
            cause="both cases are predicted for the same slice",
            hint="put --aot in front of --",
        )
    sides = [
        Side(name="A", cases=hillclimb.cases_on(own, target)),
        Side(name="B", cases=hillclimb.cases_on({**own, **changed}, target)),
    ]
    for side in sides:
        if len(side.cases) != 1:
            raise UsageError(
                f"{side.name} has {len(side.cases)} cases",
                cause="two single cases are compared",
                hint="leave lists and both out, or predict without --",
            )
    return sides


def _refuse_tile(sides: Sequence[Side], *, published: bool) -> None:
    named = [chosen.case.tile for side in sides for chosen in side.cases if chosen.case.tile is not None]
    if published and named:
        raise UsageError(
            f"--tile {named[0]} cannot be combined with --published",
            cause="the published programs have a tile of their own",
            hint="leave --tile out",
        )


def _subjects(sides: Sequence[Side]) -> list[Subject]:
    count = sum(len(side.cases) for side in sides)
    found: list[Subject] = []
    for side in sides:
        for chosen in side.cases:
            mark = f"{side.name}:" if side.name else f"[{len(found) + 1}/{count}]"
            labels = {"side": side.name} if side.name else {}
            found.append(Subject(name=f"{mark} {_named(chosen.case)}", chosen=chosen, labels=labels))
    return found


def _named(case: Case) -> str:
    """A case as its reader tells it from another one: by what is not the default, but for numbers of calls."""
    own = {flag.name: value for flag in CASE_FLAGS if (value := flag.of(case)) != flag.default}
    own = {name: value for name, value in own.items() if value is not None and name not in ("iters", "warmup")}
    return " ".join(f"{name}={value}" for name, value in own.items())


def _say_outcome(a: Prediction, b: Prediction) -> None:
    found = outcome(a, b)
    print(f"PREDICTED {json.dumps({'word': found.word, 'ratio': found.ratio, 'why': found.why})}", flush=True)


def _flags() -> list[Declared]:
    return [*hillclimb.ON_SLICE, *declared(Asked)]


command = with_flags(predict, _flags(), [_OTHER])
