"""Labelled fields of an entry: read from options, put in the order of the form, changed in place."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from logbook_agent.model.entry import (
    COMMAND,
    CONFIG,
    EARLIER_HYPOTHESIS,
    HYPOTHESIS,
    INTERPRETATION,
    NEXT_ACTION,
    RESULT,
    Entry,
    Field,
)
from logbook_agent.model.errors import UsageError
from logbook_agent.model.record import Record
from logbook_agent.text.markdown import clean, one_line

_FORM = [label.casefold() for label in (HYPOTHESIS, COMMAND, CONFIG, RESULT, INTERPRETATION, NEXT_ACTION)]


def parse_field(text: str) -> Field:
    """`LABEL=TEXT`. Raises UsageError for a label that could not be read back from the view."""
    label, separator, value = text.partition("=")
    label = clean(label).strip()
    if not separator or not label:
        raise UsageError(
            f"--field {one_line(text)!r} is not LABEL=TEXT",
            cause="the = or the label is missing",
            hint="write: --field 'Observation=modes are forced to full'",
        )
    return Field(label=checked_label(label), text=clean(value))


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
    """The entry with the hypothesis that stood there when there was a result already. `changed`: the moment of it.

    What was found must not be made to look like what was expected."""
    before = old.entry.text(HYPOTHESIS)
    if not before or before == new.text(HYPOTHESIS) or not old.runs:
        return new
    said = f"Changed after the result, {changed[:10]}. Before: {before}"
    fields = edited_fields(new.fields, [(EARLIER_HYPOTHESIS, said)], append=bool(new.text(EARLIER_HYPOTHESIS)))
    return dataclasses.replace(new, fields=fields)


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
