"""The rows of runs as cases of a table, each with the facts of its run that keep unlike rows apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field, structs

from logbook_agent.model.code import CHECKOUT
from logbook_agent.model.comparison import CODE_AXIS, Part
from logbook_agent.model.gates import is_nothing, sentinels
from logbook_agent.model.record import NOT_COUNTED, Record, is_own, mended
from logbook_agent.model.run import Row, Run, contention_of, is_busy
from logbook_agent.model.stats import median
from logbook_agent.text.shell_words import command_line

# What this tool adds to the software of a run says nothing about what ran.
_TOOL = "logbook-agent"
# What --code sets: where Python and the programs of a setup are found.
_SET_BY_CODE = ("PYTHONPATH", "PATH")


class Case(Struct, frozen=True, kw_only=True):
    """One measured row with where it comes from.

    `facts` are what its run had beyond config and devices, by axis: `commit`, `env:NAME`, `launcher`, `host`,
    `package:NAME`, `file:PATH`. Cases whose facts differ never share a cell. A fact that a case does not have
    is a difference for `commit`, `launcher` and `env:NAME` (not set), and merely not known for the others.
    `state` is how its run ended, or `warm-up`; None: not told. Cases of several states are no repeats of each other.
    `command` measured it (without a launcher's prefix), in the folder `cwd`, `code` identifies the code, whatever
    its name, and `files` all files that git tracks; `busy`: the machine was, by `model.load` (None: not told).
    `part` is the one that its run has in a comparison, `problems` are those of its run. `shuffled`: chance drew
    the order of the runs of its sweep. `is_reported`: an imported source tells about it.
    """

    entry: str
    run: int
    label: str | None = None
    state: str | None = None
    row: Row
    facts: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    cwd: str | None = None
    started: str = ""
    busy: bool | None = None
    code: str | None = None
    files: str | None = None
    part: Part | None = None
    problems: tuple[str, ...] = ()
    accepted: bool = False
    shuffled: bool = False
    is_reported: bool = False

    @property
    def is_good(self) -> bool:
        """Whether its run finished and it did not fail, so that its numbers count."""
        return self.state in ("finished", None) and self.row.failed is None


def cases(*records: Record) -> list[Case]:
    """The rows of entries, in the order they were run, each with the devices it ran on, its run's facts and command.

    Those of a run that does not count have the state `warm-up` or `left out`, however it ended: no reader counts what
    did not finish.
    """
    runs = [
        (record.id, status.discarded_as or status.state, status.run) for record in records for status in record.runs
    ]
    names = code_names([run for *_, run in runs])
    shuffled = {r.id for r in records if r.entry.recipe is not None and r.entry.recipe.seed is not None}
    accepted = {(record.id, run) for record in records for one in record.entry.accepted for run in one.runs}
    return [
        Case(
            entry=entry,
            run=run.run,
            label=run.label,
            state=state,
            # Devices that a row does not report are this host's, unless a launcher ran it elsewhere.
            row=row if row.devices else structs.replace(row, devices=run.own_devices),
            facts=facts_of(run, row, name),
            # Where a launcher leads is a fact by itself, and what it passes on is the run's environment.
            command=run.command,
            cwd=run.cwd,
            started=run.started,
            busy=is_busy(contention_of(run)),
            code=run.code.key if run.code is not None else None,
            files=run.code.identity if run.code is not None else None,
            part=run.part,
            problems=tuple(map(str, run.problems)),
            accepted=(entry, run.run) in accepted,
            shuffled=entry in shuffled,
            is_reported=run.is_reported,
        )
        for (entry, state, run), name in zip(runs, names, strict=True)
        for row in run.rows
    ]


def without_zeros(found: Sequence[Case]) -> list[Case]:
    """The cases without those that measured a zero far from every other value of its metric, unless somebody accepted
    it: also where these values are of other entries."""
    zeros = sentinels(case.row for case in found)
    if not zeros:
        return list(found)
    return [
        c for c in found if c.accepted or not any(n in zeros and is_nothing(n, m) for n, m in c.row.metrics.items())
    ]


def counting(found: Sequence[Case]) -> list[Case]:
    """The cases without those of warm-ups and of runs that were left out, which are shown and never counted."""
    return [case for case in found if case.state not in NOT_COUNTED]


def value_of(row: Row, name: str) -> float | None:
    """The median of a metric's samples, or the observation of that name; None when there is neither."""
    measured = row.metrics.get(name)
    if measured is not None:
        return median(measured.samples) if measured.samples else None
    return row.observations.get(name)


def without_mended(record: Record) -> Record:
    """The record without failed runs of a sweep that were made again."""
    if record.entry.recipe is None:
        return record
    left_out = mended([s.run for s in record.runs])
    return (
        structs.replace(record, runs=tuple(s for s in record.runs if s.run.run not in left_out)) if left_out else record
    )


def code_names(runs: Sequence[Run]) -> list[str | None]:
    """`3357f54a5`, or `3357f54a5+a1b2c3d` with the digest of uncommitted changes; one name for one code.

    Code is HEAD's tree and the diff, both without the logbook root, so that commits of entries alone do not
    change it. Untracked files stand apart: that a command names one makes it no other code. Where it does, the
    tree is known by the commit alone. Where code is compared, a run has the name of its own commit, as its side tells
    it from others. None: the code was not identified.
    """
    found: dict[object, str] = {}
    names: dict[int, str] = {}
    known = [(run, code, code.commit) for run in runs if (code := run.code) is not None and code.key and code.commit]
    # A commit that holds the code names it before changes that one did not hold yet. Without untracked files the
    # identity is that of tree and diff: these say which commits are alike.
    for run, code, commit in sorted(known, key=lambda one: (bool(one[1].untracked), bool(one[1].diff_sha256))):
        own = _name(commit, code.diff_sha256)
        if run.part is not None and CODE_AXIS in run.config:
            names[id(run)] = own  # its side tells it from others
            continue
        same = [(commit, code.diff_sha256), ("identity", code.identity), ("key", code.key)]
        names[id(run)] = next(filter(None, map(found.get, same)), own)
        found = dict.fromkeys(same, names[id(run)]) | found
    return [names.get(id(run)) for run in runs]


def _name(commit: str, diff_sha256: str | None) -> str:
    return commit[:9] + (f"+{short(diff_sha256)}" if diff_sha256 else "")


def typed_env(run: Run) -> dict[str, str]:
    """The variables that were set for a run, without those that --code sets: paths in a checkout that is gone when the
    comparison ends."""
    is_code = is_own(run) or (run.part is not None and CODE_AXIS in run.config)
    ours = {n for n in _SET_BY_CODE if is_code and CHECKOUT.search(run.env.declared.get(n, ""))}
    return {n: v for n, v in run.env.declared.items() if n not in ours}


def executed(run: Run, *, is_quoted: bool = False) -> str:
    """The command of a run as one types it, with the variables it set in front; paths in a checkout that is gone begin
    at the folder of the command. `is_quoted`: a script of the shell is one word."""
    folders = [name for name in (run.cwd or ".").split("/") if name != "."]
    top = "/".join([".."] * len(folders)) or "."
    return CHECKOUT.sub(lambda _: top, command_line(run.argv, typed_env(run), shell=run.shell and not is_quoted))


def short(digest: str) -> str:
    """The first characters of a digest, enough to tell two apart."""
    return digest[:7]


def facts_of(run: Run, row: Row, code: str | None) -> dict[str, str]:
    """What a row was measured with, beyond config and devices, by axis."""
    software = {n.lower().replace("_", "-"): version for n, version in (run.software | row.software).items()}
    software.pop(_TOOL, None)
    # Rows were measured where they say, else on this host, unless a launcher ran them elsewhere. Of equal machines one
    # is as good as another.
    host = run.pool or row.host or run.own_host.name
    found = {"commit": code, "launcher": run.through or None, "host": host}
    return {
        **{name: value for name, value in found.items() if value is not None},
        **{f"env:{name}": value for name, value in sorted((run.env.relevant | typed_env(run)).items())},
        **{f"package:{name}": version for name, version in sorted(software.items())},
        **{f"file:{file.path}": short(file.sha256) for file in (run.code.untracked if run.code is not None else ())},
        **{f"file:{file.path}": short(file.sha256) for file in run.inputs},
    }
