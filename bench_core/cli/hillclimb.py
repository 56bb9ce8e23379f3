"""`bench-core hillclimb`: one block, one row per case; options may stand for several."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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

TOPK = ("topk", "topk_list")
NULLS = ("null_route_frac", "null_route_frac_list", "null_route_sweep")
"""Flags that name the same axis: one value, a list of values, a sweep."""


def axis_values(given: Mapping[str, Any], names: Sequence[str], *, number: Callable[[str], Any], example: str) -> Any:
    """The values that flags of one axis ask for; None without any.

    Raises:
        UsageError: more than one is given, or the list is not one of distinct numbers.
    """
    used = [name for name in names if given.get(name, False) is not False]
    if len(used) > 1:
        one, other = map(option, used[:2])
        message = f"{one} and {other} cannot be given together"
        raise UsageError(message, cause="they name the same axis", hint=f"use {other} alone")
    if not used:
        return None
    if not used[0].endswith("_list"):
        return NULL_SWEEP if used[0].endswith("_sweep") else [given[used[0]]]
    flag, text = option(used[0]), given[used[0]]
    try:
        values = [number(word.strip()) for word in text.split(",")]
    except ValueError:
        cause = f"values are separated by commas, such as {example}"
        raise UsageError(f"{flag} {text} is not a list of numbers", cause=cause, hint=f"use {flag} {example}") from None
    if len(set(values)) < len(values):
        raise UsageError(
            f"{flag} {text} names a value twice",
            cause="each value is one case; to repeat a case, start another run",
            hint=f"use {flag} {','.join(str(value) for value in dict.fromkeys(values))}",
        )
    return values


def _whole_number(word: str) -> int:
    # int() would take signs and underscores too.
    if not (word.isascii() and word.isdigit()):
        raise ValueError(word)
    return int(word)


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
        cases=_cases(given),
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


def _cases(given: Mapping[str, Any]) -> list[Case]:
    """A case for each combination of the values of those flags that may have several."""
    several = {flag.name: flag.read_several(given[flag.name]) for flag in CASE_FLAGS if flag.flag.several}
    axes = {
        "distribution": several.pop("distribution"),
        "topk": axis_values(given, TOPK, number=_whole_number, example="1,2,4") or [DEFAULT_TOPK],
        "null_route_frac": axis_values(given, NULLS, number=float, example="0,0.1,0.5") or [0.0],
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
