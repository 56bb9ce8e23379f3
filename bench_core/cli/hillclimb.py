"""`bench-core hillclimb`: one block, one row per case."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bench_core.aot.targets import TARGETS, choose_target
from bench_core.cli.axes import null_fractions, refuse_run_numbers, topk_values
from bench_core.cli.flags import with_flags
from bench_core.cli.rows import compile_cases, run_cases
from bench_core.flag import Flag, build, declared
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.harness.combinations import refuse_measuring, refuse_stages, refuse_tile

AOT = Flag(help="Only compile, for that TPU; no TPU has to be present.", metavar="|".join(TARGETS), after="profile")


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
        Flag(help="Also time pack, up, down and combine separately; forward only.", after="devices"),
    ] = False
    profile: Annotated[
        Path | None,
        Flag(
            help="Write a Perfetto trace of one extra call to a folder below DIR.", metavar="DIR", after="stage_timing"
        ),
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
        from bench_core.cli.listing import print_listing

        print_listing()
        return
    target = None if asked.aot is None else choose_target(asked.aot)
    cases = _cases(given, asked)
    if asked.stage_timing:
        for case in cases:
            refuse_stages(bench_pass=case.bench_pass, queue_mode=case.queue_mode, parallel=case.parallel)
    choose_backend = "backend" not in given
    if target is None:
        good = run_cases(cases, choose_backend=choose_backend, stage_timing=asked.stage_timing, profile=asked.profile)
    else:
        refuse_measuring(stage_timing=asked.stage_timing, profile=asked.profile is not None)
        good = compile_cases(cases, target, choose_backend=choose_backend)
    if not good:
        raise typer.Exit(1)


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
    return [build(Case, same | dict(zip(axes, values, strict=True))) for values in itertools.product(*axes.values())]


command = with_flags(hillclimb, declared(Case, Asked))
