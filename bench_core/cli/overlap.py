"""`bench-core overlap`: one block over several devices, as separate programs and as one, for a list of top-k."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from bench_core.aot.targets import AotTarget, choose_target
from bench_core.blocks.modes import Programs
from bench_core.cli.axes import refuse_run_numbers, topk_values
from bench_core.cli.flags import with_flags
from bench_core.cli.hillclimb import AOT
from bench_core.cli.rows import Printed, Progress, labelled, tell_failure
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, choose, declared
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.harness.combinations import refuse_row_tiles, refuse_tile
from bench_core.harness.record import result_file
from bench_core.parallel.spread import EpImpl, ParallelMode
from bench_core.studies.paths import (
    PathName,
    against,
    crossovers,
    named,
    path_case,
    summary,
    with_ratio,
)
from bench_core.studies.ratios import Ratio

_DECIDED = frozenset(
    {
        # What makes a path of a case, and what is not part of every path.
        *("parallel_mode", "dp_impl", "processes", "router", "programs", "bench_pass", "queue_mode", "remat_mode"),
        # A capacity counts something else in each form, so that the paths would not compute the same.
        *("capacity_policy", "capacity_factor"),
        # Null slots are drawn outside the programs.
        *("null_route_frac", "null_routing_mode", "renormalize_real_after_null"),
    }
)
DEFAULT_FORM = EpImpl.ALL_TO_ALL
_HELP = {
    "impl": "How the block is computed, see bench-core hillclimb --list.",
    "ep_impl": "What devices of the EP paths send to each other.",
    "ep_size": "EP paths: devices that share the experts.",
    "dp_size": "EP paths: parts of the tokens. DP paths have a part for each of the same devices.",
    "chunks": "Also measure chunked_ep: tokens are sent in N parts; all_to_all only.",
}
_DEFAULTS = {"ep_impl": DEFAULT_FORM.value, "dp_size": "1", "chunks": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for besides the case: values of top-k, and paths."""

    topk_list: Annotated[
        str | None, Flag(help="One comparison per value, instead of --topk.", metavar="K,K,...", after="topk")
    ] = None
    staged_dp: Annotated[bool, Flag(help="Also measure staged_dp: four programs, called as one.", after="devices")] = (
        False
    )
    staged_parallel: Annotated[
        bool, Flag(help="staged_dp: start all four at once, and wait for the last.", after="staged_dp")
    ] = False
    path: Annotated[
        str | None,
        Flag(help="Measure this path alone.", metavar="|".join(PathName), after="staged_parallel"),
    ] = None
    aot: Annotated[str | None, replace(AOT, after="path")] = None

    @property
    def programs(self) -> Programs:
        """How staged_dp starts its programs."""
        return Programs.STAGES_ASYNC if self.staged_parallel else Programs.STAGES

    @property
    def base(self) -> PathName:
        """The path that the others are compared with."""
        return PathName.STAGED_DP if self.staged_dp else PathName.REF_DP


def overlap(given: Mapping[str, Any]) -> None:
    """Compare separate DP programs with one EP program that sends and computes, for each top-k; forward only.

    Prints a RESULT line and a RESULT_JSON line per path and top-k on stdout, and at the end a table of ratios on
    stderr. Each path is checked against a float64 oracle; those of one top-k are timed in turn. Exit code: 0 all
    measured, 1 a path failed (it is recorded, the others still run), 2 the request is wrong and nothing was run.
    """
    asked = build(Asked, given)
    target = None if asked.aot is None else choose_target(asked.aot)
    cases = _cases(given, asked)
    paths = _paths(asked, cases[0])
    named_backend = "backend" in given
    if target is None:
        good = _run(cases, paths, asked, named_backend=named_backend)
    else:
        good = _compile(cases, paths, target, named_backend=named_backend)
    if not good:
        raise typer.Exit(1)


def _cases(given: Mapping[str, Any], asked: Asked) -> list[Case]:
    """The case of the EP paths for each top-k."""
    same = {flag.name: flag.read(given[flag.name]) for flag in _FLAGS if flag.name in given and flag.name != "topk"}
    refuse_run_numbers(given, [same["distribution"]])
    if "backend" not in given:
        refuse_tile(backend=None, tile=same.get("tile"))
        refuse_row_tiles(backend=None, row_tiles=same.get("row_tiles"))
    form = {"parallel_mode": ParallelMode.EP, "ep_impl": same.pop("ep_impl", DEFAULT_FORM)}
    return [build(Case, same | form | {"topk": topk}) for topk in topk_values(given.get("topk"), asked.topk_list)]


def _paths(asked: Asked, case: Case) -> list[PathName]:
    """The paths that are asked for.

    Raises:
        UsageError: a flag is about a path that is not measured, or stages are to be compiled as one program.
    """
    chunked = case.parallel.chunks is not None
    if case.parallel.chunks == 1:
        raise UsageError(
            "--chunks 1 changes nothing",
            cause="one chunk is all tokens, and chunked_ep would be fused_ep",
            hint="use --chunks 2, or leave --chunks out",
        )
    paths = [PathName.REF_DP]
    paths += [PathName.STAGED_DP] if asked.staged_dp else []
    paths += [PathName.FUSED_EP]
    paths += [PathName.CHUNKED_EP] if chunked else []
    if asked.path is not None:
        paths = [PathName(choose("--path", asked.path, list(PathName)))]
    needed = {
        "--staged-dp": (asked.staged_dp, PathName.STAGED_DP, "leave --staged-dp out, or leave --path out"),
        "--staged-parallel": (
            asked.staged_parallel,
            PathName.STAGED_DP,
            "add --staged-dp" if asked.path is None else "leave --staged-parallel out, or use --path staged_dp",
        ),
        "--chunks": (chunked, PathName.CHUNKED_EP, "leave --chunks out, or leave --path out"),
    }
    for flag, (used, path, hint) in needed.items():
        if used and path not in paths:
            raise UsageError(f"{flag} changes nothing without {path}", cause=f"{path} is not measured", hint=hint)
    if PathName.CHUNKED_EP in paths and not chunked:
        raise UsageError(
            "--path chunked_ep needs --chunks", cause="the number of chunks has no default", hint="add --chunks 2"
        )
    if asked.aot is not None and PathName.STAGED_DP in paths:
        raise UsageError(
            "staged_dp cannot be combined with --aot",
            cause="--aot compiles one program for each case, and staged_dp is four",
            hint="leave --staged-dp out, or name another --path",
        )
    return paths


def _run(cases: list[Case], paths: list[PathName], asked: Asked, *, named_backend: bool) -> bool:
    """Check and time all paths, top-k after top-k; True when none failed."""
    report = Printed(result_file(os.environ))
    devices = cases[0].parallel.devices
    if devices is not None:
        _spread(cases, devices)  # What does not fit is refused before any device is made.
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.chosen import choose_backends
    from bench_core.harness.environment import describe_environment, make_cpu_devices
    from bench_core.studies.together import run_together

    if devices is not None:
        make_cpu_devices(devices, os.environ)
    environment = describe_environment()
    used = environment.devices[0]
    platform = used.platform
    bases = _spread(cases, environment.available)
    chosen = choose_backends(bases, named=named_backend, platform=platform, device_kind=used.kind)
    bases = [one.case for one in chosen]
    good = True
    ratios: dict[int, dict[PathName, Ratio]] = {}
    for index, base in enumerate(bases, start=1):
        topk = base.shape.topk
        progress = [_progress(path, base, bases) for path in paths]
        made = {str(path): path_case(path, base, programs=asked.programs, platform=platform) for path in paths}
        measured = run_together(made, environment, progress, _progress("all paths", base, bases))
        by_path = {path: named(path, row) for path, row in zip(paths, measured, strict=True)}
        ratios[topk] = against(asked.base, by_path)
        said = crossovers(asked.base, ratios) if base is bases[-1] else {}
        for path, tells in zip(paths, progress, strict=True):
            row = labelled(by_path[path], chosen[index - 1])
            if path in ratios[topk]:
                row = with_ratio(row, asked.base, ratios[topk][path])
                labels = {"crossover": said[path]} if path in said else {}
                row = replace(row, labels={**row.labels, **labels})
            report.ended(index, row)
            tell_failure(row, tells)
            good &= row.failed is None
    for line in summary(asked.base, ratios, platform=platform):
        report.progress(line)
    return good


def _compile(cases: list[Case], paths: list[PathName], target: AotTarget, *, named_backend: bool) -> bool:
    """Compile all paths for `target`, running none; True when none failed."""
    report = Printed(result_file(os.environ))
    from bench_core.aot.run import aot_row, start_compiler
    from bench_core.harness.chosen import choose_backends

    compiler = start_compiler(target)
    bases = _spread(cases, len(compiler.devices))
    kind = compiler.devices[0].device_kind
    chosen = choose_backends(bases, named=named_backend, platform="tpu", device_kind=kind)
    bases = [one.case for one in chosen]
    good = True
    for index, base in enumerate(bases, start=1):
        for path in paths:
            progress = _progress(path, base, bases)
            case = path_case(path, base, programs=Programs.ONE, platform="tpu")
            row = labelled(named(path, aot_row(case, compiler, progress)), chosen[index - 1])
            report.ended(index, row)
            tell_failure(row, progress)
            good &= row.failed is None
    return good


def _spread(cases: Sequence[Case], available: int) -> list[Case]:
    """The cases with the sizes of their mesh, on so many devices.

    Raises:
        UsageError: they cannot be spread over them, or one device would have all experts: then fused_ep would be
            another ref_dp.
    """
    parallel, experts = cases[0].parallel, cases[0].shape.experts
    devices = available if parallel.devices is None else parallel.devices
    if devices < 2:
        raise UsageError(
            "overlap needs at least two devices",
            cause="there is one, and the paths differ in what several devices do",
            hint="use --devices 4 (on CPU so many virtual ones are made)",
        )
    together = parallel.ep_size == 1 or (parallel.ep_size is None and parallel.dp_size == devices)
    if together:
        flag = "--ep-size 1" if parallel.ep_size == 1 else f"--dp-size {parallel.dp_size}"
        raise UsageError(
            f"{flag} gives all experts to every device",
            cause="the EP paths need experts that lie apart: without them fused_ep computes what ref_dp does",
            hint=parallel.way_to_fit(experts, devices),
        )
    return [case.over(available) for case in cases]


def _progress(path: str, base: Case, bases: list[Case]) -> Progress:
    prefix = f"[{bases.index(base) + 1}/{len(bases)}] topk={base.shape.topk} {path}"
    return lambda text: typer.echo(f"{prefix}: {text}", err=True)


def _single(flag: Declared) -> Declared:
    """A flag of a case as this command has it: one value for all paths."""
    said = replace(flag.flag, several=False, help=_HELP.get(flag.name, flag.flag.help))
    if said.shown_after in _DECIDED:
        said = replace(said, shown_after="")
    if flag.name in _DEFAULTS:
        said = replace(said, unless=_DEFAULTS[flag.name])
    return replace(flag, flag=said)


_FLAGS = [_single(flag) for flag in CASE_FLAGS if flag.name not in _DECIDED]
command = with_flags(overlap, [_single(flag) for flag in declared(Case, Asked) if flag.name not in _DECIDED])
