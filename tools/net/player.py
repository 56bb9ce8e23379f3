"""Play a story, or take a store, with the version that PYTHONPATH names, and ask everything: python -m tools.net.player
SOURCE PLACE OUT [CONVERTER]

SOURCE is the number of a story or a folder of logbooks; PLACE is a new folder to work in, the same for both versions;
OUT is the file for the answers, {"LINE command": {"code", "out", "err"} or what else was said}. A CONVERTER is a script
that brings a folder of logbooks into the format of this version.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from tools.net.caller import Answer, call, call_tools, stop_the_clock
from tools.net.compare import UNKNOWN
from tools.net.forms import forms
from tools.net.story import continuation, story

BEGIN, LATER = datetime(2026, 2, 10, 10, 43, tzinfo=UTC), datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
QUESTIONS = (
    *("status", "next", "list", "list --tried", "list tflops", "criteria", "baseline", "link", "wait", "doctor"),
    *("table", "table --csv", "render --check", "close --dry-run", "cite --check results.md"),
    *("export --as json --out -", "export --as csv --out -", "export --as json --curves --out -"),
    "sync --create --repo acme/moe --dry-run",
)
# Of so many entries of a logbook everything is asked, evenly spread.
MOST_ASKED = 8
NAME = re.compile(r"\bE\d{2,3}\b")
# What differs from run to run: how long commands took, and digests and commits of stores, which hold that.
UNSTEADY = (
    (re.compile(r"\b(?:[0-9a-f]{9}|(?<==)[0-9a-f]{8}|(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64})\b"), "(digest)"),
    (re.compile(r"\.[0-9a-f]{4}:\(digest\)"), ".(uid):(digest)"),
    # In a page, the time of day of an entry; a detached worker has the machine's clock.
    (re.compile(r"^\d\d:\d\d$"), "(time)"),
    # A measured time has four digits, such as 0.2100 s.
    (re.compile(r"\b\d+\.\d\d s\b"), "(time)"),
    (re.compile(r"((?:\+00:00|\(now\)),)[\d.e-]+(?=,)"), r"\1(time)"),
)
DURATIONS = {"duration_s", "minutes", "run_s"}


class Player:
    """A story that is played in the current folder: its clock, the entries that it made, and what was said."""

    def __init__(self) -> None:
        self.now = BEGIN
        self.work = Path.cwd()
        self.ids: dict[str, str] = {}
        self.seen: set[str] = set()
        self.answers: dict[str, Any] = {}
        days = [datetime.now(UTC) + timedelta(days=d) for d in (-1, 0, 1)]
        self._today = re.compile(rf"(?:{'|'.join(f'{d:%Y-%m-%d}' for d in days)})(?:[T ][\d:.]+(?:Z|[+-]\d\d:\d\d)?)?")
        self.entries()
        stop_the_clock(lambda: self.now)

    def entries(self) -> list[str]:
        """The IDs of entries that were made since the last call."""
        stems = {path.name.split(".")[0] for path in self.work.glob("logbooks/*/entries/*.yaml")}
        new = sorted(stems - self.seen)
        self.seen |= stems
        return new

    def play(self, lines: list[tuple[int, str]]) -> None:
        for number, (minutes, line) in enumerate(lines):
            self.now += timedelta(minutes=minutes)
            self._do(f"{number:03d} {line}", NAME.sub(lambda name: self.ids.get(name[0], name[0]), line))
            for letter, one in zip(("", "b", "c", "d", "e"), self.entries(), strict=False):
                self.ids[f"E{number:02d}{letter}"] = one

    def _do(self, key: str, line: str) -> None:
        words = shlex.split(line)
        if words[0] == "logbook":
            self.answers[key] = self._typed(line)
        elif words[0] == "mcp":
            calls = [(name, json.loads(given)) for name, given in (word.split(" ", 1) for word in words[1:])]
            self.answers[key] = dict(zip(words[1:], call_tools(calls, self.now), strict=True))
        elif words[0] == "cd":
            os.chdir(words[1])
        else:
            subprocess.run(["sh", "-c", line], check=True, capture_output=True, timeout=60)

    def _typed(self, line: str) -> Any:
        """What the newest form of a command says that this version has."""
        for form in forms(line):
            words = shlex.split(form)[1:]
            answer = call(*words)
            if not answer.is_unknown:
                return self._said(answer)
        return UNKNOWN

    def _said(self, answer: Answer) -> dict[str, Any]:
        try:
            out = json.loads(answer.out) if answer.out.startswith(("{", "[")) else answer.out.splitlines()
        except ValueError:
            out = answer.out.splitlines()
        return {"code": answer.code, "out": out, "err": answer.err.splitlines()}

    def ask(self, words: list[str], *, json_too: bool = True) -> None:
        line = shlex.join(["logbook", *words])
        for typed in [line, f"{line} --json"] if json_too else [line]:
            self.answers[f"ask {typed}"] = self._typed(typed)

    def steady(self, said: Any) -> Any:
        """What was said, without what differs from run to run, and with entries named as the story names them."""
        if isinstance(said, dict):
            return {self.steady(key): self.steady(value) for key, value in said.items() if key not in DURATIONS}
        if isinstance(said, list):
            return [self.steady(item) for item in said]
        if not isinstance(said, str):
            return said
        for name, one in self.ids.items():
            said = re.sub(rf"\b{re.escape(one)}(?:\.[a-z0-9]{{5}})?\b", name, said, flags=re.IGNORECASE)
        said = self._today.sub("(now)", said)
        for pattern, instead in UNSTEADY:
            said = pattern.sub(instead, said)
        return said


def questions(book: str, ids: list[str]) -> Iterator[list[str]]:
    """What is asked of a logbook, with and without --json."""
    step = -(-len(ids) // MOST_ASKED) or 1
    asked = ids[::step]
    of_one = [f"{command} {one}" for one in asked for command in ("show", "show --log", "compare", "table")]
    of_two = [f"{command} {a} {b}" for a, b in itertools.pairwise(asked) for command in ("compare", "table --delta")]
    for line in (*QUESTIONS, *of_one, *of_two):
        yield [*line.split(), "-L", book]


def ask_all(player: Player) -> None:
    """Ask everything of each logbook, then write what can be written, and take the files."""
    player.now = LATER
    for header in sorted(player.work.glob("logbooks/*/logbook.yaml")):
        book = header.parent.name
        for words in questions(book, sorted({p.name.split(".")[0] for p in header.parent.glob("entries/*.yaml")})):
            player.ask(words)
        sync = ["sync", "--create", "--repo", "acme/moe", "--offline", f"../out/offline-{book}"]
        publish = ["publish", "--file", f"../out/{book}.html"]
        for words in (["plot", "--json"], sync, publish, ["render"], ["doctor", "--fix"]):
            player.ask([*words, "-L", book], json_too=False)
    player.ask(["report", "--no-logs", "--out", "../out/report"], json_too=False)
    for path in sorted([*player.work.glob("logbooks/*.md"), *player.work.glob("*.md"), *Path("../out").rglob("*")]):
        if path.is_file() and path.suffix in (".md", ".html", ".json", ".csv"):
            text = path.read_text(errors="replace")
            said: Any = page(text) if path.suffix == ".html" else text.splitlines()
            player.answers[f"file {os.path.relpath(path)}"] = said


class Page(HTMLParser):
    """The words of a page and the data of its charts, without markup, styles and code."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.charts: list[Any] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._inside = "data" if ("type", "application/json") in attrs else "code"

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag in ("script", "style") else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.charts.append(json.loads(data))
        elif not self._inside:
            self.words += [line.strip() for line in data.splitlines() if line.strip()]


def page(text: str) -> dict[str, Any]:
    parser = Page()
    parser.feed(text)
    parser.close()
    return {"words": parser.words, "charts": parser.charts}


def main(source: str, place: Path, out: Path, converter: Path | None) -> None:
    work = place / "work"
    (place / "out").mkdir(parents=True)
    work.mkdir()
    os.chdir(work)
    config = Path(os.environ["XDG_CONFIG_HOME"], "logbook-agent/config.toml")
    config.parent.mkdir(parents=True)
    config.write_text(f"allow_run = [{json.dumps(str(work / 'logbooks'))}]\n")
    if source.isdigit():
        player = Player()
        player.play(story(int(source)))
        ask_all(player)
    else:
        subprocess.run(["cp", "-R", source, work / "logbooks"], check=True)
        if converter is not None and converter.exists():
            subprocess.run([sys.executable, converter, work / "logbooks"], check=True)
        subprocess.run(["sh", "-c", "git init -q -b main && git add -A && git commit -q -m All"], check=True)
        player = Player()
        ids = sorted(player.seen)
        ask_all(player)
        player.now = LATER
        player.play(continuation(ids))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(player.steady(player.answers), ensure_ascii=False))


if __name__ == "__main__":
    source, place, out, *more = sys.argv[1:]
    main(source, Path(place), Path(out), Path(more[0]) if more else None)
