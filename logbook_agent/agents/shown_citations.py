"""Citations in what is shown: in the view with the citation as a tooltip, elsewhere as the number alone."""

from __future__ import annotations

from collections.abc import Iterable

from logbook_agent.agents.citations import FORMS, CitedPlace, form, places, replaced
from logbook_agent.agents.cited_numbers import findings_in, saying
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import id_number
from logbook_agent.model.errors import UsageError
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
    say = saying(findings_in(workspace))
    for citation in dict.fromkeys(place.text for text in texts for place in places(text)):
        said = say(citation)
        if said.problems:
            raise UsageError(
                f"[[{citation}]] cannot be filled in",
                cause=said.problems[0],
                hint=said.hint or f"cite another entry, or leave out the brackets; {FORMS}",
            )
