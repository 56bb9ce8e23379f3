"""What runs executed and under which config: commands, environment, code, devices, packages, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from logbook_agent.findings.cases import code_names, executed, short
from logbook_agent.findings.tables.spec import Table
from logbook_agent.model.comparison import CODE_AXIS, Comparison, Invocation
from logbook_agent.model.entry import Entry, PlannedCommand
from logbook_agent.model.record import Record
from logbook_agent.model.run import Run, Scalar, machine_text
from logbook_agent.model.values import spelt
from logbook_agent.model.worker_report import Device, InputFile
from logbook_agent.text import markdown as md
from logbook_agent.text.phrases import assignments, bounded, counted, duration, listed
from logbook_agent.text.shell_words import command_line, planned_words, split_env_words

# A page of an entry stays as short as a person can read, however many runs there are.
SHOWN_COMMANDS = 100
_SHOWN_KINDS = 50
_SHOWN_NUMBERS = 50
_SHOWN_FILES = 5


class Executed(NamedTuple):
    """A command that runs executed, as one types it, under its label, and how many runs did."""

    label: str | None
    text: str
    shell: bool
    times: int


def commands_of(record: Record) -> list[Executed]:
    """The commands that were executed, each once, in the order of their first runs. One that an imported source quotes
    stands in the text of its entry."""
    ours = (s.run for s in record.runs if not s.run.is_reported)
    found = Counter((run.label, executed(run), run.shell) for run in ours)
    return [Executed(*one, times) for one, times in found.items()]


def command_section(record: Record) -> str:
    """Executed commands, each once, under their labels; repeats are counted."""
    return _commands(record.id, [(c.label, c.text, c.times) for c in commands_of(record)])


def planned_section(record: Record) -> str:
    """Planned commands that have not been executed yet, or the comparison of which no pair was begun."""
    stated = record.entry.comparison
    if stated is not None and stated.run is not None and not any(s.run.part is not None for s in record.runs):
        return md.items(_stated(stated, stated.run))
    return _commands(record.id, [(c.label, planned(c), 1) for c in record.pending_commands])


def _stated(stated: Comparison, run: Invocation) -> list[str]:
    """How the runs of a comparison are made, and what it asks, in lines."""
    question, design = stated.question, stated.design
    leading, words = ({}, run.argv) if run.shell else split_env_words(run.argv)
    lines = [md.command(command_line(words, {**run.env, **leading}, shell=run.shell))] if run.argv else []
    lines += [f"folder: {md.inline_code(run.cwd)}"] if run.cwd != "." else []
    setup = md.command(run.setup) if run.setup is not None else ""
    lines += [f"setup:\n{setup}" if "\n" in setup else f"setup: {setup}"] if setup else []
    asked = [
        f"{question.axis}: {listed(question.sides)} against {question.base}",
        f"by {listed(question.metrics)}" if question.metrics else "",
        f"{'' if design.fixed else 'at most '}{counted(design.budget_pairs, 'pair')}",
        f"an effect below {100 * question.minimum_effect:g}% does not matter",
    ]
    return [*lines, md.escape("; ".join(filter(None, asked)))]


def planned(command: PlannedCommand) -> str:
    """A planned command as one types it; its leading `K=V` words are assignments."""
    env, words = planned_words(command)
    return command_line(words, env, shell=command.shell)


def _commands(entry_id: str, found: Sequence[tuple[str | None, str, int]]) -> str:
    if not found:
        return ""
    lines = []
    for label, text, count in found:
        times = f" (×{count})" if count > 1 else ""
        command = md.command(text)
        if label is not None:
            lines.append(f"{md.escape(label)}{times}:\n{md.items([command])}")
        elif "\n" in command and times:
            # Behind the end of a fence nothing may stand.
            lines.append(f"×{count}:\n{command}")
        else:
            lines.append(command + times)
    if len(found) == 1 and found[0][0] is None:
        return lines[0]
    return md.items(bounded(lines, SHOWN_COMMANDS, f"more commands: `logbook show {entry_id}`"))


def config_section(record: Record, table: Table | None) -> str:
    """What identifies the runs: constant config, env that matters, code, devices, software."""
    runs = [s.run for s in record.runs]
    lines = []
    constants: dict[str, Scalar] = {**table.constants} if table is not None else {}
    if not constants and not any(r.rows for r in runs):
        constants = {**runs[-1].config}
    if constants:
        lines.append(md.inline_code(assignments({k: spelt(v) for k, v in constants.items()})))
    lines += _environment(runs)
    if all(r.is_reported for r in runs):  # nobody looked for the rest
        commits = [r.code.commit if r.code is not None and r.code.commit else "" for r in runs]
        return md.items([*lines, *_per_run("commit, as reported", [c and md.inline_code(c) for c in commits], runs)])
    lines += _per_run("timeout", [duration(r.timeout_s) if r.timeout_s else "" for r in runs], runs)
    lines += _per_run("stall", [duration(r.stall_s) if r.stall_s else "" for r in runs], runs)
    lines += _per_run("read", [md.inline_code(r.read) if r.read else "" for r in runs], runs)
    lines += _per_run("launcher", [r.through for r in runs], runs)
    lines += _code_lines(runs)
    lines += _per_run("input", [", ".join(map(_input, r.inputs)) for r in runs], runs)
    # A run without rows measured nothing, so what it ran on tells no result apart.
    measured = [r for r in runs if r.rows] or runs
    lines += _per_run("devices", [devices_text(r) for r in measured], measured)
    lines += [f"machine: {md.escape(busy)}"] if (busy := machine_text(measured)) else []
    lines += _software_lines(measured)
    lines += [*_judged_lines(record.entry), *_order_lines(record.entry)]
    return md.items(lines) if lines else ""


def _judged_lines(entry: Entry) -> list[str]:
    """What judges the rows beside the gates of the logbook."""
    said = [*map(md.inline_code, entry.gates), *(f"{md.escape(name)} may differ" for name in entry.free)]
    return [f"gates: {', '.join(said)}"] if said else []


def _order_lines(entry: Entry) -> list[str]:
    """How the order of the runs was drawn, and how many pairs were planned."""
    if entry.comparison is None:
        return []
    design = entry.comparison.design
    return [f"order: drawn for each pair by seed {design.seed}; up to {design.budget_pairs} pairs"]


def _per_run(name: str, texts: list[str], runs: Sequence[Run], *, differs: bool = True) -> list[str]:
    """One line when all runs agree; else which runs have which, and that this `differs`, unless it does not."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) == 1:
        return [f"{name}: {distinct[0]}"] if distinct[0] else []
    where: dict[str, list[int]] = {text: [] for text in distinct}
    for run, text in zip(runs, texts, strict=True):
        where[text].append(run.run)
    parts = [f"{text or 'none'} (run {listed(list(map(str, where[text])), _SHOWN_NUMBERS)})" for text in distinct]
    return [f"{name}{' differs' if differs else ''}: {'; '.join(bounded(parts, _SHOWN_KINDS))}"]


def _environment(runs: Sequence[Run]) -> list[str]:
    """Variables that all runs share, and apart from them those in which the runs differ."""
    found = [r.env.relevant for r in runs]
    shared = {k: v for k, v in found[0].items() if all(env.get(k) == v for env in found)}
    rest = [_assignments({k: v for k, v in env.items() if k not in shared}) for env in found]
    return _per_run("env", [_assignments(shared)] * len(runs), runs) + _per_run("env", rest, runs)


def _assignments(env: Mapping[str, str]) -> str:
    return ", ".join(md.inline_code(command_line((), {k: v})) for k, v in env.items())


def _code_lines(runs: Sequence[Run]) -> list[str]:
    """One line when all runs had one code; else what tells the codes apart. A file that only some commands
    name is no difference."""
    names = code_names(runs)
    files = [{f.path: f.sha256 for f in r.code.untracked} if r.code is not None else {} for r in runs]
    paths = dict.fromkeys(path for found in files for path in found)
    changed = {path for path in paths if len({found[path] for found in files if path in found}) > 1}
    differs = len(set(names)) > 1 or bool(changed)
    # A checkout of the same commit is on no branch.
    branches = {code.commit: code.branch for r in reversed(runs) if (code := r.code) is not None and code.branch}
    texts = [_code(r, branches, identified=differs, changed=changed) for r in runs]
    return _per_run("code", texts, runs, differs=differs)


def _input(file: InputFile) -> str:
    return f"{md.inline_code(file.path)} ({short(file.sha256)})"


def no_code(run: Run) -> str:
    """What is said of a run without code."""
    return "unknown" if run.code is None and not run.was_code_looked_for else "not in a git repository"


def _code(run: Run, branches: Mapping[str | None, str], *, identified: bool, changed: Collection[str]) -> str:
    """`branches` that commits were on. `identified`: with a digest of uncommitted changes, where the commit alone does
    not tell codes apart."""
    code = run.code
    if code is None or (code.commit is None and code.branch is None):
        text = no_code(run)
    elif code.commit is None:
        text = "no commit yet"
    else:
        branch = branches.get(code.commit)
        text = f"`{code.commit[:9]}`" + (f" on {md.escape(branch)}" if branch else "")
    if code is None:
        return text
    if code.dirty and not _is_commit(run):
        text += ", with uncommitted changes"
        text += f" ({short(code.diff_sha256)})" if identified and code.diff_sha256 else ""
    if code.untracked:
        shown = [(f, f" ({short(f.sha256)})" if f.path in changed else "") for f in code.untracked]
        text += ", untracked " + listed([md.inline_code(f.path) + digest for f, digest in shown], _SHOWN_FILES)
    return text


def _is_commit(run: Run) -> bool:
    """Whether a run is that of a commit in a comparison of code, whose checkout differs by the evaluator alone."""
    side = run.part.side if run.part is not None else ""
    return "@" in side and run.config.get(CODE_AXIS) == side


def devices_text(run: Run) -> str:
    """Devices that the rows report; those of this host when they report none and ran here."""
    found: tuple[Device, ...] = tuple(dict.fromkeys(d for row in run.rows for d in row.devices))
    own = run.own_host
    if not found and own.name is None and not run.own_devices:
        return "unknown (the remote command did not report them)"
    parts = []
    for device in found or run.own_devices:
        kind = f" ({device.kind})" if device.kind and device.kind != device.platform else ""
        used = f", {device.used} used" if device.used is not None and device.used != device.count else ""
        parts.append(f"{device.count if device.count is not None else '?'} × {device.platform}{kind}{used}")
    host = next((row.host for row in run.rows if row.host), None)
    if host is None and own.name is not None:
        host = own.name + (f" ({own.cores} cores)" if own.cores is not None else "")
    return "; ".join(parts) + (f"; host {host}" if host else "")


def software_of(run: Run) -> Mapping[str, str]:
    """The packages that its rows report; where they report none, what is installed where it ran."""
    return {k: v for software in _reported(run) for k, v in software.items()} or run.software


def _reported(run: Run) -> list[dict[str, str]]:
    return [row.software for row in run.rows]


def _software_lines(runs: Sequence[Run]) -> list[str]:
    """Versions that no run contradicts, and apart from them those in which the runs differ. A package that
    some runs do not report is no difference. What no row reports is what is installed where the command ran: whether
    it was used nobody knows."""
    found = [software_of(r) for r in runs]
    name = "software" if any(software for r in runs for software in _reported(r)) else "installed"
    merged: dict[str, dict[str, None]] = {}
    for software in found:
        for package, version in software.items():
            merged.setdefault(package, {})[version] = None
    agreed = ", ".join(f"{package} {next(iter(v))}" for package, v in merged.items() if len(v) == 1)
    rest = [", ".join(f"{k} {v}" for k, v in s.items() if len(merged[k]) > 1) for s in found]
    return ([f"{name}: {agreed}"] if agreed else []) + _per_run(name, rest, runs)
