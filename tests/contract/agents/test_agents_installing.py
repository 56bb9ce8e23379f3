"""`logbook agents` in projects that have files of their own: it adds what is ours, and takes away no more."""

from __future__ import annotations

from pathlib import Path

from logbook_agent.agents.installing import HOSTS
from tests.conftest import Cli


def files(project: Path) -> dict[str, bytes]:
    """Every file by its path, and every folder."""
    return {str(p.relative_to(project)): p.read_bytes() if p.is_file() else b"/" for p in project.rglob("*")}


def test_the_command_says_what_each_host_needs(cli: Cli, tmp_path: Path) -> None:
    data = cli("agents", "install", "--project", str(tmp_path), "--json").data
    assert [one["state"] for one in data["files"]] == ["written"] * 3
    assert [one["name"] for one in data["hosts"]] == [host.name for host in HOSTS]
    assert "removed AGENTS.md" in cli("agents", "uninstall", "--project", str(tmp_path)).out
    assert cli("agents", "remove").code == 2
