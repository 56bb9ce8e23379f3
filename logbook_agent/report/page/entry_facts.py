"""What two entries may differ in, beside their results: config, code, environment. Facts as one reads them, each under
its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from logbook_agent.findings.cases import short
from logbook_agent.findings.facts import devices_text, executed, software_of
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run
from logbook_agent.model.values import spelt
from logbook_agent.text.words import listed

_SHOWN_VALUES = 6
_SHOWN_COMMANDS = 3

# A group (`config`, `code`, `environment`) to its facts, name to value; only what is known has a place.
Groups = dict[str, dict[str, str]]


def groups_of(record: Record) -> Groups:
    """The facts of an entry's runs. A fact in which they differ has all its values, in order of appearance."""
    runs = [status.run for status in record.runs if status.counts] or [status.run for status in record.runs]
    return {
        "config": _merged(_config(run) for run in runs),
        "code": _merged(_code(run) for run in runs),
        "environment": _merged(_environment(run) for run in runs),
    }


def _config(run: Run) -> list[tuple[str, str]]:
    rows = [*(row.config for row in run.rows), *(row.config for row in run.predictions)]
    return [
        (name, spelt(value)) for config in rows or [run.config] for name, value in config.items() if value is not None
    ]


def _code(run: Run) -> list[tuple[str, str]]:
    found = [("command", executed(run)), *((("folder", run.cwd),) if run.cwd else ())]
    if (code := run.code) is None:
        return found
    dirty = None if code.dirty is None else "yes" if code.dirty else "no"
    named = {
        "commit": code.commit,
        "branch": code.branch,
        "uncommitted changes": short(code.diff_sha256) if code.dirty and code.diff_sha256 else dirty,
        "identity of tree, diff and untracked files": code.identity and short(code.identity),
    }
    found += [(name, value) for name, value in named.items() if value]
    return found + [(f"untracked {file.path}", short(file.sha256)) for file in code.untracked]


def _environment(run: Run) -> list[tuple[str, str]]:
    named = {
        "devices": devices_text(run) if run.rows or run.own_devices else None,
        "host": run.own_host.name,
        "launcher": run.through or None,
        "executor": run.executor,
    }
    found = [(name, value) for name, value in named.items() if value]
    found += [(f"env {name}", value) for name, value in run.env.variables.items()]
    return found + [(f"package {name}", version) for name, version in sorted(software_of(run).items())]


def _merged(of_runs: Iterable[Iterable[tuple[str, str]]]) -> dict[str, str]:
    values: dict[str, dict[str, None]] = {}
    for pairs in of_runs:
        for name, value in pairs:
            values.setdefault(name, {})[value] = None
    return {name: _said(name, found) for name, found in values.items()}


def _said(name: str, values: Mapping[str, None]) -> str:
    joint, most = ("\n", _SHOWN_COMMANDS) if name == "command" else (", ", _SHOWN_VALUES)
    return listed(list(values), most, joint)
