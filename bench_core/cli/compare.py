"""`bench-core compare`: data parallelism against data and expert parallelism on the same devices."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import typer

from bench_core.aot.targets import AotTarget, choose_target
from bench_core.cli.axes import same_axis, whole_numbers
from bench_core.cli.flags import with_flags
from bench_core.cli.hillclimb import AOT
from bench_core.cli.predicted_study import predict_study
from bench_core.cli.rows import Printed, Progress, labelled, tell_failure, with_suggestion
from bench_core.cli.variables import from_variables, naming_variables
from bench_core.errors import UsageError
from bench_core.flag import Declared, Flag, build, declared, option
from bench_core.harness.case import CASE_FLAGS, Case
from bench_core.harness.combinations import refuse_tile
from bench_core.harness.record import Row, result_file
from bench_core.parallel.sizes import require_devices
from bench_core.parallel.spread import Parallel
from bench_core.studies.study import Entry, Path, Study, read_paths
from bench_core.studies.summary import summarise


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What the cases of a study differ in."""

    path: Annotated[str, Flag(help="Paths to compare.", metavar="PATH,PATH,...")] = ",".join(Path)
    batch: Annotated[int | None, Flag(help="Sequences of one call; tokens = batch x seq.", unless="192")] = None
    batch_list: Annotated[str | None, Flag(help="One case per value, instead of --batch.", metavar="B,B,...")] = None
    seq: Annotated[int, Flag(help="Tokens of a sequence.")] = 128
    topk: Annotated[int | None, Flag(help="Experts per token, instead of --topk-list.")] = None
    topk_list: Annotated[str, Flag(help="One case per value.", metavar="K,K,...")] = "2,8"
    ep_size: Annotated[int | None, Flag(help="dp_ep: devices that share the experts of a data shard.", unless="2")] = (
        None
    )
    ep_axis_sizes: Annotated[str | None, Flag(help="One case per value, instead of --ep-size.", metavar="N,N,...")] = (
        None
    )


# As in the published study where that says it; enough calls for an interval.
_DEFAULTS: Mapping[str, Any] = {
    "hidden": 1024,
    "mlp_dim": 1024,
    "experts": 64,
    "impl": "fused_w13",
    "bench_pass": "forward_backward",
    "iters": 15,
}
PREDICT = Flag(help="With --aot: predict times instead, and which path would win.")
_SAME = (
    "hidden",
    "mlp_dim",
    "experts",
    "shared_expert_dim",
    "dtype",
    "backend",
    "tile",
    "impl",
    "bench_pass",
    "remat_mode",
    "ep_impl",
    "devices",
    "compiler_flag",
    "iters",
    "warmup",
    "seed",
)
"""Flags of a case, which all cases of a study share."""
_HELP = {"impl": "How dp and dp_ep compute the block; baseline_dp: baseline.", "ep_impl": "dp_ep: what devices send."}
_LISTS = {"batch": "batch_list", "topk": "topk_list", "ep_size": "ep_axis_sizes"}
_ONE_AXIS = tuple(frozenset(pair) for pair in _LISTS.items())


def _flags() -> list[Declared]:
    """None has its default in the command: a variable may give it."""
    of_case = {flag.name: flag for flag in CASE_FLAGS}
    shared = [replace(of_case[name], default=_DEFAULTS.get(name, of_case[name].default)) for name in _SAME]
    aot = Declared(name="aot", path=("aot",), kind=str, default=None, flag=AOT)
    predict = Declared(name="predict", path=("predict",), kind=bool, default=False, flag=PREDICT)
    return [*(_without_default(flag) for flag in (*declared(Axes), *shared, aot)), predict]


def _without_default(flag: Declared) -> Declared:
    text = "" if flag.default is None or flag.flag.read is not None else str(flag.default)
    help_text = _HELP.get(flag.name, flag.flag.help)
    said = replace(flag.flag, help=help_text, unless=flag.flag.unless or text, several=False)
    return replace(flag, flag=replace(said, after="", shown_after=""))


FLAGS = _flags()
_VARIABLES = [flag for flag in FLAGS if flag.name != "predict"]
"""Options that a variable may give: those of the published study."""


def compare(given: Mapping[str, Any]) -> None:
    """Compare three ways to spread a MoE block over the same devices, by batch, top-k and size of the expert axis.

    baseline_dp: the program of one device, cut by XLA's partitioner. dp: every device has its own tokens.
    dp_ep: data x expert parallelism.

    Every option can be given by a variable, --hidden by BENCH_HIDDEN; an option wins. Each case is checked against
    the float64 oracle; those of one shape are timed in turn. Rows on stdout, progress and a summary on stderr. Exit
    code: 0 all cases measured, 1 a case failed (it is recorded, the others still run), 2 the request is wrong and
    nothing was run.
    """
    from_environment = from_variables(os.environ, _VARIABLES, given, same_axis=_ONE_AXIS)
    set_by = {name: assignment for name, (assignment, _) in from_environment.items()}
    asked = dict(given) | {name: value for name, (_, value) in from_environment.items()}
    try:
        good = _compared(asked, labels={"variables": " ".join(set_by.values())} if set_by else {})
    except UsageError as error:
        raise naming_variables(error, set_by, same_axis=_ONE_AXIS) from None
    if not good:
        raise typer.Exit(1)


command = with_flags(compare, FLAGS)


def _compared(asked: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    study = _study(asked)
    target = None if "aot" not in asked else choose_target(asked["aot"])
    devices = asked.get("devices")
    if devices is not None:
        # What does not fit is refused before anything starts.
        study.entries(devices)
    if asked.get("predict"):
        return _predicted(study, target, devices, named="backend" in asked, labels=labels)
    rows: list[Row] = []
    made = _measured if target is None else partial(_compiled, target)
    report = Printed(result_file(os.environ))
    for index, (row, progress) in enumerate(made(study, devices, named="backend" in asked), start=1):
        rows.append(replace(row, labels={**row.labels, **labels}))
        report.ended(index, rows[-1])
        tell_failure(rows[-1], progress)
    for line in summarise(rows):
        typer.echo(line, err=True)
    return all(row.failed is None for row in rows)


def _measured(study: Study, devices: int | None, *, named: bool) -> Iterator[tuple[Row, Progress]]:
    """Check and time all cases; those of one shape are called in turn."""
    # Late, so that help and refusals do not wait for JAX.
    from bench_core.harness.chosen import choose_backends
    from bench_core.harness.environment import describe_environment, make_cpu_devices
    from bench_core.studies.together import run_together

    if devices is not None:
        make_cpu_devices(devices, os.environ)
    environment = describe_environment()
    used = environment.devices[0]
    entries = _entries(study, devices, environment.available)
    chosen = choose_backends([e.case for e in entries], named=named, platform=used.platform, device_kind=used.kind)
    entries = [replace(entry, case=one.case) for entry, one in zip(entries, chosen, strict=True)]
    tells = [_progress(entry.name, entries, number) for number, entry in enumerate(entries)]
    for _, group in itertools.groupby(range(len(entries)), key=lambda number: entries[number].case.shape):
        numbers = list(group)
        whole = _progress("all paths", entries, numbers[-1])
        cases = {entries[number].name: entries[number].case for number in numbers}
        rows = run_together(cases, environment, [tells[number] for number in numbers], whole)
        for number, row in zip(numbers, rows, strict=True):
            said = entries[number].row(with_suggestion(row, entries[number].case))
            yield labelled(said, chosen[number]), tells[number]


def _compiled(target: AotTarget, study: Study, devices: int | None, *, named: bool) -> Iterator[tuple[Row, Progress]]:
    """Compile all cases for `target`, and run none."""
    from bench_core.aot.run import aot_row, start_compiler
    from bench_core.harness.chosen import choose_backends

    compiler = start_compiler(target)
    first = compiler.devices[0]
    entries = _entries(study, devices, len(compiler.devices))
    cases = [entry.case for entry in entries]
    chosen = choose_backends(cases, named=named, platform=first.platform, device_kind=first.device_kind)
    entries = [replace(entry, case=one.case) for entry, one in zip(entries, chosen, strict=True)]
    for number, entry in enumerate(entries):
        tell = _progress(entry.name, entries, number)
        yield labelled(entry.row(aot_row(entry.case, compiler, tell)), chosen[number]), tell


def _predicted(
    study: Study, target: AotTarget | None, devices: int | None, *, named: bool, labels: Mapping[str, str]
) -> bool:
    """Predict all cases, and which path would win at each shape; False when nothing can be said of any."""
    if target is None:
        raise UsageError(
            "--predict needs --aot",
            cause="a prediction is of a compiled program, and a compiler needs to know for what",
            hint="add --aot v5p-8",
        )
    from bench_core.harness.chosen import choose_backends

    entries = _entries(study, devices, target.devices)
    cases = [entry.case for entry in entries]
    chosen = choose_backends(cases, named=named, platform="tpu", device_kind=target.device_kind)
    return predict_study(entries, chosen, target, labels)


def _progress(name: str, entries: Sequence[Entry], number: int) -> Progress:
    case = entries[number].case
    prefix = f"[{number + 1}/{len(entries)}] {case.shape} {case.bench_pass}: {name}"
    return lambda text: typer.echo(f"{prefix}: {text}", err=True)


def _entries(study: Study, devices: int | None, available: int) -> list[Entry]:
    """The cases with the sizes of their meshes."""
    count = available if devices is None else devices
    require_devices(count, available=available)
    return [replace(entry, case=entry.case.over(available)) for entry in study.entries(count)]


def _study(asked: Mapping[str, Any]) -> Study:
    """The study that the options ask for.

    Raises:
        UsageError: they are wrong.
    """
    flags = {flag.name: flag for flag in FLAGS}
    values = {name: flags[name].read(value) for name, value in {**_DEFAULTS, **asked}.items() if name in _SAME}
    if "backend" not in asked:
        refuse_tile(backend=None, tile=values.get("tile"))
    ep_impl = values.pop("ep_impl", None)
    # Of the mesh that each path has of its own.
    Parallel(devices=values.pop("devices", None))
    axes = Axes()
    paths = read_paths([word.strip() for word in asked.get("path", axes.path).split(",")])
    _refuse_idle(asked, paths)
    return Study(
        base=build(Case, {**values, "topk": 1}),
        paths=paths,
        batches=tuple(_several(asked, "batch", default="192", example="192,1920")),
        seq=asked.get("seq", axes.seq),
        topks=tuple(_several(asked, "topk", default=axes.topk_list, example="2,8")),
        ep_sizes=tuple(_several(asked, "ep_size", default="2", example="2,4")),
        ep_impl=ep_impl,
    )


def _refuse_idle(asked: Mapping[str, Any], paths: Sequence[Path]) -> None:
    """Refuse a flag of paths that are not measured."""
    needed: dict[str, tuple[Path, ...]] = {
        "ep_size": (Path.DP_EP,),
        "ep_axis_sizes": (Path.DP_EP,),
        "ep_impl": (Path.DP_EP,),
        # baseline_dp has that implementation in any case.
        **({} if asked.get("impl") == "baseline" else {"impl": (Path.DP, Path.DP_EP)}),
    }
    for name, about in needed.items():
        if name in asked and not {*about} & {*paths}:
            raise UsageError(
                f"{option(name)} changes nothing with --path {','.join(paths)}",
                cause=f"it is about {' and '.join(about)}, which {'is' if len(about) == 1 else 'are'} not measured",
                hint=f"leave {option(name)} out, or leave --path out",
            )


def _several(asked: Mapping[str, Any], name: str, *, default: str, example: str) -> list[int]:
    several = _LISTS[name]
    one, listed = asked.get(name), asked.get(several)
    if one is not None and listed is not None:
        raise same_axis(option(name), option(several), hint=f"use {option(several)} {listed} alone")
    return [one] if one is not None else whole_numbers(option(several), listed or default, example=example)
