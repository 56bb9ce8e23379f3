"""What a run needs to be made again, from its record, and what of it is missing here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from logbook_agent.findings.cases import short
from logbook_agent.findings.tables.frame import devices_text
from logbook_agent.model.run import InputFile, Run
from logbook_agent.model.worker_report import Began
from logbook_agent.running.executors import LOCAL
from logbook_agent.text.redaction.names import is_secret_name

_HIDDEN = re.compile(r"\[redacted:[^\]]*\]")
_NAMED = re.compile(r"(?<![\\$])\$(?:(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)\})", re.ASCII)
# What a script of a shell sets itself, and what it does not expand.
_SET = re.compile(
    r"(?:^|[\s;&|(`])(?:(?:for|export|local|declare)\s+)?(?P<set>[A-Za-z_]\w*)(?:\+?=|\s+in\b)"
    r"|\bread\s+(?:-\w+\s+)*(?P<read>[A-Za-z_]\w*)",
    re.ASCII,
)
_QUOTED = re.compile(r"'[^']*'")
_SHELL, _SCRIPT_FLAG = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh"), re.compile(r"-[a-z]*c")
# What every shell has, and every run.
_ALWAYS = frozenset(
    {
        "PWD",
        "OLDPWD",
        "IFS",
        "PPID",
        "OPTARG",
        "OPTIND",
        "LINENO",
        "RANDOM",
        "SECONDS",
        "UID",
        "EUID",
        "HOSTNAME",
        "REPLY",
    }
    | {"LOGBOOK_ENTRY_ID", "LOGBOOK_RUN", "LOGBOOK_RESULT_FILE"}
)
_TOOL = "logbook-agent"


def lacking(run: Run, environ: Mapping[str, str]) -> Iterator[str]:
    """What its record lacks, or names and is not set here."""
    if run.on not in (None, LOCAL):
        yield f"the place it ran on: {run.on}; a run is reproduced on this machine alone"
    code = run.code
    if code is None or code.commit is None or code.identity is None:
        yield "the code: it was not in a git repository, or could not be identified"
    if any(map(_HIDDEN.search, run.argv)):
        yield "a word of the command: it is a secret, which no record holds"
    for name in dict.fromkeys(_variables(run)):
        if name not in environ:
            yield f"variable {name}: not set here"
    for name, value in run.env.variables.items():
        if _is_hidden(value) and name not in environ:
            yield f"variable {name}: its value is a secret, which no record holds, and it is not set here"


def _variables(run: Run) -> Iterator[str]:
    """The variables that its command names: in scripts of a shell those that they do not set, else secrets alone."""
    for at, word in enumerate(run.argv):
        is_script = _is_script(run, at)
        own = {match["set"] or match["read"] for match in _SET.finditer(word)}
        for match in _NAMED.finditer(_QUOTED.sub("", word) if is_script else word):
            name = _name(match)
            is_asked = name not in own | _ALWAYS if is_script else is_secret_name(name)
            if is_asked and name not in run.env.variables:
                yield name


def _is_script(run: Run, at: int) -> bool:
    """Whether a word of its command is a script that a shell expands."""
    is_given = at > 0 and _SCRIPT_FLAG.fullmatch(run.argv[at - 1]) is not None
    return run.shell or (is_given and _SHELL.fullmatch(run.argv[0]) is not None)


def _name(match: re.Match[str]) -> str:
    return match["bare"] or match["braced"]


def _is_hidden(value: str) -> bool:
    return _HIDDEN.search(value) is not None or _NAMED.fullmatch(value) is not None


def words_of(run: Run, environ: Mapping[str, str]) -> list[str]:
    """The words of its command, with the secrets that are variables here."""

    def value(match: re.Match[str]) -> str:
        name = _name(match)
        return environ.get(name, match[0]) if is_secret_name(name) else match[0]

    return [word if _is_script(run, at) else _NAMED.sub(value, word) for at, word in enumerate(run.argv)]


# A working tree that an A/B of two codes, or this command, had made.
_MADE = re.compile(r"/(?:[^\s:/]+/)*logbook-checkouts-\d+/[^/\s:]+/\d+/\w+")


def in_repository(text: str, top: Path) -> str:
    """A recorded text in which a working tree that was removed since is the repository itself."""
    return _MADE.sub(lambda _: str(top), text)


def variables_of(run: Run, environ: Mapping[str, str], relevant: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The variables that the record sets, with the secrets of this environment; and those that matter, are set here and
    were not set there: `relevant` are those of this environment."""
    values = {k: environ.get(k, v) if _is_hidden(v) else v for k, v in run.env.variables.items()}
    return values, [name for name in relevant if name not in values]


def unlike(run: Run, now: Began, *, is_restored: bool) -> Iterator[str]:
    """In what this machine, and the tree that was made here, are not those of the record. `is_restored`: nothing of its
    code was missing."""
    code, made = run.code, now.code
    # What earlier versions called the identity is no other code's.
    is_known = code is not None and code.sources is not None
    if is_restored and code is not None and (made is None or (is_known and made.identity != code.identity)):
        yield f"the code {(code.commit or '?')[:9]}: what was restored of it is not what ran" + _why(now)
    devices = run.own_devices
    if devices and devices_text(devices) != devices_text(now.devices):
        yield f"devices: {devices_text(devices)} in the record, {devices_text(now.devices) or 'none'} here"
    on_cpu = all(device.platform == "cpu" for device in (*devices, *(d for row in run.rows for d in row.devices)))
    if on_cpu and run.pool is None and run.host.name not in (None, now.host.name):
        yield f"host: {run.host.name} in the record, {now.host.name or 'unknown'} here"
    for name, version in run.software.items():
        if name != _TOOL and now.software.get(name) != version:
            yield f"package {name} {version}: {now.software.get(name, 'not found')} here"
    for name in (name for name in now.software if name not in run.software):
        yield f"package {name}: not in the record, {now.software[name]} here"
    yield from changed_inputs(run.inputs, {file.path: file for file in now.inputs})
    for name in sorted(run.env.variables.keys() | now.env.keys()):
        has, there = now.env.get(name), run.env.relevant.get(name)
        if name not in run.env.declared and has != there and not (there is not None and _is_hidden(there)):
            yield f"variable {name}: {_set(there)} in the record, {_set(has)} here"


def _why(now: Began) -> str:
    return f" ({now.problems[0]})" if now.problems else ""


def _set(value: str | None) -> str:
    return "not set" if value is None else repr(value)


def changed_inputs(recorded: tuple[InputFile, ...], here: Mapping[str, InputFile]) -> Iterator[str]:
    """The inputs that are not here, or have another digest."""
    for file in recorded:
        found = here.get(file.path)
        if found is None:
            yield f"input {file.path}: not found"
        elif found.sha256 != file.sha256:
            yield f"input {file.path}: its digest is {short(found.sha256)}, in the record {short(file.sha256)}"
