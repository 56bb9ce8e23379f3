"""The `bench-core` command: parse options, run, print. JAX is imported by commands that need it, late."""

import gc
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from typer.main import get_command

from bench_core.cli import hillclimb, paths, roofline
from bench_core.cli.check import check
from bench_core.device import keep_absent_tpus_quiet
from bench_core.errors import BenchError, UsageError

PROGRAM = "bench-core"

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Benchmark of a Mixture-of-Experts block in JAX: checked against an oracle, then timed.",
)
app.command("hillclimb")(hillclimb.command)
app.command("overlap", context_settings=paths.WITH_MORE)(paths.overlap)
app.command("compare", context_settings=paths.WITH_MORE)(paths.compare)
app.command("check")(check)
app.command("roofline")(roofline.command)


# Newer releases of Typer carry a copy of click, older ones use the installed click. The parent of the public
# BadParameter is the usage error of either.
_USAGE_PROBLEM: type[Exception] = typer.BadParameter.__bases__[0]


_INTERRUPTED = 130
"""128 + SIGINT. Typer makes this exit code of Ctrl-C in a command, and says nothing."""

_OBJECTS = 100_000
"""So many new ones make Python look for cycles."""

_BENCH_PACKAGES = ("jax", "jaxlib", "jaxtyping", "numpy")
"""What the extra `bench` installs."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit: 0 done, 1 a case failed, 2 usage error with nothing run."""
    raise SystemExit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    keep_absent_tpus_quiet(os.environ)
    # The oracle's products are small: threads of NumPy's BLAS cost more than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # JAX makes many objects that stay, and tracing many more: looking through them took a tenth of a short run.
    gc.set_threshold(_OBJECTS)
    try:
        code = get_command(app).main(args=words, prog_name=PROGRAM, standalone_mode=False)
    except BenchError as error:
        typer.echo(error.render(), err=True)
        return error.exit_code
    except _USAGE_PROBLEM as error:
        typer.echo(_usage_error(error, words).render(), err=True)
        return UsageError.exit_code
    except ModuleNotFoundError as error:
        if error.name not in _BENCH_PACKAGES:
            raise
        typer.echo(_not_installed(error.name).render(), err=True)
        return UsageError.exit_code
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    if code == _INTERRUPTED:
        typer.echo("error: interrupted\n  cause: Ctrl-C\n  next: run it again", err=True)
    return int(code or 0)


def _not_installed(package: str) -> UsageError:
    return UsageError(
        f"{package} is not installed",
        cause="the benchmark's packages are an extra of logbook-agent",
        hint="pip install 'logbook-agent[bench]'",
    )


def _usage_error(error: Any, words: list[str]) -> UsageError:
    first_line, *_ = error.format_message().rstrip(".").splitlines()
    known = [command.name for command in app.registered_commands]
    command = f"{PROGRAM} {words[0]}" if words and words[0] in known else PROGRAM
    cause = "this version has no such option or command; names cannot be abbreviated"
    if isinstance(error, typer.BadParameter):
        cause = "the value is not of the type that the option takes"
    return UsageError(first_line[:1].lower() + first_line[1:], cause=cause, hint=f"see {command} --help")
