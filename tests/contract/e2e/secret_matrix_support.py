"""Secrets planted at named places, and the search for them in all that was written, said or sent."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer, Cli
from tests.contract.text.redaction.kinds_support import BLOCKS, KEYS, PHRASES, TOKENS, Kind, Maker, Sample

# No secret is shorter.
_START = 8
# One of each way in which a secret is known: the quick part of the matrix.
FEW = (*TOKENS[::40], KEYS[1], *PHRASES[::20], BLOCKS[1])
EVERY = (*TOKENS, *KEYS, *PHRASES, *BLOCKS)
# Names whose values are secrets, whatever they look like.
NAMES = (
    *("password", "api_key", "client_secret", "hf_token", "DB_PASSWORD", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY"),
    *("auth_token", "private-key", "dbPassword", "PGPASSWORD", "MYSQL_PWD", "GH_PAT", "ssh_passphrase", "jwt"),
)


def long(test: Callable[..., None]) -> Callable[..., None]:
    """Of a test that takes ten seconds with a few kinds already. `make test-long` runs it with every kind."""
    return test if "LOGBOOK_SECRETS" in os.environ else pytest.mark.wide(test)


def sizes(few: Sequence[Kind]) -> list[Any]:
    """Parameters of a test: these kinds, or with LOGBOOK_SECRETS (`make test-long`, five minutes) every kind."""
    wanted = ("every", EVERY) if "LOGBOOK_SECRETS" in os.environ else ("few", tuple(few))
    return [pytest.param(wanted[1], id=wanted[0])]


@dataclass
class Matrix:
    """The samples of one test. A sample is made for its place: a leak names kind and place."""

    kinds: tuple[Kind, ...] = field(repr=False)
    planted: dict[bytes, str] = field(default_factory=dict, repr=False)
    said: list[tuple[str, str]] = field(default_factory=list, repr=False)

    @property
    def words(self) -> tuple[Kind, ...]:
        """Kinds whose example is one word without a slash: it can be a name or a value of anything."""
        return tuple(k for k in self.kinds if k in TOKENS and not re.search(r"[/\s]", k.sample().text))

    def plant(self, place: str, kinds: Sequence[Kind] | None = None) -> list[str]:
        """An example of each kind, for this place."""
        samples = [kind.sample(place) for kind in (self.kinds if kinds is None else kinds)]
        for sample in samples:
            self._expect(sample, place)
        return [sample.text for sample in samples]

    def values(self, place: str) -> dict[str, str]:
        """Values without any shape under names that tell what they are: a third of these for a few kinds."""
        names = NAMES if "LOGBOOK_SECRETS" in os.environ else NAMES[1::3]
        found = {name: Maker(f"{name} {place}").word() for name in names}
        self.planted.update({value.encode(): f"value of {name} @ {place}" for name, value in found.items()})
        return found

    def one(self, place: str) -> str:
        """A text with an example of each kind in it."""
        return "\n".join(f"keep{n:03d} {text} kept" for n, text in enumerate(self.plant(place)))

    def _expect(self, sample: Sample, place: str) -> None:
        self.planted.update({part.encode(): f"{sample.kind.id} @ {place}" for part in sample.fragments})

    def hear(self, place: str, answer: Answer) -> Answer:
        """Keep what a command said, to be searched in the end."""
        self.said.append((place, answer.out + answer.err))
        return answer

    def leaks(self, data: bytes) -> list[str]:
        """Kind and place of every planted secret in the data, also where a backslash or a sign that nobody sees parts
        its letters."""
        plain = re.sub(rb"\\|\xe2\x80[\x8b-\x8f]|\xe2\x81[\xa0-\xa4]", b"", data)
        starts: dict[bytes, list[bytes]] = {}
        for needle in self.planted:
            starts.setdefault(needle[:_START], []).append(needle)
        hits = set()
        for text in {data, plain}:
            for at in range(len(text) - _START + 1):
                for needle in starts.get(text[at : at + _START], ()):
                    if text.startswith(needle, at):
                        hits.add(self.planted[needle])
        return sorted(hits)

    def in_files(self, *folders: Path) -> dict[str, list[str]]:
        """Leaks in the names and contents of all files below these folders."""
        found = {}
        for folder in folders:
            for path in sorted(folder.rglob("*")):
                name = str(path.relative_to(folder.parent))
                found[name] = self.leaks(name.encode() + b"\n" + (path.read_bytes() if path.is_file() else b""))
        return {name: leaks for name, leaks in found.items() if leaks}

    def in_answers(self) -> dict[str, list[str]]:
        found = {
            f"{n} {place}": self.leaks(text.encode("utf-8", "replace")) for n, (place, text) in enumerate(self.said)
        }
        return {place: leaks for place, leaks in found.items() if leaks}

    def nothing_leaked(self, folder: Path) -> None:
        """Neither in the logbooks, nor in the common folder of git, nor in the user's state, nor in an answer."""
        assert self.planted
        places = (folder / "logbooks", folder / ".git/logbook-agent")
        there = [place for place in places if place.is_dir()]
        found = self.in_files(*there) | self.in_answers()
        if found:
            pytest.fail(json.dumps(found, indent=1), pytrace=False)


def read_all(cli: Cli, matrix: Matrix, *ids: str) -> None:
    """What only reads, as text and as JSON: all of it for a few kinds; for every kind one of each way out."""
    commands = [["show", i] for i in ids] + [["table", i, "--csv"] for i in ids]
    commands += [["compare", ids[0], ids[-1]]] if len(ids) > 1 else []
    if matrix.kinds is not EVERY:
        more = (["list"], ["status"], ["list", "keep"], ["criteria"], ["list", "--tried"], ["doctor"], ["table"])
        for words in (*more, *commands):
            matrix.hear(" ".join(words), cli(*words))
            matrix.hear(f"{' '.join(words)} --json", cli(*words, "--json"))
    else:
        for words in (["list"], ["status"], commands[0], commands[len(ids)]):
            matrix.hear(" ".join(words), cli(*words))
    matrix.hear("show --full", cli("show", ids[0], "--full", "--json"))


def offline(cli: Cli, matrix: Matrix, folder: Path) -> None:
    """The documents that a sync would send."""
    there = folder / "offline"
    answer = matrix.hear("sync --offline", cli("sync", "--offline", str(there)))
    assert answer.code == 0, answer
    assert any(path.is_file() for path in there.rglob("*"))
    found = matrix.in_files(there)
    if found:
        pytest.fail(json.dumps(found, indent=1), pytrace=False)


def in_git(matrix: Matrix, folder: Path, *args: str) -> list[str]:
    """Leaks in what `git ARGS` says."""
    return matrix.leaks(subprocess.run(["git", *args], cwd=folder, capture_output=True, check=True).stdout)
