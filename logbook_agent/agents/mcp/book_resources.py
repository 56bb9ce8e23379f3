"""Documents and logs as resources: the view of each logbook, its entries as `logbook show` prints them, the output of
their runs."""

from __future__ import annotations

import subprocess
from urllib.parse import quote, unquote, urlsplit

from logbook_agent.agents.mcp.answers import fenced
from logbook_agent.agents.mcp.tool_calls import Desk, printed
from logbook_agent.cli.options import Common
from logbook_agent.cli.output import clean
from logbook_agent.model.errors import NotFound

MARKDOWN = "text/markdown"
# The forms of addresses, and what they are.
VIEW = ("logbook://{topic}/view", "The logbook as Markdown. All views are listed.")
TEMPLATES = {
    "entry": ("logbook://{topic}/entry/{id}", "An entry with its runs, as Markdown."),
    "log": ("logbook://{topic}/log/{id}/{run}", "What a run printed, fenced; of a long one the end."),
}
LOG_BYTES = 200_000
_VIEW_BYTES = 16_000_000


def views_of(desk: Desk) -> dict[str, str]:
    """The address of the view of each logbook, by topic."""
    topics = [book.topic for book in Common(root=desk.root).space().books() if book.view_path.is_file()]
    return {topic: VIEW[0].replace("{topic}", quote(topic, safe="")) for topic in topics}


async def text_of(desk: Desk, uri: str) -> str:
    """The text of a resource, with numbers in the place of citations, without secrets; what a terminal would obey is
    shown as text. Raises NotFound, and what reading the view raises."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise _unknown(uri) from None
    topic, words = unquote(parts.netloc), [unquote(word) for word in parts.path.strip("/").split("/")]
    if parts.scheme != "logbook" or not topic:
        raise _unknown(uri)
    match words:
        case ["view"]:
            book = Common(logbook=topic, root=desk.root).space().book()
            return clean(book.files.text(book.view_path, limit=_VIEW_BYTES))
        case ["entry", entry_id]:
            return (await _shown(desk, uri, topic, "--", entry_id)).decode("utf-8", "replace")
        case ["log", entry_id, number]:
            log = await _shown(desk, uri, topic, "--log", "--", f"{entry_id}/{number}")
            return clean(fenced(log[-LOG_BYTES:].decode("utf-8", "replace")))
    raise _unknown(uri)


async def _shown(desk: Desk, uri: str, topic: str, *words: str) -> bytes:
    """What `logbook show` prints."""
    line = ["show", f"--root={desk.root}", f"--logbook={topic}", *words]
    out, code = await printed(line, desk.cwd, may_end=True, err=subprocess.DEVNULL)
    if code:
        raise _unknown(uri)
    return out


def _unknown(uri: str) -> NotFound:
    forms = ", ".join(address for address, _ in (VIEW, *TEMPLATES.values()))
    return NotFound(f"no resource {uri}", cause=f"addresses are {forms}", hint="list the resources")
