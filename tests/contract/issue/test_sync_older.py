"""A logbook that an older version of the tool synced: what it told is edited in place, and nothing is told twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Cli
from tests.contract.issue.sync_support import Bench, FakeTime, settings
from tests.emulator.fixtures import Hub

pytestmark = pytest.mark.slow

STORES = REPOSITORY / "tests/stores"


@pytest.mark.parametrize("name", ["synced-1"])
def test_the_first_sync_of_a_newer_version_posts_nothing_new(
    cli: Cli, folder: Path, github: Hub, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    repo = github.new_repo()
    (folder / "logbook.toml").write_text(settings(github, repo))
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", github.token)
    monkeypatch.setenv("GH_HOST", github.host)
    shutil.copytree(STORES / name, folder / "logbooks", ignore=shutil.ignore_patterns("issue.json"))
    told = json.loads((STORES / name / "issue.json").read_text())
    issue = {"title": told["title"], "body": told["body"], "labels": told["labels"]}
    number = github.ask("POST", f"/repos/{repo}/issues", issue)["number"]
    for body in told["comments"]:
        github.comment_as("ada", repo, number, body)
    header = folder / "logbooks/moe/logbook.yaml"
    assert "https://github.example/ada/repo/issues/1" in header.read_text()
    url = f"{github.web}/{repo}/issues/{number}"
    header.write_text(header.read_text().replace("https://github.example/ada/repo/issues/1", url))
    assert cli("render").code == 0
    bench = Bench(cli=cli, folder=folder, github=github, repo=repo, time=FakeTime(), made=folder)
    before, entries = bench.comments, bench.told()
    assert len(entries) > 10
    bench.sync()
    assert {write.method for write in github.writes} <= {"PATCH"}
    assert [c["id"] for c in bench.comments] == [c["id"] for c in before]
    assert bench.told() == entries
    assert bench.sync()["steps"] == []
    assert cli("doctor").code == 0
