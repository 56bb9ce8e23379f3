"""`logbook agents` in projects that have files of their own: it adds what is ours, and takes away no more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logbook_agent.agents.installing import BLOCK, HOSTS, PLUGIN, install, uninstall, with_block, without_block
from logbook_agent.model.errors import UsageError

SKILLS = (".agents/skills/logbook/SKILL.md", ".claude/skills/logbook/SKILL.md")
TEXTS = [None, "", "\n", "# Rules\n", "# Rules", "a\r\nb\r\n", "é\n\n\n"]


def files(project: Path) -> dict[str, bytes]:
    """Every file by its path, and every folder."""
    return {str(p.relative_to(project)): p.read_bytes() if p.is_file() else b"/" for p in project.rglob("*")}


@pytest.mark.parametrize("text", TEXTS)
def test_a_block_comes_and_goes_without_a_trace(text: str | None) -> None:
    made = with_block(text)
    assert made.count(BLOCK) == 1
    assert with_block(made) == made
    assert without_block(made) == text


@pytest.mark.parametrize("text", TEXTS)
def test_a_block_stays_where_it_is(text: str | None) -> None:
    made = with_block(text) + "after\n"
    assert with_block(made.replace("## Experiments", "## Older")) == made
    assert (
        without_block(made)
        == (text or "").removesuffix("\n") + ("\n" if (text or "").endswith("\n") else "") + "after\n"
    )


@pytest.mark.parametrize("text", TEXTS)
def test_a_project_is_as_before_when_it_is_gone(tmp_path: Path, text: str | None) -> None:
    others = {
        ".claude/skills/other/SKILL.md": "other\n",
        ".claude/settings.json": "{}",
        ".agents/notes.md": "notes",
        ".mcp.json": '{"mcpServers": {"x": {}}}',
    }
    for name, content in others.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    if text is not None:
        (tmp_path / "AGENTS.md").write_bytes(text.encode())
    before = files(tmp_path)
    assert {change.path for change in install(tmp_path)} == {*SKILLS, "AGENTS.md"}
    during = files(tmp_path)
    assert {name for name in during if name not in before and during[name] != b"/"} == {
        *SKILLS,
        "AGENTS.md",
    } - before.keys()
    assert all(during[name] == content for name, content in before.items() if name != "AGENTS.md")
    assert {change.state for change in install(tmp_path)} == {"unchanged"}
    assert files(tmp_path) == during
    uninstall(tmp_path)
    assert files(tmp_path) == before
    assert uninstall(tmp_path) == []


def test_a_skill_of_somebody_else_is_in_the_way_and_stays(tmp_path: Path) -> None:
    other = tmp_path / SKILLS[1]
    other.parent.mkdir(parents=True)
    other.write_text("---\nname: logbook\n---\n")
    before = files(tmp_path)
    with pytest.raises(UsageError, match="another skill"):
        install(tmp_path)
    assert files(tmp_path) == before
    uninstall(tmp_path)
    assert files(tmp_path) == before


def test_a_skill_changed_by_hand_is_left(tmp_path: Path) -> None:
    install(tmp_path)
    (tmp_path / SKILLS[0]).write_text((tmp_path / SKILLS[0]).read_text() + "mine\n")
    assert {change.path: change.state for change in uninstall(tmp_path)} == {
        SKILLS[0]: "left", SKILLS[1]: "removed", "AGENTS.md": "removed"
    }  # fmt: skip
    assert (tmp_path / SKILLS[0]).is_file()


def test_folders_that_are_one_get_one_skill(tmp_path: Path) -> None:
    (tmp_path / ".agents").mkdir()
    (tmp_path / ".claude").symlink_to(".agents")
    assert [change.path for change in install(tmp_path)] == [SKILLS[0], "AGENTS.md"]
    uninstall(tmp_path)
    assert set(files(tmp_path)) == {".agents", ".claude"} or set(files(tmp_path)) == {".claude"}


def test_a_block_with_one_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("a\n<!-- logbook: begin -->\n")
    with pytest.raises(UsageError, match="only a part of logbook's block"):
        uninstall(tmp_path)
    with pytest.raises(UsageError, match="only a part of logbook's block"):
        install(tmp_path)


def test_nothing_that_we_install_lets_an_agent_execute() -> None:
    """--allow-run is for people to type; and the plugin is complete."""
    found = {str(p.relative_to(PLUGIN)): p.read_text() for p in PLUGIN.rglob("*") if p.is_file()}
    manifests = {".claude-plugin/plugin.json", ".codex-plugin/plugin.json"}
    assert set(found) == {*manifests, ".mcp.json", "hooks/hooks.json", "skills/logbook/SKILL.md"}
    assert not any("--allow-run" in text for text in found.values())
    names = {json.loads(found[f"{host}-plugin/plugin.json"])["name"] for host in (".claude", ".codex")}
    assert names == {"logbook"}
    [hook] = json.loads(found["hooks/hooks.json"])["hooks"]["SessionStart"]
    assert set(hook["matcher"].split("|")) == {"startup", "resume", "clear", "compact"}
    skill = found["skills/logbook/SKILL.md"]
    assert len(skill.splitlines()) < 120
    assert not any("--allow-run" in host.command for host in HOSTS)
