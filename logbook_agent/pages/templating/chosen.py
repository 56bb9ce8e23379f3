"""The templates of an invocation: those of the user's folder over the built-in ones."""

from __future__ import annotations

from logbook_agent.pages.templating.templates import Templates
from logbook_agent.store.repository import repository_of
from logbook_agent.store.workspace import Workspace


def templates_of(workspace: Workspace) -> Templates:
    """Made once: what was loaded, and the process that runs a user's templates, serve all blocks."""
    found: Templates | None = workspace.made.get("templates")
    if found is None:
        found = workspace.made["templates"] = _templates(workspace)
    return found


def _templates(workspace: Workspace) -> Templates:
    config = workspace.config

    def redact(text: str) -> str:
        return workspace.redactor.text(text)

    if config.folder is None or not config.templates:
        return Templates(redact=redact)
    place = repository_of(config.folder)
    top = place.top if place is not None else config.folder
    return Templates(config.folder / config.templates, within=top, redact=redact)
