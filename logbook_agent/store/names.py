"""What a record's form does not say, checked where it is read: above all names that become part of a path, so that none
leads elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from logbook_agent.model.codec import CodecError
from logbook_agent.model.entry import Entry
from logbook_agent.model.entry import entry_of as entry_named
from logbook_agent.model.header import Header
from logbook_agent.model.ids import PREFIX, TOPIC, parse_id
from logbook_agent.text.redaction import by_shape

if TYPE_CHECKING:
    from logbook_agent.model.run import Run

# What may be the name of an entry's file, also of one that a person named wrongly: `doctor` mends those.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MOST_PID = 2**31 - 1
# A file system has names of 255 bytes, of which an ID, a number and an ending need some.
_MOST_CHARS = 200


def check_header(header: Header, folder: str) -> None:
    """Raise CodecError unless the topic is the name of the logbook's folder, and the prefix makes IDs."""
    _check("topic", header.topic, _is_topic, "lowercase letters, digits, - and _")
    if header.topic != folder:
        raise CodecError(f"expected {folder}, the name of its folder, got {header.topic}", ".topic")
    _check("prefix", header.prefix, _is_prefix, "capital letters and digits, in words joined by -")


def check_entry(entry: Entry) -> None:
    """Raise CodecError for a name that is none, and for a comparison of too little or too much."""
    _check("id", entry.id, _is_name, "PREFIX-NNN")
    for key in ("continues", "completes", "supersedes"):
        target = getattr(entry, key)
        if target is not None:
            _check(key, target, _is_id, "the ID of an entry, PREFIX-NNN")
    for place, alias in enumerate(entry.aliases):
        _check(f"aliases[{place}]", alias, _is_name, "the ID of an entry, PREFIX-NNN")
    for place, comparison in enumerate(entry.comparisons):
        count = len(comparison.references)
        if count != 2 if comparison.axis is None else count == 0:
            wanted = "two" if comparison.axis is None else "one or more"
            raise CodecError(f"expected {wanted}, got {count}", f".comparisons[{place}]", ".references")
        for target in comparison.references:
            _check(f"comparisons[{place}].references", entry_named(target), _is_id, "IDs of entries")
    if entry.recipe is not None:
        _check("recipe.name", entry.recipe.name, _is_name, "the name of a recipe")


def check_run(run: Run) -> None:
    """Raise CodecError for a name, a number or a process that is none, and for a measurement of nothing."""
    _check("entry", run.entry, _is_name, "the ID of an entry, PREFIX-NNN")
    if not 0 < run.run <= _MOST_PID:
        raise CodecError(f"expected a number of 1 or more, got {run.run}", ".run")
    for key, process in (("tool", run.tool), ("child", run.child)):
        if process is not None and not 0 < process.pid <= _MOST_PID:
            raise CodecError(f"expected a process ID, got {process.pid}", f".{key}", ".pid")
    for place, row in enumerate(run.rows):
        for name, measurement in row.metrics.items():
            if not measurement.samples:
                raise CodecError("expected at least one sample, got none", f".rows[{place}].metrics.{name}", ".samples")
    if run.code is None:
        return
    for kept in (run.code.diff_kept, *(file.kept for file in run.code.untracked)):
        if kept is not None:
            _check("code", kept, _is_kept, "kept files beside the record")


def check_run_place(run: Run, path: Path) -> None:
    """Raise CodecError unless a record says the entry and the run that its place does."""
    entry_id, number = path.parts[-3:-1]
    if run.entry != entry_id:
        raise CodecError(f"expected {entry_id}, the name of its folder, got {run.entry}", ".entry")
    if f"{run.run:02d}" != number:
        raise CodecError(f"expected {number}, the name of its folder, got {run.run}", ".run")


def _check(place: str, name: str, is_one: Callable[[str], bool], wanted: str) -> None:
    if not is_one(name):
        shown = by_shape().text(name)  # a secret that is cut is no longer known as one
        shown = shown if len(shown) <= _MOST_CHARS else f"{shown[:_MOST_CHARS]}…"
        raise CodecError(f"expected {wanted}, got {shown!r}", f".{place}")


def _is_topic(text: str) -> bool:
    return len(text) <= _MOST_CHARS and TOPIC.fullmatch(text) is not None


def _is_prefix(text: str) -> bool:
    return len(text) <= _MOST_CHARS and PREFIX.fullmatch(text) is not None


def _is_name(text: str) -> bool:
    return len(text) <= _MOST_CHARS and _NAME.fullmatch(text) is not None


def _is_id(text: str) -> bool:
    return len(text) <= _MOST_CHARS and parse_id(text) is not None


def _is_kept(text: str) -> bool:
    """A file in the folder of the run, or in one below it."""
    steps = text.split("/")
    return len(steps) <= 2 and "\0" not in text and not any(step in ("", ".", "..") for step in steps)
