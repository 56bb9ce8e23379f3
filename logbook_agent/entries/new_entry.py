"""New entries: what a person says about one, its labelled fields in the order of the form, and its ID; and `note`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, structs

from logbook_agent.entries.tried_before import tried_before
from logbook_agent.findings.read import read
from logbook_agent.model.entry import (
    COMMAND,
    CONFIG,
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
from logbook_agent.model.record import record_of
from logbook_agent.pages.blocks import blocks_of
from logbook_agent.pages.views import changing, check_citations
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, place_of
from logbook_agent.text.markdown import clean, cut_line, one_line
from logbook_agent.text.phrases import one_of
from logbook_agent.text.shell_words import planned_words, shell_syntax

# The label of the text of a note.
_NOTE = "Note"
_TITLE_CHARS = 80
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


def _planned(workspace: Workspace, texts: Sequence[str]) -> list[PlannedCommand]:
    """Planned commands, to be executed in this folder. Their secrets are known from here on."""
    here = place_of(workspace.cwd, workspace)
    planned = [structs.replace(_parsed(text, place), cwd=here) for place, text in enumerate(texts, 1)]
    for command in planned:
        workspace.learn_secrets({}, command.argv)
    return planned


def _parsed(text: str, place: int) -> PlannedCommand:
    """`LABEL: CMD` or `CMD`. A label ends at the first `: `. A command that would mean more to a shell than words is
    refused. Errors name its place and do not repeat it: only a command that was taken apart is redacted as one."""
    label, separator, rest = text.partition(": ")
    if not separator or "=" in label or len(label) > 60 or not rest.strip():
        label, rest = "", text
    if not rest.isprintable() and clean(rest) != rest.rstrip("\n "):
        raise UsageError(
            f"cannot record --command {place}",
            cause="it contains control characters, or bytes that are not UTF-8",
            hint="put it into a script and plan that, or run it now: logbook run -- CMD",
        )
    argv = _words(rest, place)
    if not any(argv):
        raise UsageError("--command is empty", cause="there is nothing to run", hint="--command 'LABEL: CMD ...'")
    return PlannedCommand(label=label.strip() or None, argv=argv)


def _words(command: str, place: int) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(
            f"cannot parse --command {place}: {error}",
            cause="a quote is not closed",
            hint="quote it as in a shell: --command \"Baseline: bash -lc 'a; b'\"",
        ) from error
    syntax = shell_syntax(command)
    if syntax is not None:
        raise UsageError(
            f"--command {place} needs a shell: {syntax}",
            cause="a planned command runs without a shell, where that would be plain text",
            hint="quote it, or name the shell: --command \"LABEL: bash -lc 'a; b'\"",
        )
    return words


def note(
    workspace: Workspace,
    prose: Prose,
    *,
    kind: str | None = None,
    text: str | None = None,
    commands: Sequence[str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[Book, Entry]:
    """Add an entry without running anything: a note, a decision, an incident; with `commands` a plan, whose commands
    `run --id` executes later. A `text` is its title, or a field where it has several lines, is long, or there is a
    title.

    What came out when planned commands were tried before is told by `tell`; without it, by a warning.
    """
    # Without its secrets: one that a title cuts off would no longer be known.
    prose = _with_text(prose, workspace.redactor.text(text or ""))
    if not (title := prose.title):
        raise UsageError("an entry needs a title", cause="no text and no --title was given", hint="--title '...'")
    is_plan = commands is not None
    book = workspace.book()
    if is_plan:
        check_required(workspace, prose, None)
    prose = with_relations(book, prose)
    planned = _planned(workspace, commands) if commands else []
    draft = draft_entry(
        workspace,
        prose,
        title=title,
        kind=kind or ("experiment" if is_plan else "note"),
        state="planned" if is_plan else None,
        commands=planned,
    )
    words = [planned_words(command)[1] for command in planned]
    for line in tried_before(workspace, book, words, {}, measured=True) if words else ():
        (tell or workspace.warnings.append)(line)
    with changing(workspace, book):
        made = create_entry(workspace, book, draft)
    if made.supersedes is not None:
        workspace.warnings += read(workspace, book).doubts
    return book, made


def written(book: Book, entry: Entry) -> dict[str, object]:
    """The answer of `note` and `edit` for machines."""
    return {
        "id": entry.id,
        "title": entry.title,
        "kind": entry.kind,
        "entry": str(book.entry_path(entry.id)),
        "view": str(book.view_path),
    }


def _with_text(prose: Prose, text: str) -> Prose:
    lines = text.strip().splitlines()
    if not lines:
        return prose
    title = prose.title or cut_line(one_line(lines[0]), _TITLE_CHARS)
    if prose.title or len(lines) > 1 or title != one_line(lines[0]):
        prose = structs.replace(prose, fields=(f"{_NOTE}={text}", *prose.fields))
    return structs.replace(prose, title=title)


def create_entry(workspace: Workspace, book: Book, draft: Entry) -> Entry:
    """Reserve the next ID and write the entry; what it compares are its own rows. A template that does not fit is met
    before that, and so is a citation that names no number."""
    check_citations(workspace, [draft.title, *(field.text for field in draft.fields)])
    if workspace.config.templates:
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
    relations: dict[str, Any] = {name: getattr(prose, name) or None for name in RELATIONS}
    return Entry(
        id="",
        title=one_line(title),
        opened=workspace.stamp(),
        kind=one_of("--kind", "kind", kind, KINDS),
        state=state,
        commands=tuple(commands),
        fields=edited_fields((), prose.given(), append=False),
        **relations,
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
        at = field_place(fields, label)
        if at is None:
            if text:
                fields.insert(form_place(fields, label), Field(label=label, text=clean(text)))
        elif append and text:
            before = f"{fields[at].text}\n" if fields[at].text else ""
            fields[at] = Field(label=fields[at].label, text=before + clean(text))
        elif text:
            fields[at] = Field(label=fields[at].label, text=clean(text))
        else:
            del fields[at]
    return tuple(fields)


def field_place(fields: Sequence[Field], label: str) -> int | None:
    return next((i for i, f in enumerate(fields) if f.label.casefold() == label.casefold()), None)


def form_place(fields: Sequence[Field], label: str) -> int:
    if label.casefold() not in _FORM:
        return len(fields)
    after = _FORM[_FORM.index(label.casefold()) + 1 :]
    return next((i for i, f in enumerate(fields) if f.label.casefold() in after), len(fields))
