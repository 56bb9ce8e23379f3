"""The rows of runs as cases of a table, each with the facts of its run that keep unlike rows apart.

Rows are repeats of one case, wherever in the thread they were measured, when they agree in config, in the facts of
their runs (environment, code, packages, launcher; the host where it is the device), in the devices, and in what their
commands say beyond config. It is what `evidence.pairs` keeps apart within one comparison, as a key that the index can
hold.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logbook_agent.findings.evidence.alike import Trial
    from logbook_agent.findings.tables import Case
    from logbook_agent.model.record import Record
    from logbook_agent.model.run import Code, Row, Run

# What this tool adds to the software of a run says nothing about what ran.
_TOOL = "logbook-agent"
# Of the digest that is the key of a case.
_DIGITS = 16


def cases(*records: Record) -> list[Case]:
    """The rows of entries, in the order they were run, each with the devices it ran on and its run's facts."""
    # Imported where rows are met: most commands have none to show, and tables take as long to load as a fsync.
    from logbook_agent.findings.tables import Case

    runs = [(record.id, status.state, status.run) for record in records for status in record.runs]
    names = code_names([run.code for *_, run in runs])
    return [
        Case(
            entry=entry,
            run=run.run,
            label=run.label,
            state=state,
            row=_with_devices(row, run),
            facts=_facts(run, row, name),
        )
        for (entry, state, run), name in zip(runs, names, strict=True)
        for row in run.rows
    ]


def trials(*records: Record) -> list[Trial]:
    """The rows of entries as `cases` has them, each with the command that measured it; for comparisons."""
    from logbook_agent.findings.evidence.alike import Trial

    runs = [status.run for record in records for status in record.runs for _ in status.run.rows]
    confirming = {
        (r.id, run): r.entry.recipe.metric or "" for r in records if r.entry.recipe for run in r.confirmations
    }
    return [
        Trial(
            case=case,
            # Where a launcher leads is a fact by itself, and what it passes on is the run's environment.
            command=run.argv if run.launcher is None else run.launcher.command,
            cwd=run.cwd,
            started=run.started,
            # (How busy the processors were is recorded, too, but a CPU that nobody else wants is rare.)
            contended=run.contention is not None and bool(run.contention.accelerator),
            confirms=confirming.get((run.entry, run.run)),
        )
        for case, run in zip(cases(*records), runs, strict=True)
    ]


def code_names(codes: Sequence[Code | None]) -> list[str | None]:
    """`3357f54a5`, or `3357f54a5+a1b2c3d` with the digest of uncommitted changes; one name for one code.

    Code is HEAD's tree and the diff, both without the logbook root, so that commits of entries alone do not
    change it. Untracked files stand apart: that a command names one makes it no other code. Where it does, the
    tree is known by the commit alone. None: the code was not identified.
    """
    found: dict[object, str] = {}
    # Without untracked files the identity is that of tree and diff: these say which commits are alike.
    for code in sorted((c for c in codes if c is not None), key=lambda c: bool(c.untracked)):
        if code.identity is not None and code.commit is not None:
            place = (code.commit, code.diff_sha256)
            name = found.get(code.identity) or found.get(place) or _name(code.commit, code.diff_sha256)
            found.setdefault(code.identity, name)
            found.setdefault(place, name)
    return [None if code is None or code.identity is None else found.get(code.identity) for code in codes]


def _name(commit: str, diff_sha256: str | None) -> str:
    return commit[:9] + (f"+{short(diff_sha256)}" if diff_sha256 else "")


def short(digest: str) -> str:
    """As much of a digest as tells two apart to a reader."""
    return digest[:7]


def launcher_text(run: Run) -> str:
    if run.launcher is None:
        return ""
    return run.launcher.name + (f" on {run.launcher.target}" if run.launcher.target else "")


def host_of(run: Run, row: Row | None = None) -> str | None:
    """Where rows were measured: as they report it, else this host, unless a launcher ran them elsewhere."""
    if row is not None and row.host:
        return row.host
    return run.host.name if run.launcher is None else None


def _facts(run: Run, row: Row, code: str | None) -> dict[str, str]:
    software = {_package(name): version for name, version in (run.software | row.software).items()}
    software.pop(_TOOL, None)
    found = {"commit": code, "launcher": launcher_text(run) or None, "host": host_of(run, row)}
    return {
        **{name: value for name, value in found.items() if value is not None},
        **{f"env:{name}": value for name, value in sorted((run.env.relevant | run.env.declared).items())},
        **{f"package:{name}": version for name, version in sorted(software.items())},
        **{f"file:{file.path}": short(file.sha256) for file in (run.code.untracked if run.code is not None else ())},
    }


def _package(name: str) -> str:
    return name.lower().replace("_", "-")


def _with_devices(row: Row, run: Run) -> Row:
    """Devices that a row does not report are this host's, unless a launcher ran it elsewhere."""
    if row.devices or run.launcher is not None:
        return row
    return dataclasses.replace(row, devices=run.devices)


# -- one case, wherever in the thread ----------------------------------------------------------------


def keyed_trials(record: Record) -> list[tuple[Trial, str]]:
    """The rows of an entry, each with the key of its case. Of rows that one run printed with one key, each is a case of
    its own: their words tell them apart, else their order."""
    codes = {s.run.run: s.run.code.identity for s in record.runs if s.run.code is not None}
    found: dict[tuple[int, str], list[Trial]] = {}
    for trial in trials(record):
        run = trial.case.run
        found.setdefault((run, _key(trial, codes.get(run))), []).append(trial)
    return [pair for (_, key), same in found.items() for pair in zip(same, _apart(key, same), strict=True)]


def _key(trial: Trial, code: str | None) -> str:
    from logbook_agent.findings.evidence.alike import Terms
    from logbook_agent.findings.evidence.pairs import said_by_command
    from logbook_agent.findings.tables.frame import devices_text, key_of, on_accelerator

    case = trial.case
    facts = dict(case.facts)
    # By its name alone, code of two entries may look different that is the same.
    if facts.pop("commit", None) is not None and code is not None:
        facts["commit"] = code
    if on_accelerator(case):
        facts.pop("host", None)
    config = {name: key for name, value in case.row.config.items() if (key := key_of(value)) is not None}
    said = said_by_command(trial, Terms())
    return _case_digest(sorted(config.items()), sorted(facts.items()), devices_text(case.row.devices), said)


def _apart(key: str, same: Sequence[Trial]) -> list[str]:
    if len(same) == 1:
        return [key]
    words: list[Mapping[str, str]] = [trial.case.row.labels for trial in same]
    if len({_case_digest(sorted(w.items())) for w in words}) == len(same):
        return [_case_digest(key, sorted(w.items())) for w in words]
    return [_case_digest(key, number) for number in range(len(same))]


def _case_digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
