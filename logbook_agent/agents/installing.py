"""What `logbook agents` writes into a project for coding agents.

Two copies of the skill and a marked block in AGENTS.md. All else in the project, and the home, stay as they are.
"""

from __future__ import annotations

import json
from pathlib import Path

from logbook_agent.model.errors import UsageError
from logbook_agent.store.folder import PROSE_BYTES, Folder

PLUGIN = Path(__file__).parent / "plugin"
_SKILL = PLUGIN / "skills/logbook/SKILL.md"
# Where hosts look for the skills of a project.
_PLACES = (".agents/skills/logbook/SKILL.md", ".claude/skills/logbook/SKILL.md")
_OURS = "\n  source: logbook-agent\n"
_NOTES = "AGENTS.md"
_BEGIN, _END = "<!-- logbook: begin -->", "<!-- logbook: end -->"
_BLOCK = f"""{_BEGIN}
## Experiments

This project records its measurements with `logbook`. Type `logbook status` before you measure, and after you have lost
your context: it says what was asked, found, decided and tried, and what comes next. The skill `logbook` says when to
record, and what you may claim.
{_END}
"""

_SERVER = json.dumps({"name": "logbook", "command": "logbook", "args": ["mcp"]}, separators=(",", ":"))
# What a person types, or adds to a file, so that an agent's host starts the MCP server.
HOSTS = {
    "Claude Code": "claude mcp add logbook -- logbook mcp",
    "Claude Code, with skill and hook": f"claude --plugin-dir {PLUGIN}",
    "Codex": "codex mcp add logbook -- logbook mcp",
    "VS Code": f"code --add-mcp '{_SERVER}'",
    "others, in their own settings": '{"mcpServers": {"logbook": {"command": "logbook", "args": ["mcp"]}}}',
}


def install(project: Path) -> dict[str, bool]:
    """Write the skill and the block, or bring them up to date; by path, whether it was written. Raises UsageError, and
    writes nothing, where a file of another origin is in the way, and StoreError for one that is no text."""
    places: dict[Path, str] = {}
    for place in _PLACES:
        # Once, where the folders of two hosts are one.
        places.setdefault((project / place).resolve(), place)
    held = {place: _read(project, place) for place in (*places.values(), _NOTES)}
    for place in places.values():
        if (text := held[place]) is not None and _OURS not in text:
            raise UsageError(
                f"{place} is another skill",
                cause="its head does not say that it comes from logbook-agent",
                hint=f"rename its folder, then type the command again: {project / place}",
            )
    skill = Folder(PLUGIN).read(_SKILL, limit=PROSE_BYTES).decode()
    wanted = {**dict.fromkeys(places.values(), skill), _NOTES: _with_block(held[_NOTES])}
    for place in (place for place in wanted if held[place] != wanted[place]):
        Folder(project).make((project / place).parent)
        Folder(project).write(place, wanted[place])
    return {place: held[place] != wanted[place] for place in wanted}


def _with_block(text: str | None) -> str:
    """The text of AGENTS.md with the block as it is now; None: there is no such file. Raises UsageError where one of
    its marks is missing."""
    if text is None:
        return _BLOCK
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if bool(begin) != bool(end) or _END in before:
        raise UsageError(
            f"{_NOTES} holds only a part of logbook's block",
            cause=f"one of its marks is missing: {_BEGIN} and {_END}",
            hint=f"remove what is left of the block from {_NOTES}",
        )
    after = after.removeprefix("\n")
    return f"{before}{_BLOCK}{after}" if begin else f"{text}\n{_BLOCK}"


def _read(project: Path, place: str) -> str | None:
    path = project / place
    if not path.exists() and not path.is_symlink():
        return None
    try:
        # With its own ends of lines.
        return Folder(project).read(path, limit=PROSE_BYTES).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8", cause=str(error), hint=f"look at it: {path}") from error
