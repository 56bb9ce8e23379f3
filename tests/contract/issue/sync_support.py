"""A logbook beside a GitHub of its own, and what can be seen of both."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli
from tests.emulator.fixtures import Hub
from tests.seams import Store, issue_block, logbook, marked, set_github_pace, set_waits

# Methods of writes, for a rule.
WRITE = "POST|PATCH|PUT|DELETE"
# What people wrote in an issue before it was adopted.
PEOPLE = "We should look into this.\n\n- [ ] theirs <!-- a comment -->\n\n```\n#1 @bob\n```"


@dataclass
class FakeTime:
    """Seconds that pass at once; `waits` are all that was slept."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)


@dataclass
class Bench:
    """A folder with the logbook `moe` (MOE), its settings, and the repository it speaks to. `made`: where logbooks are
    kept that many tests begin with."""

    cli: Cli
    folder: Path
    github: Hub
    repo: str
    time: FakeTime
    made: Path

    @property
    def book(self) -> Store:
        return Store(self.folder)

    def ok(self, *args: str) -> Answer:
        answer = self.cli(*args)
        assert answer.code == 0, (args, answer)
        return answer

    def note(self, title: str = "A note", *more: str) -> str:
        return str(self.ok("note", "--title", title, "--json", *more).data["id"])

    def notes(self, number: int) -> list[str]:
        return [self.note(f"Note {n}") for n in range(number)]

    def sync(self, *args: str) -> Any:
        return self.ok("sync", "--json", *args).data

    @property
    def number(self) -> int:
        issue = self.book.header.issue
        assert issue is not None
        return int(issue.url.rsplit("/", 1)[1])

    @property
    def body(self) -> str:
        return str(self.github.issue(self.repo, self.number)["body"])

    @property
    def block(self) -> str:
        found = issue_block(self.book, self.body)
        assert found is not None
        assert found.intact
        return str(found.text)

    @property
    def around(self) -> str:
        """What stands in the issue's body outside the block."""
        found = issue_block(self.book, self.body)
        assert found is not None
        return self.body[: found.start] + self.body[found.end :]

    @property
    def comments(self) -> list[dict[str, Any]]:
        return self.github.comments(self.repo, self.number)

    def told(self, authors: Sequence[str] = ("ada",)) -> list[str]:
        """The entries of all updates by these authors, in the order of the comments."""
        by = [comment["body"] for comment in self.comments if comment["user"]["login"] in authors]
        return [entry for body in by for entry in self.entries_of(body)]

    def entries_of(self, body: str) -> list[str]:
        """What an update tells of; nothing for any other comment."""
        found = marked(self.book, body)
        return list(found.entries) if found is not None and found.kind == "update" else []

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The comments that are marked so."""
        found = [(comment, marked(self.book, comment["body"])) for comment in self.comments]
        return [comment for comment, mark in found if mark is not None and mark.kind == kind]

    def entries(self, number: int) -> list[str]:
        """So many notes in a new logbook, made once for all tests."""
        made, mine = self.made / f"{number}", self.folder / "logbooks"
        if made.exists():
            shutil.rmtree(mine, ignore_errors=True)
            shutil.copytree(made, mine)
            return self.book.entry_ids()
        if not mine.exists():
            self.ok("start", "moe", "--prefix", "MOE", "--goal", "find out", "--metric", "tflops:max:TF/s")
        self.notes(number)
        shutil.copytree(mine, made)
        return self.book.entry_ids()

    def adopt(self, people: str = PEOPLE) -> None:
        """An issue of bob's becomes the experiment issue."""
        number = self.github.open_issue_as("bob", self.repo, body=people)
        self.ok("link", f"{self.repo}#{number}")

    def fails(self, code: str, *args: str) -> dict[str, str]:
        """The error of a sync that ends with this one, in all its parts."""
        answer = self.cli("sync", "--json", *args)
        assert answer.code == 4, answer
        error = answer.error
        assert error["code"] == code, error
        assert all(error[part] for part in ("message", "cause", "hint")), error
        return error

    def start(self, *args: str) -> subprocess.Popen[str]:
        """`logbook ARGS` in a process of its own, by this machine's clock."""
        pipe = subprocess.PIPE
        return subprocess.Popen(["logbook", *args], cwd=self.folder, stdout=pipe, stderr=pipe, text=True)

    def settled(self, ids: Sequence[str], *, people: str = "", authors: Sequence[str] = ("ada",)) -> None:
        """Nothing is left to do, and that is seen by reading alone; each entry is told once, in as few comments as
        there have to be, below what people wrote."""
        before = len(self.github.requests)
        assert self.sync("--create")["steps"] == []
        asked = [r.method for r in self.github.requests[before:]]
        assert set(asked) == {"GET"}
        assert len(asked) <= 3
        live = [i for i in self.github.issues(self.repo) if i["state"] == "open"]
        assert [i["number"] for i in live if issue_block(self.book, i["body"])] == [self.number]
        assert self.block
        assert self.around.strip() == people
        assert sorted(self.told(authors)) == sorted(ids)
        assert len(self.updates) == -(-len(ids) // 10)

    @property
    def updates(self) -> list[dict[str, Any]]:
        """Comments that say they are updates, whoever wrote them."""
        return [c for c in self.comments if re.match(r"<!-- logbook:update ", c["body"])]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Another machine with a clone of the logbook. Its syncs may run while one of the first machine waits for an answer
    in this process, which uses nothing meanwhile of what is changed here."""

    folder: Path
    token: str

    @property
    def book(self) -> Store:
        return Store(self.folder)

    def sync(self, *args: str, code: int = 0) -> Any:
        """The data of the answer, or its error where another exit code is expected."""
        out = io.StringIO()
        changed = pytest.MonkeyPatch()
        changed.setenv("GH_ENTERPRISE_TOKEN", self.token)
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out):
            found = logbook(["sync", "--json", *args])
        changed.undo()
        assert found == code, out.getvalue()
        return json.loads(out.getvalue())["data" if code == 0 else "error"]


def other_machine(bench: Bench, folder: Path, user: str = "ada") -> Machine:
    shutil.copytree(bench.folder, folder)
    return Machine(folder=folder, token=bench.github.tokens[user])


def settings(github: Hub, repo: str, *more: str) -> str:
    lines = [
        f'repository = "{repo}"',
        f'host = "{github.web}"',
    ]
    return "[github]\n" + "\n".join([*lines, *more]) + "\n"


def made_bench(cli: Cli, folder: Path, github: Hub, monkeypatch: pytest.MonkeyPatch, made: Path) -> Bench:
    repo = github.new_repo()
    (folder / "logbook.toml").write_text(settings(github, repo))
    monkeypatch.setenv("GH_ENTERPRISE_TOKEN", github.token)
    monkeypatch.setenv("GH_HOST", github.host)
    time = FakeTime()
    # PyGithub logs to the stderr of the test that imported it, which is closed.
    monkeypatch.setattr(logging, "raiseExceptions", False)
    set_github_pace(monkeypatch)
    set_waits(monkeypatch, clock=time.clock, sleep=time.sleep)
    bench = Bench(cli=cli, folder=folder, github=github, repo=repo, time=time, made=made)
    bench.entries(0)
    return bench
