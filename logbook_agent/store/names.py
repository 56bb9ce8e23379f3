"""What the files of a logbook are called, and how large they may be.

Entries and runs have whole names on disk, `MOE-003.k3x9q` and `01.p2m4a`, which never change and which no two clones
give twice. In a process, and by people, they are called by the number alone, as long as one entry or run has it.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from logbook_agent.model.entry import RELATIONS, bare_id, parse_id
from logbook_agent.model.values import UID_CHARS, TwinRun, run_number

# Far above what the tool writes and people type, and little enough to parse within seconds. A run keeps at most 20,000
# rows of 64 Mi characters together, which are some 160 MiB as JSON.
SETTINGS_BYTES = 2**20
PROSE_BYTES = 16 * 2**20
RUN_BYTES = 256 * 2**20
VIEW_BYTES = 256 * 2**20
# What the block of the header is called in the view; the others are called after their entries.
HEADER = "header"
# What the log of a run is called, beside its record and in its spool; and there, what patterns find being left out,
# until it is moved beside the record.
LOG, SAFE_LOG = "output.log", "safe.log"
# The rows of a sweep, beside its runs.
SWEEP_CSV = "sweep.csv"
# The folder of the pictures that the view shows.
PLOTS = "plots"
# The points of its curves, there, too: of a run that goes on or was cut off, then one of the others. Large ones
# stay out of git.
CURVES, CURVES_LARGE = "curves.points", "curves.large.points"
# The folder of its code's diff and untracked files: in the logbook, and in a spool.
CODE = "code"
# The folder of the files that the command left: beside the record of its run, and in its spool.
ARTIFACTS = "artifacts"
# The keys of records that name entries.
_NAMING = frozenset({*RELATIONS, "entry", "last_entry", "entries", "evidence"})
# What a person's own keys hold is no name of ours.
_FREE = "extra"


def new_uid() -> str:
    """Five characters, one of 33 million."""
    return "".join(secrets.choice(UID_CHARS) for _ in range(5))


class EntryNames:
    """The entries that a logbook has now, by their whole names."""

    def __init__(self, whole_names: Iterable[str]) -> None:
        self._twins: defaultdict[str, list[str]] = defaultdict(list)
        for name in whole_names:
            self._twins[bare_id(name)].append(name)

    @property
    def ids(self) -> list[str]:
        """The IDs of all entries; those of one number stand together."""
        return [name for bare, twins in self._twins.items() for name in ([bare] if len(twins) == 1 else twins)]

    def id_of(self, name: str) -> str:
        """The ID of a whole name: the number, where no other entry has it. That of an entry that is not here is its
        whole name."""
        bare = bare_id(name)
        return bare if self._twins.get(bare) == [name] else name

    def whole(self, entry_id: str) -> str | None:
        """The whole name of an ID; None where no entry has it, or two have."""
        twins = self._twins.get(bare_id(entry_id), [])
        if entry_id in twins:
            return entry_id
        return twins[0] if len(twins) == 1 and entry_id == bare_id(entry_id) else None

    def twins(self, entry_id: str) -> list[str]:
        """The whole names of the entries with this number, in order."""
        return sorted(self._twins.get(bare_id(entry_id), []))


def renamed(data: Any, name: Callable[[str], str]) -> Any:
    """The plain data of a record with every entry that it names called otherwise."""
    if isinstance(data, list):
        return [renamed(one, name) for one in data]
    if not isinstance(data, dict):
        return data
    return {key: value if key == _FREE else _renamed_value(key, value, name) for key, value in data.items()}


def _renamed_value(key: str, value: Any, name: Callable[[str], str]) -> Any:
    if key in _NAMING and isinstance(value, str):
        return name(value) if parse_id(value) is not None else value
    if key in _NAMING and isinstance(value, list):
        return [_renamed_value(key, one, name) for one in value]
    return renamed(value, name)


def marker_name(run_name: str) -> str:
    """What the marker or spool of a run is called, by the run's whole name: `MOE-003.k3x9q_01.p2m4a`."""
    return run_name.replace("/", "_")


def run_of_marker(name: str) -> str | None:
    """The whole name of the run that a marker or spool belongs to; None for any other name."""
    entry, _, run = name.partition("_")
    return f"{entry}/{run}" if parse_id(entry) is not None and run_number(run) is not None else None


def run_names(names: Iterable[str]) -> Mapping[int, str]:
    """The folders of an entry's runs by their numbers, in order; other names are left out."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for name in names:
        number = run_number(name)
        if number is not None:
            found[number].append(name)
    every: dict[int, str] = {}
    for number in sorted(found):
        twins = sorted(found[number])
        every |= {number: twins[0]} if len(twins) == 1 else {TwinRun(number, t.partition(".")[2]): t for t in twins}
    return every
