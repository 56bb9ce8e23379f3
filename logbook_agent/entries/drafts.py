"""An entry that is to be: what a person says about it, its labelled fields in the order of the form, and its ID."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from logbook_agent.model.entry import (
    COMMAND,
    CONFIG,
    EARLIER_HYPOTHESIS,
    HYPOTHESIS,
    INTERPRETATION,
    KINDS,
    NEXT_ACTION,
    RELATIONS,
    RESULT,
    Entry,
    Field,
    PlannedCommand,
    SettableState,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record, record_of
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.cited import check_citations
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, one_line
from logbook_agent.text.near import choice

_FORM = [label.casefold() for label in (HYPOTHESIS, COMMAND, CONFIG, RESULT, INTERPRETATION, NEXT_ACTION)]


class Prose(Struct, frozen=True, kw_only=True):
    """What a person says about an entry, in the options that `run`, `note` and `edit` share."""

    title: str | None = None
    hypothesis: str | None = None
    result: str | None = None
    interpretation: str | None = None
    next_action: str | None = None
    fields: Sequence[str] = ()
    continues: str | None = None
    completes: str | None = None
    supersedes: str | None = None
    decides: str | None = None

    def given(self) -> list[tuple[str, str]]:
        """Labels and texts that were given; free ones come where the form has its middle (before
        Interpretation)."""
        front = [(HYPOTHESIS, self.hypothesis), (RESULT, self.result)]
        free = [(f.label, f.text) for f in map(parse_field, self.fields)]
        back = [(INTERPRETATION, self.interpretation), (NEXT_ACTION, self.next_action)]
        return [(label, text) for label, text in (*front, *free, *back) if text is not None]


def is_stated(entry: Entry, prose: Prose) -> bool:
    """Whether an entry has the texts and relations of a prose already."""
    is_same = edited_fields(entry.fields, prose.given(), append=False) == entry.fields
    related = all((getattr(prose, name) or None) in (None, getattr(entry, name)) for name in RELATIONS)
    return is_same and related and (prose.title is None or one_line(prose.title) == entry.title)


def with_relations(book: Book, prose: Prose, own_id: str | None = None) -> Prose:
    """The prose with the present IDs of the entries it refers to. An empty one stays: it takes back the relation of
    the entry `own_id`.

    Raises NotFound when one does not exist, UsageError when it is not an earlier one.
    """
    given = {name: target for name in RELATIONS if (target := getattr(prose, name)) is not None}
    own_id = book.resolve(own_id) if given and own_id is not None else None
    targets = {name: book.resolve(target) for name, target in given.items() if target}
    order = book.entry_ids() if targets and own_id is not None else []
    for name, target in targets.items():
        if own_id is not None and order.index(target) >= order.index(own_id):
            other_way = f"say it the other way round: logbook edit {target} --{name} {own_id}"
            raise UsageError(
                f"{own_id} cannot refer to {target}",
                cause="an entry continues, completes or supersedes an earlier one",
                hint="name an earlier entry: logbook list" if target == own_id else other_way,
            )
    return structs.replace(prose, **targets)


def check_no_prose(entry_id: str, prose: Prose) -> None:
    """Raises UsageError for a text beside the runs that are added to an entry."""
    if prose != Prose():
        raise UsageError(
            f"--title, --hypothesis and the like cannot be used with --id {entry_id}",
            cause="--id adds runs to an entry, whose text is there already",
            hint=f"logbook edit {entry_id} --hypothesis '...'",
        )


def check_required(workspace: Workspace, prose: Prose, label: str | None) -> None:
    """Raises UsageError when the project demands something that was not given."""
    given = {
        "title": prose.title,
        "hypothesis": prose.hypothesis,
        "interpretation": prose.interpretation,
        "next": prose.next_action,
        "label": label,
    }
    missing = [name for name in workspace.config.require if not given[name]]
    if missing:
        where = workspace.config.file.name if workspace.config.file else "the settings"
        raise UsageError(
            f"this project requires --{missing[0]}" + "".join(f" and --{m}" for m in missing[1:]),
            cause=f"`require` in {where}",
            hint=f"add: --{missing[0]} '...' (text, @FILE or - for standard input)",
        )


def create_entry(workspace: Workspace, book: Book, draft: Entry) -> Entry:
    """Reserve the next ID and write the entry; what it compares are its own rows. A template that does not fit is met
    before that, and so is a citation that names no number."""
    check_citations(workspace, [draft.title, *(field.text for field in draft.fields)])
    blocks_of(workspace, book).entry(record_of(draft, (), book.stage))
    entry_id = book.reservations.reserve(book.names.ids)
    if book.reservations.warning:
        workspace.warnings.append(book.reservations.warning)
    return book.write_entry(structs.replace(draft, id=entry_id))


def draft_entry(
    workspace: Workspace,
    prose: Prose,
    *,
    title: str,
    kind: str = "experiment",
    state: SettableState | None = None,
    commands: Sequence[PlannedCommand] = (),
) -> Entry:
    """An entry without an ID yet."""
    known = next((k for k in KINDS if k == kind.casefold()), None)
    if known is None:
        raise UsageError(
            f"unknown kind {kind!r}", cause=f"kinds are {', '.join(KINDS)}", hint=choice("--kind", kind, KINDS)
        )
    return Entry(
        id="",
        title=one_line(title),
        opened=workspace.stamp(),
        kind=known,
        state=state,
        continues=prose.continues or None,
        completes=prose.completes or None,
        supersedes=prose.supersedes or None,
        decides=prose.decides or None,
        commands=tuple(commands),
        fields=edited_fields((), prose.given(), append=False),
    )


def parse_field(text: str) -> Field:
    """`LABEL=TEXT` or `LABEL: TEXT`. Raises UsageError for a label that could not be read back from the view."""
    label, separator, value = min(text.partition("="), text.partition(": "), key=lambda parts: len(parts[0]))
    label = clean(label).strip()
    if not separator or not label or (separator == "=" and value.startswith("=")):
        raise UsageError(
            f"--field {one_line(text)!r} is not LABEL=TEXT",
            cause="the = or the label is missing, or the = stands twice",
            hint="write: --field 'Observation=modes are forced to full'",
        )
    return Field(label=checked_label(label), text=clean(value.lstrip() if separator == ": " else value))


def checked_label(label: str) -> str:
    if len(label) > 100 or ":" in label or "\n" in label or label[0] in "#-*>|`<":
        raise UsageError(
            f"{one_line(label)!r} is not a valid field label",
            cause="a label is one line of at most 100 characters, without a colon, that starts with a word",
            hint="put the rest into the text",
        )
    return label


def edited_fields(old: Sequence[Field], given: Sequence[tuple[str, str]], *, append: bool) -> tuple[Field, ...]:
    """Fields with the given ones changed in place; new ones go where the form has them, else last.

    An empty text removes a field.
    """
    fields = list(old)
    for label, text in given:
        at = _index(fields, label)
        if at is None:
            if text:
                fields.insert(_place(fields, label), Field(label=label, text=clean(text)))
        elif append and text:
            before = f"{fields[at].text}\n" if fields[at].text else ""
            fields[at] = Field(label=fields[at].label, text=before + clean(text))
        elif text:
            fields[at] = Field(label=fields[at].label, text=clean(text))
        else:
            del fields[at]
    return tuple(fields)


def with_earlier_hypothesis(old: Record, new: Entry, changed: str) -> Entry:
    """The entry with the hypothesis that stood there when there was a result already. `changed`: the day of it.

    What was found must not be made to look like what was expected."""
    before = old.entry.text(HYPOTHESIS)
    if not before or before == new.text(HYPOTHESIS) or not old.runs:
        return new
    said = f"Changed after the result, {changed}. Before: {before}"
    fields = edited_fields(new.fields, [(EARLIER_HYPOTHESIS, said)], append=bool(new.text(EARLIER_HYPOTHESIS)))
    return structs.replace(new, fields=fields)


def with_next_at(old: Record, new: Entry, at: str) -> Entry:
    """The entry with the time at which its next action was written after it was opened."""
    text = structs.replace(old, entry=new).next_action
    return new if text == old.next_action else structs.replace(new, next_at=at if text else None)


def with_place_for_result(fields: Sequence[Field]) -> tuple[Field, ...]:
    """With an empty Result where the measured one stands, so that what is written after it follows it."""
    if _index(fields, RESULT) is not None:
        return tuple(fields)
    at = _place(fields, RESULT)
    return (*fields[:at], Field(label=RESULT, text=""), *fields[at:])


def _index(fields: Sequence[Field], label: str) -> int | None:
    return next((i for i, f in enumerate(fields) if f.label.casefold() == label.casefold()), None)


def _place(fields: Sequence[Field], label: str) -> int:
    if label.casefold() not in _FORM:
        return len(fields)
    after = _FORM[_FORM.index(label.casefold()) + 1 :]
    return next((i for i, f in enumerate(fields) if f.label.casefold() in after), len(fields))
