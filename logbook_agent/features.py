"""The table of features: folders of this package that the core does without.

A feature may import the core; the core imports a feature only through this table, when it is asked for. A feature whose
folder is not there has no commands.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from logbook_agent.model.errors import UsageError

_PACKAGE = Path(__file__).parent


class Subcommand(Struct, frozen=True):
    """A command: its name, the module below `logbook_agent` with its function `NAME_command`, a line of help."""

    name: str
    module: str
    help: str


class Feature(Struct, frozen=True, kw_only=True):
    """What a feature adds to the core. Its commands stand under `heading` in the help of all."""

    name: str
    heading: str = "Daily"
    commands: tuple[Subcommand, ...] = ()
    # Modules that the core calls, each by a hook that at most one feature has:
    # plots      `draw_due(workspace)` draws the plots of the views that a command has rendered
    # figures    `named(findings, entry)`: the figures that an entry, or without one the header, names
    # collects   `kept(left, work, redactor)` takes in the files that a worker left; `patterns_in(texts)`
    # artifacts  shows those files
    # reads      `check(spec, words, elsewhere=...)`, `awaited(spec)` and `rows_of(...)`, for the option --read
    # cites      `shown(findings, text, plain=...)` puts numbers for citations, `restored(text)` takes them out, and
    #            `check(workspace, texts)` refuses a citation that names no number
    # code       `code_steps(workspace, book, findings)`: what is left to do with the code that was kept
    # notebook   `status` and `show`: what a notebook displays of a logbook and of an entry
    # drawn      `draw_NAME(...)` draws an answer on a terminal
    # live       `RunDisplay` and `SeriesDisplay`
    # points     `point_sink(files)` keeps the points of a run (`PointSink`)
    # curves     reads them back (`curves/stored_curves.py`)
    hooks: Mapping[str, str] = field(default_factory=dict)
    # Kinds of executors, each with what makes one of its settings: `module:function`, below `logbook_agent`.
    executors: Mapping[str, str] = field(default_factory=dict)
    # Checks of `logbook doctor`, in the same form: each takes the workspace and the book, and yields a `Trouble`.
    checks: tuple[str, ...] = ()


FEATURES = (
    Feature(
        name="issue",
        heading="GitHub",
        commands=(
            Subcommand("sync", "issue.commands", "Bring the GitHub issue up to date."),
            Subcommand("link", "issue.commands", "Link the experiment issue or a related one."),
            Subcommand("snapshot", "issue.tag", "Tag the pushed commit, and post how to reproduce it."),
            Subcommand("close", "issue.closing", "Close a thread: conclusion, limitations, next steps."),
            Subcommand("ci", "issue.gate.ci", "Measure base and head of a pull request in pairs; comment on it."),
        ),
    ),
    Feature(
        name="report",
        heading="Pages and data",
        hooks={
            "drawn": "report.terminal.drawn_answers",
            "live": "report.terminal.terminal_displays",
            "plots": "report.plots.commands",
            "figures": "report.figures.catalogue",
        },
        commands=(
            Subcommand("report", "report.page.commands", "Write an HTML page for each logbook, and an index."),
            Subcommand(
                "watch",
                "report.live.watch",
                "Show what is running and where the thread stands, live.",
            ),
            Subcommand("publish", "report.publish.commands", "Publish the pages: one file, a branch, or a Space."),
            Subcommand(
                "plot",
                "report.plots.commands",
                "Draw measured results as SVG: sweeps, pairs, noise, best so far, all comparisons.",
            ),
        ),
    ),
    Feature(
        name="artifacts",
        hooks={"collects": "artifacts.kept_files", "artifacts": "artifacts.showing"},
        checks=("artifacts.kept_check:check_artifacts",),
    ),
    Feature(
        name="exports",
        hooks={"notebook": "exports.notebook"},
        heading="Pages and data",
        commands=(
            Subcommand(
                "export",
                "exports.commands",
                "Export all measured rows: CSV, Parquet, JSON, MLflow, W&B offline, Trackio.",
            ),
        ),
    ),
    Feature(
        name="imports",
        heading="Pages and data",
        commands=(
            Subcommand(
                "import",
                "imports.import_command",
                "Take in a log that you keep today: results.tsv, CSV, JSON lines, Markdown.",
            ),
        ),
    ),
    Feature(name="formats", hooks={"reads": "formats.written_file"}),
    Feature(
        name="agents",
        heading="Agents",
        hooks={"cites": "agents.shown_citations", "code": "agents.kept_commit"},
        commands=(
            Subcommand("next", "agents.next_command", "Say what is open, in order: why, and what to type."),
            Subcommand("keep", "agents.keep_commands", "Record that the code of an entry is kept."),
            Subcommand("discard", "agents.keep_commands", "Record that the code of an entry is discarded, and why."),
            Subcommand("patch", "agents.patch_command", "Show, apply or undo the changes of a run's code."),
            Subcommand(
                "reproduce", "agents.reproduce_command", "Repeat a recorded run, and compare it with its record."
            ),
            Subcommand("cite", "agents.cite_command", "Fill in or check the numbers that files cite from the record."),
            Subcommand("mcp", "agents.mcp.mcp_command", "Serve the logbook to a coding agent, by MCP on stdio."),
            Subcommand("agents", "agents.agents_command", "Write the skill for coding agents into a project."),
        ),
    ),
    Feature(name="curves", hooks={"points": "curves.point_sink", "curves": "curves.stored_curves"}),
    Feature(
        name="cluster",
        executors={
            "ssh": "cluster.ssh:ssh",
            "slurm": "cluster.slurm:slurm",
            "ray": "cluster.ray:ray",
            "command": "cluster.submitter:submitter",
            "typed": "cluster.submitter:typed",
        },
    ),
)


def present() -> list[Feature]:
    """The features whose folders are there, in their order."""
    return [feature for feature in FEATURES if (_PACKAGE / feature.name / "__init__.py").is_file()]


def hook_module(hook: str) -> Any:
    """The module for a hook, such as `plots` or `reads`; None where no feature that is there names one."""
    place = next((feature.hooks[hook] for feature in present() if hook in feature.hooks), None)
    return importlib.import_module(f"logbook_agent.{place}") if place is not None else None


def needed_module(hook: str, what: str, *, hint: str) -> Any:
    """The module for a hook that `what` needs. Raises UsageError where no feature that is there names one."""
    if (module := hook_module(hook)) is None:
        name = next(feature.name for feature in FEATURES if hook in feature.hooks)
        raise UsageError(
            f"{what} is not available", cause=f"the feature `{name}` is not part of this installation", hint=hint
        )
    return module


def provided(place: str) -> Any:
    """What a feature that is there provides as `module:name`."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"logbook_agent.{module}"), name)
