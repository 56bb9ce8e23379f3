"""`bench-core overlap` and `compare`: the paths of two published studies, each of which is a case of `hillclimb`.

What they add is a name for the flags of each path, in the key `path` of its row, and variables in the place of options:
the published command lines run as they were typed.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any

import typer

from bench_core.aot.targets import choose_target
from bench_core.cli import hillclimb
from bench_core.cli.flags import read_words
from bench_core.cli.rows import Request, compile_cases, run_cases
from bench_core.errors import UsageError
from bench_core.flag import ConfigValue, option

OVERLAP: Mapping[str, str] = MappingProxyType(
    {
        "ref_dp": "--router inside --parallel-mode dp",
        "staged_dp": "--router inside --parallel-mode dp --programs stages",
        "fused_ep": "--router inside --parallel-mode ep --ep-impl all_to_all",
    }
)
"""The forward pass from the router's logits on: DP in one program and in four, EP in one that sends and computes."""
COMPARE: Mapping[str, str] = MappingProxyType(
    {
        "baseline_dp": "--parallel-mode dp --dp-impl auto --impl baseline",
        "dp": "--parallel-mode dp",
        "dp_ep": "--parallel-mode ep",
    }
)
"""DP as XLA's partitioner cuts the program of one device, DP as this project does it, and data x expert parallelism."""
_STUDY = "--hidden 1024 --mlp-dim 1024 --experts 64 --impl fused_w13 --bench-pass forward_backward"
_TOPKS = "2,8"
PREFIX = "BENCH_"
_OWN_VARIABLES = ("batch", "seq", "ep_axis_size")
_CASE = ("hidden", "mlp_dim", "experts", "topk", "topk_list", "dtype", "backend", "impl", "iters", "warmup", "devices")

WITH_MORE = {"allow_extra_args": True, "ignore_unknown_options": True}
"""What a command takes beside its own options goes to `hillclimb`."""
Named = tuple[Mapping[str, ConfigValue], list[str]]
"""What a path adds to the config of its rows, and its words behind `hillclimb`."""


def overlap(
    context: typer.Context,
    path: Annotated[str | None, typer.Option(metavar="|".join(OVERLAP), help="Measure this path alone.")] = None,
    staged_dp: Annotated[bool, typer.Option("--staged-dp", help="Also measure staged_dp.")] = False,
    staged_parallel: Annotated[
        bool, typer.Option("--staged-parallel", help="staged_dp: start all four programs at once.")
    ] = False,
) -> None:
    """Time the forward pass as DP in one program (ref_dp), in four (staged_dp), and as EP in one (fused_ep).

    Each path is a case of hillclimb, whose other options this command takes, too. `logbook sweep overlap-topk` compares
    the paths by pairs of runs.
    """
    names = _chosen(path, OVERLAP, [name for name in OVERLAP if staged_dp or name != "staged_dp"])
    if (staged_parallel or staged_dp) and "staged_dp" not in names:
        raise UsageError(
            f"{'--staged-parallel' if staged_parallel else '--staged-dp'} changes nothing without staged_dp",
            cause="staged_dp is not measured",
            hint="add --staged-dp" if path is None else "use --path staged_dp",
        )
    asynchronous = " --programs stages_async" if staged_parallel else ""
    paths = {name: OVERLAP[name] + (asynchronous if name == "staged_dp" else "") for name in names}
    _refuse_decided(context.args, OVERLAP)
    _run([({"path": name}, [*context.args, *words.split()]) for name, words in paths.items()])


def compare(
    context: typer.Context,
    path: Annotated[str | None, typer.Option(metavar="PATH,PATH,...", help="Paths to measure.")] = None,
    batch: Annotated[
        int | None, typer.Option(help="Sequences of one call; tokens = batch x seq.  [default: 192]")
    ] = None,
    seq: Annotated[int | None, typer.Option(help="Tokens of a sequence.  [default: 128]")] = None,
    ep_size: Annotated[int | None, typer.Option(help="dp_ep: devices that share the experts.  [default: 2]")] = None,
    ep_impl: Annotated[str | None, typer.Option(help="dp_ep: what devices send.  [default: psum]")] = None,
) -> None:
    """Time three ways to spread a block over the same devices: baseline_dp, dp and dp_ep.

    Each path is a case of hillclimb, whose other options this command takes, too, or a variable: BENCH_HIDDEN=1024 is
    --hidden 1024, and an option wins. `logbook sweep dp-ep` compares the paths by pairs of runs.
    """
    variables = _variables(os.environ)
    sequences, length, experts_axis = (
        _number(name, variables.pop(name, None), given, default)
        for name, given, default in (("batch", batch, 192), ("seq", seq, 128), ("ep_axis_size", ep_size, 2))
    )
    names = _chosen(path, COMPARE, list(COMPARE))
    for flag, given in (("--ep-size", ep_size), ("--ep-impl", ep_impl)):
        if given is not None and "dp_ep" not in names:
            raise UsageError(
                f"{flag} changes nothing without dp_ep", cause="dp_ep is not measured", hint=f"leave {flag} out"
            )
    _refuse_decided(context.args, COMPARE)
    words = [
        *_STUDY.split(),
        *(word for pair in variables.items() for word in (option(pair[0]), pair[1])),
        *context.args,
    ]
    if not any(word.partition("=")[0] in ("--topk", "--topk-list") for word in words):
        words += ["--topk-list", _TOPKS]
    words += ["--tokens", str(sequences * length)]
    said = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if name.startswith(PREFIX)]
    sends = ["--ep-impl", ep_impl] if ep_impl is not None else []
    meshes = {"dp_ep": [*_mesh(words, experts_axis), *sends]} if "dp_ep" in names else {}
    keys: dict[str, ConfigValue] = {"batch": sequences, "seq": length}
    paths = [({"path": name, **keys}, [*words, *COMPARE[name].split(), *meshes.get(name, [])]) for name in names]
    try:
        _run(paths, labels={"variables": " ".join(said)} if said else {})
    except UsageError as error:
        if not said:
            raise
        cause = f"{error.cause}; variables that give options: {' '.join(said)}"
        raise UsageError(error.message, cause=cause, hint=error.hint) from None


def _chosen(text: str | None, paths: Mapping[str, str], default: list[str]) -> list[str]:
    if text is None:
        return default
    words = [word.strip() for word in text.split(",")]
    if unknown := [word for word in words if word not in paths]:
        raise UsageError(
            f"--path {unknown[0]} is not known",
            cause=f"the paths are {', '.join(paths)}",
            hint=f"use --path {next(iter(paths))}, or leave it out",
        )
    return [name for name in paths if name in words]


def _refuse_decided(words: Sequence[str], paths: Mapping[str, str]) -> None:
    """Refuse a flag of which the paths are made; `--impl` is that of the paths that have none of their own."""
    decided = {word for text in paths.values() for word in text.split() if word.startswith("--")}
    for word in words:
        if (flag := word.partition("=")[0]) in decided - {"--impl"}:
            raise UsageError(
                f"{flag} is decided by --path",
                cause=f"a path is {', '.join(sorted(decided))}",
                hint=f"leave {flag} out, or use bench-core hillclimb",
            )


def _run(paths: Sequence[Named], labels: Mapping[str, str] | None = None) -> None:
    """Check and time, or compile, the cases of all paths."""
    requests: list[Request] = []
    keys: list[Mapping[str, ConfigValue]] = []
    target = None
    for own, words in paths:
        given: Mapping[str, Any] = read_words(hillclimb.command, words)
        target = choose_target(given["aot"]) if given.get("aot") else None
        requests.append(hillclimb.checked_request(given, compiled=target is not None))
        keys += [own] * len(requests[-1].cases)
    cases = [case for request in requests for case in request.cases]
    whole = replace(requests[0], cases=cases, keys=tuple(keys), labels=labels or {})
    if not (run_cases(whole) if target is None else compile_cases(whole, target)):
        raise typer.Exit(1)


def _mesh(words: Sequence[str], size: int) -> list[str]:
    """The flags of data x expert over all devices, `size` of which share the experts of a data shard."""
    given = read_words(hillclimb.command, words)
    if given.get("devices"):
        count = int(given["devices"])
    elif given.get("aot"):
        count = choose_target(given["aot"]).devices
    else:
        from bench_core.harness.environment import start_devices

        count = len(start_devices())
    if count < 2 or not 1 < size <= count or count % size:
        fitting = [str(one) for one in range(2, count + 1) if count % one == 0]
        raise UsageError(
            f"--ep-size {size} does not fit {count} device{'s' if count > 1 else ''}",
            cause=f"an expert axis has two devices or more and divides all of them ({', '.join(fitting) or 'none'})",
            hint=f"use --ep-size {fitting[0]}" if fitting else "use --devices 4; on a CPU they are virtual",
        )
    return ["--ep-size", str(size), "--dp-size", str(count // size)]


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The options that variables give, by their names.

    Raises:
        UsageError: a variable is of no option, or empty.
    """
    known = {*_OWN_VARIABLES, *_CASE}
    found = {name.removeprefix(PREFIX).lower(): text for name, text in environ.items() if name.startswith(PREFIX)}
    for name, text in found.items():
        variable = f"{PREFIX}{name.upper()}"
        if name not in known or not text.strip():
            raise UsageError(
                f"the variable {variable} is {'empty' if name in known else 'not known'}",
                cause=f"variables give options: {', '.join(f'{PREFIX}{one.upper()}' for one in sorted(known))}",
                hint=f"unset {variable}, or correct it",
            )
    return found


def _number(name: str, text: str | None, given: int | None, default: int) -> int:
    """What an option gives, else its variable, else the default.

    Raises:
        UsageError: the variable is not a whole number.
    """
    if text is not None and not (text.isascii() and text.isdigit()):
        raise UsageError(
            f"{PREFIX}{name.upper()}={text} is not a whole number",
            cause="it gives an option its value",
            hint=f"use a number, such as {PREFIX}{name.upper()}=2, or unset it",
        )
    return given if given is not None else default if text is None else int(text)
