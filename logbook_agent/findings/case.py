"""When two rows are repeats of one case, wherever in the thread they were measured. All readers go by this: the best,
criteria, results, the baseline. A contrast keeps the same apart, but for rows of one run that only a number tells apart
which nothing declares: that may be what is compared.

They agree in config, in the facts of their runs (environment, code, packages, launcher; the host where it is the
device), in the devices, in what their commands say beyond config, and in what tells them from other rows of their run.
Labels of runs are names: that one case is called otherwise when it is measured again makes it no other case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from logbook_agent.findings.cases import Case, Repeats
from logbook_agent.findings.tables.axes import lay_out, within_a_run
from logbook_agent.findings.tables.frame import Frame, devices_text, frame_of, key_of, on_accelerator, show
from logbook_agent.findings.tables.likeness import beyond_config
from logbook_agent.findings.tables.spec import TableSpec

_DIGITS = 16


def keys_of(cases: Sequence[Case], frame: Frame | None = None) -> list[str]:
    """The key of each case. The index holds it. `frame`: that of the cases, where it is made already."""

    own = [_key(case) for case in cases]
    if len({(case.entry, case.run) for case in cases}) == len(cases):
        return own
    frame = frame or frame_of(cases)
    names = within_a_run(frame, [*frame.apart, frame.pseudo["devices"]], tell=True)
    return [_within(key, frame, at, names) for at, key in enumerate(own)]


def _within(key: str, frame: Frame, at: int, names: Sequence[str]) -> str:
    item, order = frame.items[at], frame.pseudo["row"]
    said = [(name, value) for name in names if (value := item.key(name)) is not None]
    # Where nothing but their order tells rows apart, the first is what a run with one row of it has.
    said = [one for one in said if one != (order, "1")]
    return _digest(key, said) if said else key


def repeats(cases: Sequence[Case]) -> list[Repeats]:
    """Cases that are one, in order of appearance; those of runs that did not finish apart from the others."""

    if len(cases) < 2:
        return [Repeats(cases=(case,)) for case in cases]
    frame = frame_of(cases)
    axes = lay_out(frame, TableSpec(), by_origin=False).axes
    told = [name for name in axes if name not in {*frame.config, frame.pseudo["state"]}]
    found: dict[tuple[str, str | None], list[int]] = {}
    for at, key in enumerate(keys_of(cases, frame)):
        found.setdefault((key, cases[at].state), []).append(at)
    return [
        Repeats(
            cases=tuple(cases[at] for at in places),
            apart={name: show(frame.items[places[0]].place.get(name)) for name in told},
        )
        for places in found.values()
    ]


def _key(case: Case) -> str:

    facts = dict(case.facts)
    # By its name alone, code of two entries may look different that is the same.
    if facts.pop("commit", None) is not None and case.code is not None:
        facts["commit"] = case.code
    if on_accelerator(case):
        facts.pop("host", None)
    config = {name: key for name, value in case.row.config.items() if (key := key_of(value)) is not None}
    said = beyond_config(case), case.cwd
    return _digest(sorted(config.items()), sorted(facts.items()), devices_text(case.row.devices), said)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]
