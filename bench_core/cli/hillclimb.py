"""`bench-core hillclimb`: one block, one row per case."""

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench_core.aot.targets import KINDS, AotTarget, choose_target
from bench_core.cli.axes import null_fractions, refuse_run_numbers, topk_values
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import Request, chosen_cases, compile_cases, lead_cases, refuse_processes, run_cases
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.harness.combinations import (
    refuse_measuring,
    refuse_row_tiles,
    refuse_stage_times,
    refuse_tile,
)
from bench_core.job.flags import JobFlags
from bench_core.tune.kept import TUNED, cache_file

if TYPE_CHECKING:
    from bench_core.harness.chosen import Chosen

AOT = Flag(
    help="Only compile, for a host of that TPU, or a larger slice such as v5p-128; no TPU has to be present.",
    metavar=KINDS,
    after="profile",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides one case: several of them, and what is done with each."""

    topk_list: Annotated[
        str | None, Flag(help="One case per value, instead of --topk.", metavar="K,K,...", after="topk")
    ] = None
    null_route_frac_list: Annotated[
        str | None, Flag(help="One case per fraction.", metavar="F,F,...", after="null_route_frac")
    ] = None
    null_route_sweep: Annotated[
        bool, Flag(help="One case per fraction from 0.1 to 0.9.", after="null_route_frac_list")
    ] = False
    stage_timing: Annotated[
        bool,
        Flag(help="Also time pack, up, down, combine and what is sent separately; forward only.", after="devices"),
    ] = False
    profile: Annotated[
        Path | None,
        Flag(
            help="Write a Perfetto trace of one extra call to a folder below DIR.", metavar="DIR", after="stage_timing"
        ),
    ] = None
    aot: Annotated[str | None, AOT] = None
    cache: Annotated[
        Path | None,
        Flag(help="--tile tuned: the file of tune.", metavar="FILE", unless="the user's cache", after="row_tiles"),
    ] = None
    list: Annotated[bool, Flag(help="List backends and implementations with what they serve.")] = False


def hillclimb(given: Mapping[str, Any]) -> None:
    """Check a gated MoE block against a float64 oracle, then time it; --aot: only compile it.

    Prints a RESULT line and a RESULT_JSON line per case on stdout, progress on stderr. Exit code: 0 all
    cases measured, 1 a case failed (it is recorded, the others still run), 2 the request is wrong and
    nothing was run.
    """
    asked = build(Asked, given)
    if asked.list:
        from bench_core.cli.listing import print_listing

        print_listing()
        return
    target = None if asked.aot is None else choose_target(asked.aot)
    request = read_request(given)
    if asked.stage_timing:
        for case in request.cases:
            case.require_stages("--stage-timing")
            refuse_stage_times(inside=case.routes_inside, staged=case.staged)
    if target is not None:
        refuse_measuring(stage_timing=asked.stage_timing, profile=asked.profile is not None)
    job = build(JobFlags, given)
    parallel = request.cases[0].parallel
    if parallel.is_shared and target is None:
        for case in request.cases:
            # Before what the processes make of it: a number of processes is proposed for devices that fit.
            case.require_fit()
    job.refuse(parallel, {"--aot": target is not None, "--stage-timing": asked.stage_timing})
    if target is not None:
        good = compile_cases(request, target)
    elif parallel.is_shared:
        good = lead_cases("hillclimb", given, request, job)
    else:
        good = run_cases(request)
    if not good:
        raise typer.Exit(1)


def read_request(given: Mapping[str, Any]) -> Request:
    """The cases that the flags ask for, and what is done with each.

    Raises:
        UsageError: they ask for nothing that can be.
    """
    asked = build(Asked, given)
    tuned = _tuned_file(given, asked)
    without = {name: value for name, value in given.items() if name != "tile" or value != TUNED}
    return Request(
        cases=_cases(without, asked),
        choose_backend="backend" not in given,
        stage_timing=asked.stage_timing,
        profile=None if asked.profile is None else Path(asked.profile),
        tuned=tuned,
    )


def cases_on(given: Mapping[str, Any], target: AotTarget) -> "list[Chosen]":
    """The cases on a slice of TPUs, each with its backend.

    Raises:
        UsageError: the flags ask for nothing that can be, or for several processes.
    """
    request = read_request(given)
    refuse_processes(request.cases[0].parallel)
    cases = [case.over(target.devices) for case in request.cases]
    return chosen_cases(request, cases, platform="tpu", device_kind=target.device_kind)


def _tuned_file(given: Mapping[str, Any], asked: Asked) -> Path | None:
    """The file with tuned tiles, where these are asked for.

    Raises:
        UsageError: a file without the wish for a tuned tile, or row tiles beside it.
    """
    if given.get("tile") == TUNED:
        if "row_tiles" in given:
            raise UsageError(
                f"--tile {TUNED} and --row-tiles cannot be given together",
                cause="the tuned tile of backend tiled is its row tiles",
                hint="leave one of them out",
            )
        return Path(asked.cache or cache_file(os.environ))
    if asked.cache is not None:
        raise UsageError(
            f"--cache {asked.cache} changes nothing without --tile {TUNED}",
            cause="it names the file in which bench-core tune keeps tiles",
            hint=f"add --tile {TUNED}, or leave --cache out",
        )
    return None


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
    refuse_run_numbers(given, axes["distribution"])
    same = {
        flag.name: flag.read(given[flag.name]) for flag in CASE_FLAGS if flag.name in given and flag.name not in axes
    }
    if "backend" not in given:
        refuse_tile(backend=None, tile=same.get("tile"))
        refuse_row_tiles(backend=None, row_tiles=same.get("row_tiles"))
    return [build(Case, same | dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())]


def _flags() -> list[Declared]:
    return [_also_tuned(one) if one.name == "tile" else one for one in declared(Case, Asked, JobFlags)]


def _also_tuned(tile: Declared) -> Declared:
    said = f"{tile.flag.help.rstrip('.')}; {TUNED}: what tune has found, for tiled too."
    return replace(tile, flag=replace(tile.flag, help=said, metavar=f"{tile.flag.metavar}|{TUNED}"))


FLAGS = _flags()
_RUNNING = ("stage_timing", "profile", "list", "coordinator", "process_id", "timeout")
ON_SLICE = [flag for flag in FLAGS if flag.name not in _RUNNING]
"""Those of cases that are said something about, and not run."""
command = with_flags(hillclimb, FLAGS)
