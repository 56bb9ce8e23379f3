"""Citations in what is shown: in the view with the citation as a tooltip, elsewhere as the number alone."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.agents.citations import FORMS, CitedPlace, form, parsed, places, replaced
from logbook_agent.agents.cited_files import findings_in
from logbook_agent.agents.cited_numbers import cited, saying
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import entry_of, id_number
from logbook_agent.model.errors import LogbookError, UsageError
from logbook_agent.store.workspace import Workspace


def shown(found: Findings, text: str, *, plain: bool = False) -> str:
    """The text with the numbers of its citations; one that the record has no number for says why. Those of other
    logbooks stay. `plain`: the numbers alone."""
    say = saying(lambda _: found)
    prefix = found.records.header.prefix

    def number(place: CitedPlace) -> str | None:
        entry = place.text.split()[0].partition("/")[0].partition(":")[0]
        if id_number(entry, prefix) is None:
            return None
        said = say(place.text)
        text = said.text or f"({said.problems[0]})"
        return text if plain else form(place.text, text)

    return replaced(text, number)


def check(workspace: Workspace, texts: Iterable[str]) -> None:
    """Raises UsageError for the first citation that cannot be filled in, with the nearest form that can."""
    findings_of = findings_in(workspace)
    for citation in dict.fromkeys(place.text for text in texts for place in places(text)):
        try:
            asked = parsed(citation)
            problems, hint = cited(findings_of(entry_of(asked.reference)), asked).problems, ""
        except LogbookError as error:
            problems, hint = (error.message + (f": {error.cause}" if error.cause else ""),), error.hint
        if problems:
            raise UsageError(
                f"[[{citation}]] cannot be filled in",
                cause=problems[0],
                hint=hint if hint.startswith("write [[") else f"cite another entry, or leave out the brackets; {FORMS}",
            )
