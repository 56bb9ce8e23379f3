"""Takes a person's edit of an entry's block into the entry: prose is taken, computed text is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from logbook_agent.model.entry import CONFIDENCES, Confidence, Entry, Field
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import Record
from logbook_agent.pages.entry_text import EntryText, TextPart, Unreadable, parse
from logbook_agent.pages.merge import Merge, Slot, merge
from logbook_agent.pages.sections import Section
from logbook_agent.text.markdown import clean, one_line

ORDER = "order of fields"
_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingText:
    """A block as it stands in the view. `line` is that of its first line in the file, from 1; `is_first` says
    whether a text is the one that the tool wrote; `clean` takes the secrets out of a line before it is shown."""

    text: str
    line: int
    is_first: Callable[[str], bool]
    clean: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenEdit:
    """The entry with what was taken, what changed in it, and each edit that was refused, with the reason."""

    entry: Entry
    changed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def read_own(record: Record, sections: Sequence[Section], rendered: str) -> EntryText:
    """The rendering of an entry, parsed. Raises StoreError when it differs from the entry."""
    try:
        found = parse(rendered.strip("\n"), {s.label for s in sections})
        said = [p.says for p in found.parts]
        same = said == [(s.label, s.text) for s in sections]
        if same and (found.id, found.title) == (record.id, one_line(record.entry.title)):
            return found
        why = f"the rendering of {record.id}, read back, differs from the entry"
    except Unreadable as error:
        why = f"{record.id}, line {error.line + 1} of its rendering: {error.message}"
    raise StoreError(
        "hand edits cannot be read back through this project's entry.md.j2",
        cause=why,
        hint="change the files in entries/ instead, then run: logbook render",
    )


def take(record: Record, sections: Sequence[Section], rendered: str, block: StandingText) -> TakenEdit:
    """The entry with the prose that was edited by hand in its block."""
    now = read_own(record, sections, rendered)
    try:
        view = parse(block.text, {s.label for s in sections})
    except Unreadable as error:
        return TakenEdit(entry=record.entry, refused=(f"line {block.line + error.line}: {error.message}",))
    merged = merge(now, view, block.is_first)
    if not merged.known:
        return TakenEdit(entry=record.entry, refused=(_unknown(record, merged),))
    refused: list[str] = []
    fields = _fields(record.entry, sections, now, merged, lambda part, why: refused.append(_at(block, part, why)))
    new = dataclasses.replace(record.entry, fields=fields)
    if merged.heading == "by hand":
        new, wrong = _heading(new, now, view)
        refused[:0] = [f"line {block.line + view.line}: {why}" for why in wrong]
    return TakenEdit(entry=new, changed=_changed(record.entry, new), refused=tuple(refused))


def _unknown(record: Record, merged: Merge) -> str:
    parts = ["heading"] if merged.heading != "same" else []
    parts += [p.label for s in merged.slots if s.change != "same" and (p := s.view or s.now) is not None]
    return (
        f"{record.id} itself has changed since this block was written, and the two changes cannot be told apart"
        f" in: {', '.join(dict.fromkeys(parts))}; make one of them in the entry file by hand"
    )


# -- the heading -------------------------------------------------------------------------------------


def _heading(entry: Entry, now: EntryText, view: EntryText) -> tuple[Entry, list[str]]:
    """The entry with the title and the confidence of the heading, and the other changes of the heading, which are
    refused."""
    wrong = [
        f"the tool writes the {what} of an entry: {was or 'none'}, not {is_ or 'none'}"
        for what, was, is_ in (
            ("time", now.opened, view.opened),
            ("ID", now.id, view.id),
            ("kind", now.kind, view.kind),
        )
        if was != is_
    ]
    if view.title != now.title:
        if view.title:
            entry = dataclasses.replace(entry, title=view.title)
        else:
            wrong.append("the title is missing")
    if view.confidence != now.confidence:
        known: list[Confidence] = [c for c in CONFIDENCES if c == view.confidence]
        if known:
            entry = dataclasses.replace(entry, confidence=known[0], confidence_reason=None)
        elif view.confidence is None and entry.confidence is not None:
            entry = dataclasses.replace(entry, confidence=None, confidence_reason=None)
        elif view.confidence is None:
            wrong.append(f"the confidence {now.confidence} is computed; replace it with another one")
        else:
            wrong.append(f"unknown confidence {view.confidence!r}: it is one of {', '.join(CONFIDENCES)}")
    return entry, wrong


# -- the fields --------------------------------------------------------------------------------------


def _fields(
    entry: Entry, sections: Sequence[Section], now: EntryText, merged: Merge, refuse: Callable[[TextPart, str], None]
) -> tuple[Field, ...]:
    computed = {p.line for p, s in zip(now.parts, sections, strict=True) if s.computed}
    shown = iter(_shown(entry.fields))
    own = {p.line: next(shown) for p in now.parts if p.line not in computed}
    passed = _passed_over(merged.slots, computed, refuse)
    found: list[Field] = []
    for slot in merged.slots:
        mine = own.get(slot.now.line) if slot.now is not None else None
        if slot.change != "by hand":
            found += [mine] if mine is not None else []
        elif slot.view is not None and slot.view.line not in passed:
            if slot.view.text.strip():
                found.append(Field(label=mine.label if mine is not None else slot.view.label, text=slot.view.text))
            elif mine is None:
                refuse(slot.view, "a field without text is not kept; write some, or remove the bullet")
    return _with_places(entry.fields, found)


def _passed_over(slots: Sequence[Slot], computed: set[int], refuse: Callable[[TextPart, str], None]) -> set[int]:
    """The lines of the view that are no prose: computed parts that were moved or edited. Edited and removed ones are
    refused."""
    by_hand = [s for s in slots if s.change == "by hand"]
    added = [s.view for s in by_hand if s.view is not None and (s.now is None or s.now.line not in computed)]
    passed: set[int] = set()
    above: TextPart | None = None
    for slot in slots:
        if slot.change == "by hand" and slot.now is not None and slot.now.line in computed:
            now = slot.now
            free = [p for p in added if p.line not in passed]
            moved = next((p for p in free if p.says == now.says), None)
            edited = slot.view or next((p for p in free if p.label == now.label), None)
            if moved is not None:
                passed.add(moved.line)
            elif edited is not None:
                passed.add(edited.line)
                line = _first_difference(now, edited)
                refuse(line, f"{now.label} is written by the tool; put your own words under a separate bullet")
            else:
                refuse(above or _TOP, f"{now.label}, which is written by the tool, was removed below it")
        above = slot.view or above
    return passed


_TOP = TextPart(label="", text="", raw="the heading", line=0)


def _first_difference(now: TextPart, view: TextPart) -> TextPart:
    """The first line of a part that was changed, as a part of its own."""
    before, after = now.raw.split("\n"), view.raw.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), min(len(before), len(after)))
    at = next((i for i in range(at, len(after)) if after[i].strip()), min(at, len(after) - 1))
    return dataclasses.replace(view, raw=after[at], line=view.line + at)


def _at(block: StandingText, part: TextPart, why: str) -> str:
    line = block.clean(part.raw.split("\n")[0].strip())
    return f"line {block.line + part.line} ({line[:_SHOWN]}{'…' if len(line) > _SHOWN else ''}): {why}"


def _with_places(old: Sequence[Field], new: Sequence[Field]) -> tuple[Field, ...]:
    """The new fields, and behind what they stood behind the old fields without text, which hold a place for a computed
    section."""
    found = list(new)
    filled = {f.label.casefold() for f in new} - {f.label.casefold() for f in _shown(old)}
    for at, place in enumerate(old):
        if clean(place.text).strip() or place.label.casefold() in filled:
            continue
        labels = [f.label for f in found]
        before = next((f.label for f in reversed(old[:at]) if f.label in labels), None)
        found.insert(labels.index(before) + 1 if before is not None else 0, place)
    return tuple(found)


def _shown(fields: Sequence[Field]) -> list[Field]:
    return [f for f in fields if clean(f.text).strip()]


def _changed(old: Entry, new: Entry) -> tuple[str, ...]:
    """The names of what changed: title, confidence, labels, their order."""
    changed = [name for name in ("title", "confidence") if getattr(old, name) != getattr(new, name)]
    before = [(f.label, clean(f.text)) for f in _shown(old.fields)]
    after = [(f.label, clean(f.text)) for f in _shown(new.fields)]
    kept = {label for label, _ in after}
    changed += [label for label, text in after if (label, text) not in before]
    changed += [label for label, _ in before if label not in kept]
    stay = {label for label, _ in before} & kept
    if [label for label, _ in before if label in stay] != [label for label, _ in after if label in stay]:
        changed.append(ORDER)
    return tuple(dict.fromkeys(changed))
