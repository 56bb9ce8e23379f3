"""What a row was measured with, and in what rows differ. Two rows are alike when their identities are equal but for the
axis of a question; what else differs is the residue."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.frame import PARTLY_KNOWN, devices_text, key_of, on_accelerator, show
from logbook_agent.text.commands.flags import Parts, flags, normal_name, parts

COMMAND, CWD = "command", "cwd"


def identity(case: Case, axis: Collection[str] = (), explained: Collection[str] = ()) -> dict[str, str]:
    """Config, code, launcher, variables, packages, files, devices, the host of a CPU, folder, and the words of the
    command that explain none of these; without the `axis`. What other rows report as
    config (`explained`) is config of this one, too. A fact with the name of a config key has `@` before its own."""
    facts: dict[str, str | None] = dict(case.facts)
    if case.code is not None and "commit" in facts:
        facts["commit"] = case.code  # the name of a code depends on the rows beside it
    if on_accelerator(case):
        facts.pop("host", None)
    said = unexplained(_without_values(case, axis) if axis else case, (*axis, *explained))
    command = shlex.join(words_of(structs.replace(said, flags=tuple(said.settings))))
    facts |= {"devices": devices_text(case.row.devices), COMMAND: command, CWD: case.cwd}
    reported = {**case.row.observations, **case.row.labels}
    whole = {**{name: reported[name] for name in explained if name in reported}, **case.row.config}
    config = {name: key_of(value) for name, value in whole.items()}
    found = {**{f"@{name}" if name in config else name: value for name, value in facts.items()}, **config}
    return {n: value for n, value in found.items() if value is not None and not (axis and _is_of(n, axis))}


def residue(cases: Iterable[Case], axis: Collection[str] = ()) -> list[str]:
    """The names in which rows differ beside the axis, as far as they say what they were measured with."""
    rows = list(cases)
    if len(rows) < 2:
        return []
    config = dict.fromkeys(name for case in rows for name in case.row.config)
    found = [(identity(case, axis, config), case.row.failed is not None) for case in rows]

    def is_known(name: str, own: Mapping[str, str], has_failed: bool) -> bool:
        # A row that failed may not have reported all its config.
        return name in own or not (name.lstrip("@").startswith(PARTLY_KNOWN) or (has_failed and name in config))

    names = dict.fromkeys([*config, *(name for own, _ in found for name in own)])
    return [name for name in names if len({own.get(name) for own, bad in found if is_known(name, own, bad)}) > 1]


def commands_apart(cases: Sequence[Case]) -> list[str]:
    """The flags in which the commands of rows differ, and `command` where other words do."""
    config = {name for case in cases for name in case.row.config}
    said = [unexplained(case, config) for case in cases]
    settings = [dict(one.settings) for one in said]
    names = dict.fromkeys(flag for own in settings for flag in own)
    found = [flag for flag in names if len({own.get(flag) for own in settings}) > 1]
    return [*found, *([COMMAND] if len({one.words for one in said}) > 1 else [])]


def _is_of(name: str, axis: Collection[str]) -> bool:
    """Whether an axis is this name, or its kind: `env`, `package`, `argv`."""
    return not {name, name.partition(":")[0], "argv" if name == COMMAND else name}.isdisjoint(axis)


def _without_values(case: Case, axis: Collection[str]) -> Case:
    """The case with `{axis}` where its command has the value of an axis that no flag sets, as a word or a part of a
    path: `--src wt/{axis}`."""
    command = case.command
    for value in (case.row.config.get(name, case.facts.get(name)) for name in {*axis} - flags(command).keys()):
        if value is not None:
            word = re.compile(rf"(?<![\w.-]){re.escape(show(value))}(?![\w.-])")
            command = tuple(word.sub("{axis}", text) for text in command)
    return structs.replace(case, command=command)


def unexplained(case: Case, names: Iterable[str] = ()) -> Parts:
    """The words of the command of a case that neither its config nor `names` explain."""
    row = case.row
    keys = frozenset(map(normal_name, (*row.config, *names)))
    # The flags of true or false keys take no value.
    switches = frozenset(normal_name(k) for k, v in row.config.items() if isinstance(v, bool))
    return parts(case.command, keys, switches, frozenset(map(normal_name, (*row.metrics, *row.observations))))


def words_of(said: Parts) -> list[str]:
    """The words of a command that nothing explains, flags last."""
    return [*said.words, *(word for flag in said.flags for word in as_typed(*flag))]


def as_typed(flag: str, values: Iterable[str]) -> Iterator[str]:
    """The words of a flag with its values."""
    for value in values:
        yield from (flag, value) if value and flag.startswith("-") else (f"{flag}={value}" if value else flag,)
