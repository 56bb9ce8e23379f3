"""What `logbook agents` writes into a project for coding agents, and takes away again.

Two copies of the skill and a marked block in AGENTS.md. All else in the project, and the home, stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from logbook_agent.model.errors import UsageError
from logbook_agent.store.files import make_folder, remove, remove_folder, write_text
from logbook_agent.store.reading import PROSE_BYTES, read_bytes

PLUGIN = Path(__file__).parent / "plugin"
_SKILL = PLUGIN / "skills/logbook/SKILL.md"
# Where hosts look for the skills of a project.
_PLACES = (".agents/skills/logbook/SKILL.md", ".claude/skills/logbook/SKILL.md")
_OURS = "\n  source: logbook-agent\n"
_NOTES = "AGENTS.md"
_BEGIN, _END = "<!-- logbook: begin -->", "<!-- logbook: end -->"
BLOCK = f"""{_BEGIN}
## Experiments

This project records its measurements with `logbook`. Type `logbook status` before you measure, and after you have lost
your context: it says what was asked, found, decided and tried, and what comes next. The skill `logbook` says when to
record, and what you may claim.
{_END}
"""

State = Literal["written", "removed", "unchanged", "left"]


@dataclass(frozen=True, slots=True)
class InstalledFile:
    """What became of a file of the project; `left` with the reason."""

    path: str
    state: State
    why: str | None = None


@dataclass(frozen=True, slots=True)
class AgentHost:
    """What a person types, or adds to a file, so that an agent's host starts the MCP server."""

    name: str
    command: str


_SERVER = json.dumps({"name": "logbook", "command": "logbook", "args": ["mcp"]}, separators=(",", ":"))
HOSTS = (
    AgentHost("Claude Code", "claude mcp add logbook -- logbook mcp"),
    AgentHost("Claude Code, with skill and hook", f"claude --plugin-dir {PLUGIN}"),
    AgentHost("Codex", "codex mcp add logbook -- logbook mcp"),
    AgentHost("VS Code", f"code --add-mcp '{_SERVER}'"),
    AgentHost("others, in their own settings", '{"mcpServers": {"logbook": {"command": "logbook", "args": ["mcp"]}}}'),
)


def with_block(text: str | None) -> str:
    """The text of AGENTS.md with the block as it is now; None: there is no such file."""
    if text is None:
        return BLOCK
    before, block, after = _parts(text)
    return f"{before}{BLOCK}{after}" if block else f"{text}\n{BLOCK}"


def without_block(text: str) -> str | None:
    """The text of AGENTS.md without the block, as it was before; None: nothing else was in it."""
    before, block, after = _parts(text)
    if not block:
        return text
    if not before and not after:
        return None
    return before.removesuffix("\n") + after


def _parts(text: str) -> tuple[str, str, str]:
    """What stands before the block, the block with its end of line, what stands behind it. Raises UsageError where one
    of its marks is missing."""
    before, begin, rest = text.partition(_BEGIN)
    block, end, after = rest.partition(_END)
    if bool(begin) != bool(end) or _END in before:
        raise UsageError(
            f"{_NOTES} holds only a part of logbook's block",
            cause=f"one of its marks is missing: {_BEGIN} and {_END}",
            hint=f"remove what is left of the block from {_NOTES}",
        )
    if not begin:
        return text, "", ""
    return before, f"{begin}{block}{end}\n", after.removeprefix("\n")


def install(project: Path) -> list[InstalledFile]:
    """Write the skill and the block, or bring them up to date. Raises UsageError, and writes nothing, where a file of
    another origin is in the way."""
    skill = _skill()
    wanted = dict.fromkeys(_places(project), skill)
    for place in wanted:
        held = _read(project, place)
        if held is not None and _OURS not in held:
            raise UsageError(
                f"{place} is another skill",
                cause="its head does not say that it comes from logbook-agent",
                hint=f"rename its folder, then type the command again: {project / place}",
            )
    wanted[_NOTES] = with_block(_read(project, _NOTES))
    return [_write(project, place, text) for place, text in wanted.items()]


def uninstall(project: Path) -> list[InstalledFile]:
    """Remove what `install` wrote; what was changed by hand since is left."""
    notes = _read(project, _NOTES)
    rest = without_block(notes) if notes is not None else None
    changes = [_take_away(project, place) for place in _places(project)]
    if notes is not None and rest != notes:
        if rest is None:
            remove(project / _NOTES, within=project)
            changes.append(InstalledFile(_NOTES, "removed"))
        else:
            write_text(project / _NOTES, rest, within=project)
            changes.append(InstalledFile(_NOTES, "written", "without the block"))
    return [change for change in changes if change is not None]


def _skill() -> str:
    return read_bytes(_SKILL, within=PLUGIN, limit=PROSE_BYTES).decode()


def _places(project: Path) -> Iterator[str]:
    """Where the skill goes; once, where the folders of two hosts are one."""
    seen: set[Path] = set()
    for place in _PLACES:
        real = (project / place).resolve()
        if real not in seen:
            seen.add(real)
            yield place


def _read(project: Path, place: str) -> str | None:
    path = project / place
    if not path.exists() and not path.is_symlink():
        return None
    if path.is_symlink() or not path.is_file():
        raise UsageError(
            f"{place} is not a regular file",
            cause="it is a link, a folder or a device",
            hint=f"look at it: ls -l {path}",
        )
    try:
        return read_bytes(path, within=project, limit=PROSE_BYTES).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8", cause=str(error), hint=f"look at it: {path}") from error


def _write(project: Path, place: str, text: str) -> InstalledFile:
    if _read(project, place) == text:
        return InstalledFile(place, "unchanged")
    path = project / place
    make_folder(path.parent, within=project)
    write_text(path, text, within=project)
    return InstalledFile(place, "written")


def _take_away(project: Path, place: str) -> InstalledFile | None:
    held = _read(project, place)
    if held is None or _OURS not in held:
        return None
    if held != _skill():
        return InstalledFile(place, "left", "it differs from what this version writes: remove it yourself")
    path = project / place
    remove(path, within=project)
    for folder in path.relative_to(project).parents:
        if folder == Path() or any((project / folder).iterdir()):
            break
        remove_folder(project / folder, within=project)
    return InstalledFile(place, "removed")
