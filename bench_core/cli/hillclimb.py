"""`bench-core hillclimb`: one block, one row per case; options may stand for several."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from bench_core.aot.targets import KINDS, AotTarget, choose_target
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import Request, chosen_cases, compile_cases, run_cases
from bench_core.errors import UsageError, clash, idle
from bench_core.flag import Flag, build, declared, option
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.harness.combinations import TILED, refuse, refuse_case
from bench_core.routing.request import RUN_FLAGS, Distribution
from bench_core.shapes import DEFAULT_TOPK

NULL_SWEEP = tuple(tenths / 10 for tenths in range(1, 10))

Value = TypeVar("Value", int, float)


def topk_values(topk: int | None, topk_list: str | None) -> list[int]:
    """The values of top-k that the two options ask for.

    Raises:
        UsageError: both are given, or the list is not one of distinct whole numbers.
    """
    if topk_list is None:
        return [DEFAULT_TOPK if topk is None else topk]
    if topk is not None:
        raise same_axis("--topk", "--topk-list", hint=f"use --topk-list {topk},... alone")
    return _listed("--topk-list", topk_list, _whole_number, kind="whole numbers", example="1,2,4")


def null_fractions(single: float | None, listed: str | None, *, sweep: bool) -> list[float]:
    """The null fractions that the three options ask for; 0 without any.

    Raises:
        UsageError: more than one is given, or the list is not one of distinct numbers.
    """
    given = {
        "--null-route-frac": single is not None,
        "--null-route-frac-list": listed is not None,
        "--null-route-sweep": sweep,
    }
    flags = [flag for flag, used in given.items() if used]
    if len(flags) > 1:
        raise same_axis(flags[0], flags[1], hint=f"use {flags[1]} alone")
    if listed is not None:
        return _listed("--null-route-frac-list", listed, float, kind="numbers", example="0,0.1,0.5")
    return list(NULL_SWEEP) if sweep else [0.0 if single is None else single]


def same_axis(one: str, other: str, *, hint: str) -> UsageError:
    return UsageError(f"{one} and {other} cannot be given together", cause="they name the same axis", hint=hint)


def _whole_number(word: str) -> int:
    # int() would take signs and underscores too.
    if not (word.isascii() and word.isdigit()):
        raise ValueError(word)
    return int(word)


def _listed(flag: str, text: str, number: Callable[[str], Value], *, kind: str, example: str) -> list[Value]:
    try:
        values = [number(word.strip()) for word in text.split(",")]
    except ValueError:
        raise UsageError(
            f"{flag} {text} is not a list of {kind}",
            cause=f"values are separated by commas, such as {example}",
            hint=f"use {flag} {example}",
        ) from None
    if len(set(values)) < len(values):
        raise UsageError(
            f"{flag} {text} names a value twice",
            cause="each value is one case; to repeat a case, start another run",
            hint=f"use {flag} {','.join(str(value) for value in dict.fromkeys(values))}",
        )
    return values


if TYPE_CHECKING:
    from bench_core.harness.backend import Chosen

AOT = Flag(
    help="Only compile, for a host of that TPU, or a larger slice such as v5p-128; no TPU has to be present.",
    metavar=KINDS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides one case: several of them, and what is done with each."""

    topk_list: Annotated[str | None, Flag(help="One case per value, instead of --topk.", metavar="K,K,...")] = None
    null_route_frac_list: Annotated[str | None, Flag(help="One case per fraction.", metavar="F,F,...")] = None
    null_route_sweep: Annotated[bool, Flag(help="One case per fraction from 0.1 to 0.9.")] = False
    stage_timing: Annotated[
        bool,
        Flag(help="Also time pack, up, down, combine and what is sent separately; forward only."),
    ] = False
    profile: Annotated[
        Path | None,
        Flag(help="Write a Perfetto trace of one extra call to a folder below DIR.", metavar="DIR"),
    ] = None
    aot: Annotated[str | None, AOT] = None
    list: Annotated[bool, Flag(help="List backends and implementations with what they serve.")] = False


def hillclimb(given: Mapping[str, Any]) -> None:
    """Check a gated MoE block against a float64 oracle, then time it; --aot: only compile it.

    Prints a RESULT line and a RESULT_JSON line per case on stdout, progress on stderr. Exit code: 0 all
    cases measured, 1 a case failed (it is recorded, the others still run), 2 the request is wrong and
    nothing was run.
    """
    asked = build(Asked, given)
    if asked.list:
        from bench_core.harness.backend import listing
        from bench_core.harness.environment import start_devices

        first = start_devices()[0]
        typer.echo("\n".join(listing(first.platform, first.device_kind)))
        return
    target = None if asked.aot is None else choose_target(asked.aot)
    request = checked_request(given, compiled=target is not None)
    if not (run_cases(request) if target is None else compile_cases(request, target)):
        raise typer.Exit(1)


def checked_request(given: Mapping[str, Any], *, compiled: bool) -> Request:
    """`read_request`, where what is asked for besides the cases can be had of them.

    Raises:
        UsageError: it cannot, or cases that are only `compiled` would be measured.
    """
    request = read_request(given)
    for case in request.cases:
        refuse_case(case, stage_timing=request.stage_timing)
    runs = "nothing runs there"
    refuse(
        (compiled and request.stage_timing, clash("--stage-timing", "--aot", runs)),
        (compiled and request.profile is not None, clash("--profile", "--aot", runs)),
    )
    return request


def read_request(given: Mapping[str, Any]) -> Request:
    """The cases that the flags ask for, and what is done with each.

    Raises:
        UsageError: they ask for nothing that can be.
    """
    asked = build(Asked, given)
    return Request(
        cases=_cases(given, asked),
        choose_backend="backend" not in given,
        stage_timing=asked.stage_timing,
        profile=None if asked.profile is None else Path(asked.profile),
    )


def cases_on(given: Mapping[str, Any], target: AotTarget) -> "list[Chosen]":
    """The cases on a slice of TPUs, each with its backend.

    Raises:
        UsageError: the flags ask for nothing that can be.
    """
    request = read_request(given)
    cases = [case.over(target.devices) for case in request.cases]
    return chosen_cases(request, cases, platform="tpu", device_kind=target.device_kind)


def _cases(given: Mapping[str, Any], asked: Asked) -> list[Case]:
    """A case for each combination of the values of those flags that may have several."""
    several = {flag.name: flag.read_several(given[flag.name]) for flag in CASE_FLAGS if flag.flag.several}
    axes = {
        "distribution": several.pop("distribution"),
        "topk": topk_values(given.get("topk"), asked.topk_list),
        "null_route_frac": null_fractions(
            given.get("null_route_frac"), asked.null_route_frac_list, sweep=asked.null_route_sweep
        ),
        **several,
    }
    refuse(
        *(
            (name in given and Distribution.RUNS not in axes["distribution"], idle(option(name), "--distribution runs"))
            for name in RUN_FLAGS
        ),
        ("backend" not in given and "tile" in given, idle(f"--tile {given.get('tile')}", f"--backend {TILED[0]}")),
    )
    same = {
        flag.name: flag.read(given[flag.name]) for flag in CASE_FLAGS if flag.name in given and flag.name not in axes
    }
    return [build(Case, same | dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())]


FLAGS = declared(Case, Asked)
_RUNNING = ("stage_timing", "profile", "list")
ON_SLICE = [flag for flag in FLAGS if flag.name not in _RUNNING]
"""Those of cases that are said something about, and not run."""
command = with_flags(hillclimb, FLAGS)
