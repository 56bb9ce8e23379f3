"""The comments that tell of entries: which are to be posted, brought up to date or removed.

An entry belongs to the oldest comment that tells of it; younger ones drop it, and go when nothing of theirs is left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from logbook_agent.issue.marking import UPDATE
from logbook_agent.issue.steps import (
    BY_SHOWN,
    LINKED,
    OPEN,
    PICTURED,
    UNLINKED,
    Draft,
    EntryWanted,
    Ours,
    Post,
    ToldEntry,
)

# As many entries as a reader takes in at once.
UPDATE_ENTRIES = 10


def plan_updates(draft: Draft) -> None:
    updates = [o for o in draft.ours if o.marked.kind == UPDATE]
    owner = _owners(draft, updates)
    corrections = _corrections(draft, owner)
    for ours in updates:
        if ours.is_open:
            _plan_open_duplicate(draft, ours, updates)
        else:
            placed = [draft.entries[entry_id] for entry_id, at in corrections.items() if at == ours.comment.id]
            _plan_existing(draft, ours, owner, placed)
    placed_ids = {*owner, *corrections}
    if draft.wanted.chosen:
        _plan_chosen(draft, updates, placed_ids)
        return
    new = [e for e in draft.wanted.entries if e.stage == "settled" and e.id not in placed_ids]
    for at in range(0, len(new), UPDATE_ENTRIES):
        _post(draft, new[at : at + UPDATE_ENTRIES])


def _owners(draft: Draft, updates: Sequence[Ours]) -> dict[str, Ours]:
    """By entry, the oldest comment that tells of it as settled."""
    owner: dict[str, Ours] = {}
    for ours in updates:
        for told in ours.told:
            entry = draft.named.get(told.name)
            if entry is not None and told.how != OPEN:
                owner.setdefault(entry.id, ours)
    return owner


def _corrections(draft: Draft, owner: Mapping[str, Ours]) -> dict[str, int | None]:
    """New entries that correct one that was told: the ID of the comment that each goes into, None where it has to wait.

    That is the comment that it corrects. Where that cannot be written anew because it tells of entries that are not
    here, the correction waits; where a person has edited it, the correction is told like any other entry."""
    found: dict[str, int | None] = {}
    place: dict[str, Ours] = dict(owner)
    chosen = draft.wanted.chosen
    for entry in draft.wanted.entries:
        target = place.get(entry.supersedes or "")
        if target is None or entry.id in owner or entry.stage != "settled" or (chosen and entry.id not in chosen):
            continue
        if not target.marked.intact:
            continue
        place[entry.id] = target
        found[entry.id] = target.comment.id
        if draft.wanted.unreadable or _unknown(draft, target):
            found[entry.id] = None
            draft.warnings.append(
                f"{entry.id} waits: it corrects {entry.supersedes} in {target.comment.url},"
                f" {_why_frozen(draft, target)}"
            )
    return found


def _plan_existing(draft: Draft, ours: Ours, owner: Mapping[str, Ours], corrections: Sequence[EntryWanted]) -> None:
    """An update that was posted: drop what an older one tells, take in corrections, follow changed entries."""
    known = [entry for told in ours.told if (entry := draft.named.get(told.name)) is not None]
    kept = [entry for entry in dict.fromkeys(known) if owner[entry.id] is ours]
    unknown = _unknown(draft, ours)
    if not kept and not unknown:
        draft.delete(ours, owner[known[0].id].comment.id if known else 0)
        return
    entries = _with_corrections(kept, corrections)
    told = [_tell(draft, entry, ours) for entry in entries]
    if told == [t for t in ours.told if t.name not in unknown]:
        return
    changed = ", ".join(e.id for e, t in zip(entries, told, strict=True) if t not in ours.told) or "what it says"
    if unknown or draft.wanted.unreadable:
        draft.warnings.append(f"{ours.comment.url} is left alone, though {changed} changed, {_why_frozen(draft, ours)}")
    elif not ours.marked.intact:
        draft.warnings.append(f"{ours.comment.url} was edited by hand and is left alone, though {changed} changed")
    else:
        # The whole text is made anew, with the links that are known here and no others.
        render = draft.update(entries, [_tell(draft, entry, ours, anew=True) for entry in entries])
        draft.edit(ours, render, about=tuple(entry.id for entry in entries))


def _with_corrections(kept: Sequence[EntryWanted], corrections: Sequence[EntryWanted]) -> list[EntryWanted]:
    """Each correction behind the entry that it corrects."""
    entries = list(kept)
    for correction in corrections:
        ids = [entry.id for entry in entries]
        corrected = correction.supersedes
        entries.insert(ids.index(corrected) + 1 if corrected in ids else len(ids), correction)
    return entries


def _tell(draft: Draft, entry: EntryWanted, ours: Ours | None = None, *, anew: bool = False) -> ToldEntry:
    """How an entry is to be told. What was told with links or plots keeps them, unless its comment is written `anew`:
    another clone may not know what is pushed. One that has runs again waits, as it stands, until they have ended."""
    before = next((t for t in ours.told if draft.named.get(t.name) is entry), None) if ours is not None else None
    if before is not None and entry.stage == "open":
        return before._replace(name=entry.name)
    if entry.stage == "open":
        return ToldEntry(entry.name, entry.digest, OPEN)
    how = (PICTURED if entry.pictured else LINKED) if entry.linked else UNLINKED
    if before is not None and before.digest == entry.digest and not anew:
        enough = BY_SHOWN[BY_SHOWN.index(how) :]
        if before.how in enough:
            return before._replace(name=entry.name)
    return ToldEntry(entry.name, entry.digest, how)


def _unknown(draft: Draft, ours: Ours) -> list[str]:
    return [told.name for told in ours.told if told.name not in draft.named]


def _why_frozen(draft: Draft, ours: Ours) -> str:
    """Why a comment is not written anew: something that it tells, or that says more of what it tells, is not here."""
    if draft.wanted.unreadable:
        return f"since {draft.wanted.unreadable[0]} cannot be read: logbook doctor"
    entry_id = _unknown(draft, ours)[0].partition(".")[0]
    if entry_id in draft.entries:
        return f"since its {entry_id} is another clone's entry with that ID: merge with git, then: logbook doctor --fix"
    return f"since it mentions {entry_id}, which is not in this clone: git pull"


def _plan_open_duplicate(draft: Draft, ours: Ours, updates: Sequence[Ours]) -> None:
    """An entry that was told before it was settled stays as it was told then."""
    older = next((o for o in updates if o.told == ours.told and o.comment.id < ours.comment.id), None)
    if older is not None:
        draft.delete(ours, older.comment.id)


def _plan_chosen(draft: Draft, updates: Sequence[Ours], placed_ids: Collection[str]) -> None:
    """The entries that were asked for, each in a comment of its own, unless it has its place already."""
    for entry_id in draft.wanted.chosen:
        entry = draft.entries[entry_id]
        told = _tell(draft, entry)
        told_open = told.how == OPEN and any(told in o.told for o in updates)
        if entry_id not in placed_ids and not told_open:
            _post(draft, [entry])


def _post(draft: Draft, entries: Sequence[EntryWanted]) -> None:
    render = draft.update(entries, [_tell(draft, entry) for entry in entries])
    draft.steps.append(Post(kind=UPDATE, about=tuple(entry.id for entry in entries), render=render))
