"""Names of entry files: those that are none, numbers that two clones gave out, IDs that never became an entry."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from logbook_agent.doctor.damaged import names
from logbook_agent.doctor.examination import Examination
from logbook_agent.model.entry import bare_id, format_id, id_number, parse_id, typed_id
from logbook_agent.store.trouble import Trouble
from logbook_agent.text.phrases import listed


def check_names(examination: Examination) -> Iterator[Trouble]:
    """Files in entries/ whose name is not an ID of this logbook."""
    book, prefix = examination.book, examination.book.header.prefix
    for name in names(book, book.entries_folder):
        path = book.entries_folder / name
        stem = name.removesuffix(".yaml")
        if name.startswith(".") or (stem != name and id_number(stem, prefix) is not None):
            continue
        right = typed_id(stem)
        if parse_id(right) is not None and id_number(right, prefix) is not None:
            shown = [examination.workspace.shown(book.entries_folder / one) for one in (name, f"{right}.yaml")]
            mend = shlex.join(["mv", "-n", "--", *shown])
            yield Trouble("error", "entry-name", path, f"its name should be {right}.yaml", mend)
            continue
        example = f"{format_id(prefix, 0)}.yaml"
        message = f"it is not an entry of this logbook: those are named as {example}"
        yield Trouble("warning", "entry-name", path, message, "move it out of entries/")


def check_twins(examination: Examination) -> Iterator[Trouble]:
    """Two entries with one number, from two clones: nothing to mend, and every reader shows the whole names."""
    found = examination.book.names
    for entry_id in sorted({bare_id(one) for one in found.ids if one != bare_id(one)}):
        twins = found.twins(entry_id)
        if len(twins) > 1:
            said = f"{entry_id} is the number of {len(twins)} entries: {listed(twins, 6)}; name them so"
            yield Trouble("note", "twins", None, said, items=tuple(twins))


def check_voids(examination: Examination) -> Iterator[Trouble]:
    """IDs whose command died before it wrote an entry: a gap, and nothing to mend."""
    found = examination.book.reservations.voids(examination.book.entry_ids())
    if found:
        said = f"{listed(found, 6)}: reserved by a command that died; not used again"
        yield Trouble("note", "void", None, said, items=tuple(found))
