"""When two rows are repeats of one case, wherever in the thread they were measured.

They agree in config, in the facts of their runs (environment, code, packages, launcher; the host where it is the
device), in the devices, and in what their commands say beyond config. It is what `evidence.pairs` keeps apart within
one comparison, as a key that the index can hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logbook_agent.findings.tables.spec import Case
    from logbook_agent.model.record import Record

_DIGITS = 16


def keyed_cases(record: Record, cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """The rows of an entry, each with the key of its case. Of rows that one run printed with one key, each is a case of
    its own: their words tell them apart, else their order."""
    codes = {s.run.run: s.run.code.identity for s in record.runs if s.run.code is not None}
    found: dict[tuple[int, str], list[Case]] = {}
    for case in cases:
        found.setdefault((case.run, _key(case, codes.get(case.run))), []).append(case)
    return [pair for (_, key), same in found.items() for pair in zip(same, _apart(key, same), strict=True)]


def _key(case: Case, code: str | None) -> str:
    from logbook_agent.findings.evidence.alike import Terms
    from logbook_agent.findings.evidence.pairs import said_by_command
    from logbook_agent.findings.tables.frame import devices_text, key_of, on_accelerator

    facts = dict(case.facts)
    # By its name alone, code of two entries may look different that is the same.
    if facts.pop("commit", None) is not None and code is not None:
        facts["commit"] = code
    if on_accelerator(case):
        facts.pop("host", None)
    config = {name: key for name, value in case.row.config.items() if (key := key_of(value)) is not None}
    said = said_by_command(case, Terms())
    return _digest(sorted(config.items()), sorted(facts.items()), devices_text(case.row.devices), said)


def _apart(key: str, same: Sequence[Case]) -> list[str]:
    if len(same) == 1:
        return [key]
    words: list[Mapping[str, str]] = [case.row.labels for case in same]
    if len({_digest(sorted(w.items())) for w in words}) == len(same):
        return [_digest(key, sorted(w.items())) for w in words]
    return [_digest(key, number) for number in range(len(same))]


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
