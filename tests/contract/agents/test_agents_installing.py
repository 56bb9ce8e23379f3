"""`logbook agents` in projects that have files of their own: it adds what is ours, and changes nothing else."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

SKILLS = (".agents/skills/logbook/SKILL.md", ".claude/skills/logbook/SKILL.md")
NOTES = "AGENTS.md"


def files(project: Path) -> dict[str, bytes]:
    """Every file by its path, and every folder."""
    return {str(p.relative_to(project)): p.read_bytes() if p.is_file() else b"/" for p in project.rglob("*")}


def installed(cli: Cli, project: Path) -> dict[str, str]:
    """The state of each file after the command."""
    data: dict[str, Any] = cli("agents", "install", "--project", str(project), "--json").data
    return {one["path"]: one["state"] for one in data["files"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    return found


@pytest.mark.parametrize("text", [None, "", "# Rules", "a\r\nb\r\n", "é\n\n\n"])
def test_the_files_of_a_project_stay_as_they_are(cli: Cli, project: Path, text: str | None) -> None:
    others = {".claude/skills/other/SKILL.md": "other\n", ".agents/notes.md": "notes", ".mcp.json": "{}"}
    for name, content in others.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    if text is not None:
        (project / NOTES).write_bytes(text.encode())
    before = files(project)
    assert installed(cli, project) == dict.fromkeys([*SKILLS, NOTES], "written")
    during = files(project)
    added = {name for name in during if name not in before and during[name] != b"/"}
    assert added == {*SKILLS, NOTES} - before.keys()
    assert all(during[name] == content for name, content in before.items() if name != NOTES)
    assert {*installed(cli, project).values()} == {"unchanged"}
    assert files(project) == during
    assert (project / NOTES).read_bytes().startswith(before.get(NOTES, b""))
    # What it wrote before is replaced, and nothing around it.
    notes = (project / NOTES).read_text()
    (project / NOTES).write_text(notes.replace("## Experiments", "## Old") + "mine\n")
    (project / SKILLS[0]).write_text("---\n  source: logbook-agent\n---\nold\n")
    assert installed(cli, project) == {SKILLS[0]: "written", SKILLS[1]: "unchanged", NOTES: "written"}
    assert (project / NOTES).read_text() == notes + "mine\n"
    assert files(project)[SKILLS[0]] == during[SKILLS[0]]


def test_what_others_wrote_stays(cli: Cli, project: Path) -> None:
    """A skill of the same name, and a block with one mark."""
    other = project / SKILLS[1]
    other.parent.mkdir(parents=True)
    for path, text in ((other, "---\nname: logbook\n---\n"), (project / NOTES, "a\n<!-- logbook: begin -->\n")):
        path.write_text(text)
        before = files(project)
        assert cli("agents", "install", "--project", str(project)).code == 2
        assert files(project) == before
        path.unlink()


def test_folders_that_are_one_get_one_skill(cli: Cli, project: Path) -> None:
    (project / ".agents").mkdir()
    (project / ".claude").symlink_to(".agents")
    assert installed(cli, project).keys() == {SKILLS[0], NOTES}


def test_nothing_that_we_install_lets_an_agent_execute(cli: Cli, project: Path) -> None:
    """--allow-run is for people to type; and the plugin that hosts are pointed at is complete."""
    hosts = {
        one["name"]: one["command"]
        for one in cli("agents", "install", "--project", str(project), "--json").data["hosts"]
    }
    assert {"Claude Code", "Codex", "VS Code"} <= hosts.keys()
    [plugin] = [command.split()[-1] for command in hosts.values() if "--plugin-dir" in command]
    found = {name: text.decode() for name, text in files(Path(plugin)).items() if text != b"/"}
    manifests = {".claude-plugin/plugin.json", ".codex-plugin/plugin.json"}
    assert {*found} == {*manifests, ".mcp.json", "hooks/hooks.json", "skills/logbook/SKILL.md"}
    assert not any("--allow-run" in text for text in (*found.values(), *hosts.values()))
    assert {json.loads(found[name])["name"] for name in manifests} == {"logbook"}
    [hook] = json.loads(found["hooks/hooks.json"])["hooks"]["SessionStart"]
    assert {*hook["matcher"].split("|")} == {"startup", "resume", "clear", "compact"}
    assert len(found["skills/logbook/SKILL.md"].splitlines()) < 120


def test_an_action_that_is_none(cli: Cli) -> None:
    assert cli("agents", "remove").code == 2


# What stands for something in the commands of the skill.
MEANT = {
    "ID": "MOE-000",
    "TEXT": "first",
    "TOPIC": "other",
    "OLD": "HEAD",
    "NEW": "WORK",
    "FILE": "results.md",
    "COMMAND": "sh bench.sh",
    "METRIC": "other:max",
    "WHY": "why",
}
# Of a sweep, a run that is withheld, a linked issue; and what another command here has done.
_NEEDS_MORE = {("sweep", None), ("edit", "--accept"), ("sync", None), ("patch", None), ("run", "--id"), ("ab", "--id")}


def skill_commands(text: str) -> list[list[str]]:
    """The commands that it names, in order."""
    lines = [line.partition(" #")[0] for line in text.splitlines() if line.startswith("logbook ")]
    spans = re.findall(r"`(logbook [^`]+)`", text)
    return [shlex.split(command)[1:] for command in (*spans, *lines)]


@pytest.mark.slow
def test_each_command_of_the_skill_works(git: Callable[..., str], started: Cli, folder: Path) -> None:
    (folder / "bench.sh").write_text("echo METRIC tflops=1.$LOGBOOK_RUN\n")
    (folder / "results.md").write_text("[[MOE-000 tflops]]")
    (folder / "results.tsv").write_text("name\ttflops\nold\t1.5\n")
    git("add", "bench.sh")
    git("commit", "-qm", "bench")
    (folder / "bench.sh").write_text("echo METRIC tflops=2.$LOGBOOK_RUN\n")
    assert started("run", "--title", "first", "--", "sh", "bench.sh").code == 0
    assert started("ab", "--axis", "n=1,2", "--pairs", "2", "--", "sh", "bench.sh", "{axis}").code == 0
    assert started("agents", "install", "--project", ".").code == 0
    commands = skill_commands((folder / SKILLS[0]).read_text())
    assert len(commands) >= 20
    for words in commands:
        options = {word for word in words[: words.index("--") if "--" in words else None] if word.startswith("--")}
        assert options <= {word.strip(",") for word in started(words[0], "--help").out.split()}, words
        meant = MEANT | ({"ID": "MOE-001"} if words[0] == "compare" else {})
        typed = shlex.split(" ".join(meant.get(word, shlex.quote(word)) for word in words))
        if not _NEEDS_MORE.isdisjoint((words[0], option) for option in (None, *options)):
            continue
        if words[0] == "ab":
            typed[1:1] = ["--pairs", "2"]
        answer = started(typed[0], "-L", "moe", *typed[1:]) if words[0] != "start" else started(*typed)
        assert answer.code == 0, (typed, answer)
