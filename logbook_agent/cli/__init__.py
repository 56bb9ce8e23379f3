"""The `logbook` command: finds the subcommand, runs it, turns errors into three lines and an exit code.

Only the module of the subcommand that was asked for is imported, so that `--help` and short commands
start at once.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import gc
import importlib
import io
import itertools
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import typer
from msgspec import structs
from typer.core import TyperGroup
from typer.main import get_command

from logbook_agent.cli.options import Common, everywhere, grouped, take_spaces
from logbook_agent.cli.output import report_error
from logbook_agent.features import Subcommand, hook_module, present
from logbook_agent.model.errors import LogbookError, StoreError, UsageError
from logbook_agent.text.phrases import nearest

DAILY = (
    Subcommand("start", "cli.header_commands", "Start a logbook: goal, metrics, baseline, stop criteria, ID prefix."),
    Subcommand("run", "cli.run_command", "Run a command as an experiment: next ID, live output, full record."),
    Subcommand("wait", "cli.wait_commands", "Wait for detached runs, and exit as `run` would have."),
    Subcommand("cancel", "cli.wait_commands", "Stop the runs of an entry."),
    Subcommand(
        "note", "cli.entry_commands", "Add an entry without running anything: a note, decision, incident or plan."
    ),
    Subcommand("edit", "cli.entry_commands", "Change an entry: text, state; or the logbook: goal, metrics, gates."),
    Subcommand("list", "cli.listing", "List all entries, those with certain words, or what did not work."),
    Subcommand("show", "cli.show_command", "Show one entry with its runs."),
    Subcommand("status", "cli.status_commands", "Show where the thread stands, in at most 8,000 bytes."),
    Subcommand("baseline", "cli.header_commands", "Show the baseline and how it moved; move it, with a reason."),
    Subcommand("criteria", "cli.criteria_command", "Show which stop criteria are met; judge, add or drop one."),
    Subcommand("executors", "cli.executors", "List the executors for `--on`, and check each."),
    Subcommand("render", "cli.render_command", "Render the whole view, or check that it is up to date."),
    Subcommand("doctor", "cli.doctor", "Find problems in the store, and fix what is safe to fix."),
)
COMPARE = (
    Subcommand("ab", "cli.ab_command", "Compare two values of an axis, or two versions of the code, in pairs of runs."),
    Subcommand(
        "sweep", "cli.sweep_command", "Run the cases of a recipe and compare the best. Without RECIPE, list them."
    ),
    Subcommand("compare", "cli.table_commands", "Show the answer of a comparison, or numbers side by side."),
    Subcommand("table", "cli.table_commands", "Show rows of entries as a table, in Markdown or CSV."),
)

SUBCOMMANDS = (*DAILY, *COMPARE, *(command for feature in present() for command in feature.commands))

# Start-up makes ten thousands of objects and no garbage; looking for some in between costs a tenth of it.
gc.set_threshold(50_000, 20, 20)

_EVERYWHERE = "Everywhere: -L TOPIC, --root DIR, --json; see `logbook --help`."
_COMMON = everywhere(hidden=False)
_EXTRA = "Got unexpected extra argument"
_NO_OPTION = "No such option: "
_NAMES = [c.name for c in SUBCOMMANDS]


class _Commands(TyperGroup):
    """All commands, each loaded when it is asked for. The help lists them under headings."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return loaded(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        headings = {"Daily": [*DAILY], "Compare": [*COMPARE]}
        for feature in present():
            headings.setdefault(feature.heading, []).extend(feature.commands)
        for heading, commands in headings.items():
            if commands:
                with formatter.section(heading):
                    formatter.write_dl([(command.name, command.help) for command in commands])


@functools.cache
def program() -> Any:
    """The parser of `logbook`."""
    app = typer.Typer(
        name="logbook",
        cls=_Commands,
        help="A research logbook for experiments that agents and people run from the shell.",
        epilog="Run `logbook COMMAND --help` for the options of a command. -L, --root and --json may stand anywhere"
        " before `--`. Data goes to stdout, messages to stderr.",
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )
    app.callback()(_shared_options)
    return get_command(app)


@functools.cache
def loaded(name: str) -> Any:
    """The parser of a command; None where there is none of that name."""
    if (place := next((command for command in SUBCOMMANDS if command.name == name), None)) is None:
        return None
    function = getattr(importlib.import_module(f"logbook_agent.{place.module}"), f"{name}_command")
    # The docstring below its first line, which the table of subcommands repeats.
    _, _, rest = (function.__doc__ or "").partition("\n")
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, help=f"{place.help}\n{rest}", epilog=_EVERYWHERE)(grouped(function))
    return get_command(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from logbook_agent import __version__

        print(__version__)
        raise typer.Exit


def _shared_options(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", is_eager=True, callback=_print_version, help="Print the version."),
    logbook: str = _COMMON["logbook"],
    root: str = _COMMON["root"],
    as_json: bool = _COMMON["as_json"],
) -> None:
    """The options of every command, where they stand before its name."""
    context.obj = structs.replace(context.obj, logbook=logbook, root=root, as_json=as_json)


def entry() -> None:
    """The console script: `main`, then out at once."""
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _without_reader()
    sys.stderr.flush()
    # Nothing is left to do; taking the interpreter apart piece by piece costs a tenth of a short command.
    os._exit(code)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Errors go to stderr as text, with --json to stdout as JSON."""
    _never_unwritable()
    try:
        return _main(list(sys.argv[1:] if args is None else args) or ["--help"])
    except BrokenPipeError:
        return _without_reader()


def _main(args: list[str]) -> int:
    as_json = "--json" in itertools.takewhile(lambda word: word != "--", args)
    try:
        # Not by `main` of the command, which keeps Ctrl-C and a closed pipe to itself.
        command = program()
        with command.make_context("logbook", [*args], obj=Common(words=tuple(args))) as context:
            context.call_on_close(draw_plots)
            result = command.invoke(context)
    except typer.Exit as done:
        return done.exit_code
    except typer.TyperException as error:
        return report_error(_usage(error, args), as_json=as_json)
    except (LogbookError, OSError, KeyboardInterrupt, typer.Abort) as error:
        return ended_by(error, as_json=as_json)
    return result if isinstance(result, int) else 0


def ended_by(error: LogbookError | OSError | KeyboardInterrupt | typer.Abort, *, as_json: bool) -> int:
    """Print the error that ended a command, and return its exit code."""
    if isinstance(error, LogbookError):
        return report_error(error, as_json=as_json)
    if isinstance(error, BrokenPipeError):
        return _without_reader()
    if isinstance(error, OSError):
        return report_error(system_error(error), as_json=as_json)
    print("interrupted", file=sys.stderr)
    return 130


def draw_plots() -> None:
    """Draw the plots of what a command has rendered: once, at its end, and nothing is loaded where none is named."""
    for space in take_spaces():
        if space.due_plots and (drawing := hook_module("plots")) is not None:
            drawing.draw_due(space)


def _never_unwritable() -> None:
    """Paths and arguments may hold bytes that are no UTF-8; stdout shows them as stderr does, escaped."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _without_reader() -> int:
    """The reader of a pipe (head, less) went away: not our error, and nothing is lost. What is still to be written goes
    nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 141


def system_error(error: OSError) -> StoreError:
    """What the system refused, in the form of all our errors. Records are replaced whole or not at all, so
    nothing is half-written, and the next command finds what stood before."""
    return StoreError(
        f"cannot read or write {error.filename or 'a file, or what is printed'}: {error.strerror or error}",
        cause="the disk is full or read-only, too many files are open, a limit is reached, or the folder belongs to"
        " another user",
        hint="fix that and run the command again; to see what was recorded: logbook status",
    )


def _usage(error: typer.TyperException, args: Sequence[str]) -> UsageError:
    """A misuse that the option parser found, in the form of all our errors."""
    context = getattr(error, "ctx", None)
    wanted = next((word for word in args if word in _NAMES), "") if context is None else context.info_name
    message = error.format_message().rstrip(".")
    option = ""
    if message.startswith(_NO_OPTION):
        # An option has no blank in it: what follows one was meant as something else.
        option = re.split(r"\s|\\x", message.removeprefix(_NO_OPTION))[0]
        message = _NO_OPTION + option
    elif message.startswith(_EXTRA):
        message = "more arguments than the command takes"  # without them: one may be the value of another
    if wanted not in _NAMES:
        first = next((word for word in args if not word.startswith("-")), "")
        commands = difflib.get_close_matches(first, _NAMES, n=1)
        hint = f"logbook {commands[0]} --help" if commands else "logbook --help"
        # `reopen` is typed for `close --reopen`.
        having = [name for name in _NAMES if any(f"--{first}" in p.opts for p in loaded(name).params)]
        if len(having) == 1:
            hint = f"logbook {having[0]} --{first}"
        return UsageError(message, cause=f"the commands are {', '.join(_NAMES)}", hint=hint)
    hint = f"logbook {wanted} --help"
    if near := nearest(option, [o for p in loaded(wanted).params for o in p.opts if o.startswith("--")]):
        hint = f"did you mean {near}?"
    elif option and wanted in ("run", "ab", "ci") and "--" not in args:
        hint = f"options of the command itself stand behind --: logbook {wanted} [OPTIONS] -- CMD"
    return UsageError(message, cause="the command line is not valid", hint=hint)
