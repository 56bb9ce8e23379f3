"""The one place where tests that act from outside touch the product.

Tests in `tests/contract` use command lines, files, servers and browsers. What they cannot reach from there (a call
without a process of its own, the clock, the order of a comparison's runs, how long GitHub is waited for, where files
lie, how large a limit is) stands here. After a room is renamed or a function moved, only this file follows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from msgspec import structs

from logbook_agent import Logbook, log
from logbook_agent.campaign import ab_question
from logbook_agent.cli import main as logbook
from logbook_agent.cli import options
from logbook_agent.exports.api import ab, experiment, to_pandas, to_polars
from logbook_agent.issue import marking
from logbook_agent.issue.api import sync
from logbook_agent.model.comparison import Design, drawn
from logbook_agent.running.executors import local
from logbook_agent.running.provenance.software import relevant_env
from logbook_agent.store.places import places_of
from tests.stored import at, number_of

__all__ = [
    "Facts",
    "Logbook",
    "Store",
    "ab",
    "bench_core",
    "bench_core_cases",
    "check_shapes",
    "experiment",
    "forged",
    "forged_block",
    "in_a_cell",
    "issue_block",
    "log",
    "logbook",
    "machine_variables",
    "marked",
    "mcp_document",
    "mcp_tool",
    "mcp_tools",
    "order_of_pair",
    "own_workers",
    "set_clock",
    "set_github_pace",
    "set_orders",
    "set_size",
    "set_waits",
    "sync",
    "to_pandas",
    "to_polars",
]

# -- call ----------------------------------------------------------------------------------------------


def bench_core(argv: list[str]) -> None:
    """`bench-core ARGV` in this process; ends with SystemExit. JAX is imported by who needs it."""
    from bench_core.cli import main

    main(argv)


def bench_core_cases(argv: list[str]) -> list[dict[str, Any]]:
    """The config of each case that `bench-core ARGV` would measure; nothing is measured."""
    from bench_core.cli import main, paths

    configs: list[dict[str, Any]] = []

    def take(request: Any) -> bool:
        keys = request.keys or ({},) * len(request.cases)
        configs.extend({**own, **case.config()} for own, case in zip(keys, request.cases, strict=True))
        return True

    with pytest.MonkeyPatch.context() as patched:
        # By its module: `bench_core.cli.hillclimb` as an attribute is the command.
        for module in (sys.modules["bench_core.cli.hillclimb"], paths):
            patched.setattr(module, "run_cases", take)
        with pytest.raises(SystemExit) as exit_:
            main(argv)
    assert not exit_.value.code
    return configs


def check_shapes() -> None:
    """A call with a wrong shape or dtype fails, in every layer of the benchmark that handles arrays and is imported
    after this."""
    from jaxtyping import install_import_hook

    layers = ["blocks", "gmm", "harness", "parallel", "quant", "routing", "timing"]
    install_import_hook([f"bench_core.{layer}" for layer in layers], "beartype.beartype")


def _mcp_desk(folder: Path, allow_run: bool) -> Any:
    from logbook_agent.agents.mcp.tool_calls import Desk

    return Desk(cwd=folder, root=str(folder / "logbooks"), allow_run=allow_run)


def mcp_tool(
    folder: Path, name: str, given: Mapping[str, Any], *, allow_run: bool = True, logbook: str | None = None
) -> Any:
    """The answer of a tool of `logbook mcp` for the logbooks below a folder, without a server."""
    import anyio

    from logbook_agent.agents.mcp.tool_calls import answered

    return anyio.run(answered, structs.replace(_mcp_desk(folder, allow_run), logbook=logbook), name, given)


def mcp_tools() -> tuple[Any, ...]:
    """The rows of the tools of `logbook mcp`."""
    from logbook_agent.agents.mcp.tool_table import TOOLS

    return TOOLS


def mcp_document(folder: Path, address: str) -> str:
    """The text of a resource of `logbook mcp` for the logbooks below a folder, without a server."""
    import anyio

    from logbook_agent.agents.mcp.book_resources import text_of

    return anyio.run(text_of, _mcp_desk(folder, allow_run=False), address)


def in_a_cell(shown: Any) -> str:
    """What a notebook displays of an object of the API: plain text."""
    texts: list[str] = []
    shown._repr_pretty_(SimpleNamespace(text=texts.append), False)
    return "".join(texts)


def own_workers() -> list[subprocess.Popen[Any]]:
    """Processes of background runs that calls in this process started."""
    return list(local._started)


def machine_variables(environ: Mapping[str, str]) -> list[str]:
    """Names of the variables that a record of a run would hold."""
    return list(relevant_env(environ))


# -- clock, seed, pace ---------------------------------------------------------------------------------


def set_clock(monkeypatch: pytest.MonkeyPatch, now: Callable[[], Any]) -> None:
    """The time that records are given; `now` returns a datetime in UTC."""
    monkeypatch.setitem(options.replaced, "now", now)


def set_waits(monkeypatch: pytest.MonkeyPatch, *, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
    """How commands measure and spend waits for a server, in seconds."""
    monkeypatch.setitem(options.replaced, "timing", {"clock": clock, "sleep": sleep})


def set_orders(monkeypatch: pytest.MonkeyPatch, draw: Callable[[str], str]) -> None:
    """The order of a comparison's runs follows from what `draw` returns for a moment, not from the moment."""
    monkeypatch.setattr(ab_question, "drawn", lambda moment: drawn(draw(moment)))


def order_of_pair(seed: int, pair: int) -> list[int]:
    """In which order the base (0) and the side (1) run in a pair of `logbook ab --seed SEED`."""
    return Design(seed=seed).order_of(pair, 2)


def set_github_pace(
    monkeypatch: pytest.MonkeyPatch, *, backoff_s: float = 0, pause_s: float = 0, timeout_s: float = 2
) -> None:
    """How long a sync waits between tries of a read, between writes, and for an answer."""
    monkeypatch.setattr("logbook_agent.issue.github.READ_BACKOFF_S", backoff_s)
    monkeypatch.setattr("logbook_agent.issue.pace.PAUSE_S", pause_s)
    monkeypatch.setattr("logbook_agent.issue.github.TIMEOUT_S", timeout_s)


# -- sizes ---------------------------------------------------------------------------------------------

_SIZES = {
    "age of files that are remembered, ns": "logbook_agent.store.records.RACY_NS",
    "longest wait by MCP, s": "logbook_agent.agents.mcp.tool_arguments.LONGEST_WAIT_S",
    "pause of the live view, s": "logbook_agent.report.live.live_runs._PACE_S",
    "pages of a list of GitHub's": "logbook_agent.issue.answers.MOST_PAGES",
    "silence while GitHub does not answer, s": "logbook_agent.issue.pace.SAY_EVERY_S",
    "wait for gh, s": "logbook_agent.issue.token._GH_TIMEOUT_S",
    "entries of an update": "logbook_agent.issue.plan.UPDATE_ENTRIES",
    "pause between views of a series, s": "logbook_agent.campaign.series._REFRESH_S",
    "wait for news from another machine, s": "logbook_agent.cluster.remote._LOOK_S",
    "silence of a worker, s": "logbook_agent.cluster.batch.FRESH_S",
    "age of a job for each second between looks": "logbook_agent.cluster.submitter._PER_AGE",
    "wait for the end of a cancelled run, s": "logbook_agent.campaign.detached_runs._ENDING_S",
    "work of a check": "bench_core.harness.case.CHECK_WORK",
}


def set_size(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    """Set one of the limits of `_SIZES`, so that a test reaches it cheaply."""
    monkeypatch.setattr(_SIZES[name], value)


# -- folders -------------------------------------------------------------------------------------------


class Facts(dict[str, Any]):
    """A mapping of a record whose keys are attributes too; what is not there is None."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


def _facts(value: Any) -> Any:
    if isinstance(value, dict):
        return Facts({key: _facts(one) for key, one in value.items()})
    return [_facts(one) for one in value] if isinstance(value, list) else value


_UID = re.compile(r"\b([A-Z][A-Z0-9-]*-\d{3,})\.[0-9a-hjkmnp-tv-z]{5}\b")
_RELATIONS = "continues", "completes", "supersedes", "decides"


class Store:
    """The files of a logbook as plain data: where they lie, and what their YAML and JSON hold."""

    def __init__(self, folder: Path, topic: str = "moe") -> None:
        self.root = folder / "logbooks"
        self.topic = topic
        self.folder = self.root / topic
        self.header_path = self.folder / "logbook.yaml"
        self.view_path = self.root / f"{topic}.md"
        self.entries_folder = self.folder / "entries"
        self._user = places_of(self.root, os.environ)

    @property
    def cache_path(self) -> Path:
        """The cache of this logbook, in the user's folder."""
        assert self._user.cache is not None
        return self._user.cache / f"{self.topic}.summaries.json"

    def working(self) -> list[Path]:
        """The folders of runs that were not taken in yet."""
        return sorted((self.folder / "runs").glob("*/*/work"))

    @property
    def header(self) -> Facts:
        """The facts of the header; entries are named by their numbers."""
        return Facts(_facts(yaml.safe_load(_UID.sub(r"\1", self.header_path.read_text()))))

    def write(self, path: Path, data: Mapping[str, Any]) -> None:
        """Write a header, an entry or a run, as a person or another program may: JSON is YAML, too."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"format": 1, **data}, ensure_ascii=False))

    def entry_ids(self) -> list[str]:
        return sorted(path.stem.partition(".")[0] for path in self.entries_folder.glob("*.yaml"))

    def entry_path(self, entry_id: str) -> Path:
        return at(self.entries_folder / f"{entry_id}.yaml")

    def entry(self, entry_id: str) -> Facts:
        """The facts of an entry; the entries that it speaks of are named by their numbers."""
        data = yaml.safe_load(self.entry_path(entry_id).read_text())
        relations = {key: data[key].partition(".")[0] for key in _RELATIONS if key in data}
        return Facts(_facts({**data, **relations, "id": entry_id}))

    def run_folder(self, entry_id: str, number: int) -> Path:
        return at(self.folder / "runs" / entry_id / f"{number:02}")

    def marker(self, entry_id: str, number: int) -> str:
        """What marks a run as going on: a file in `open/`."""
        return "_".join(self.run_folder(entry_id, number).parts[-2:])

    def run_path(self, entry_id: str, number: int) -> Path:
        return self.run_folder(entry_id, number) / "run.json"

    def log_path(self, entry_id: str, number: int) -> Path:
        """Where the output of a run lies: beside its record, and before it has ended with its work."""
        folder = self.run_folder(entry_id, number)
        working = folder / "work/output.log"
        return working if working.exists() else folder / "output.log"

    def run_paths(self, entry_id: str) -> list[Path]:
        """The records of an entry's runs, by number."""
        found = at(self.folder / "runs" / entry_id).glob("*/run.json")
        return sorted(found, key=lambda path: number_of(path.parent))

    def run(self, entry_id: str, number: int) -> Facts:
        return self._run(entry_id, self.run_path(entry_id, number))

    def runs(self, entry_id: str) -> list[Facts]:
        return [self._run(entry_id, path) for path in self.run_paths(entry_id)]

    @staticmethod
    def _run(entry_id: str, path: Path) -> Facts:
        known = {"entry": entry_id, "run": number_of(path.parent)}
        return Facts(_facts({**json.loads(path.read_text()), **known}))


def groups_in(folder: Path) -> list[int]:
    """The process groups of the commands that run in the logbooks below a folder, in the order of their runs."""
    locks = [json.loads(path.read_text() or "{}") for path in sorted(folder.rglob("work/worker.lock"))]
    return [lock["group"] for lock in locks if lock.get("group")]


# -- markers in an issue -------------------------------------------------------------------------------


def marked(store: Store, body: str) -> Facts | None:
    """What marks a comment as one of this logbook: `kind` and `entries`, their IDs; None for all other text."""
    found = marking.read_comment(body, _book_key(store))
    if found is None:
        return None
    entries = [re.split(r"[.:]", word)[0] for word in found.fields.get("entries", "").split(",") if word]
    return Facts(kind=found.kind, entries=entries)


def issue_block(store: Store, body: str) -> Facts | None:
    """The block of this logbook in an issue's body: `start` and `end` (offsets, markers included), `text`, and whether
    it is `intact`."""
    found = marking.find_block(body, _book_key(store))
    return None if found is None else Facts(start=found.start, end=found.end, text=found.text, intact=found.intact)


def forged(store: Store, kind: str = "update", *entries: str) -> str:
    """A comment that is marked as one of this logbook's are, written by nobody's sync."""
    fields = {"entries": ",".join(entries), "digest": "0" * 16} if entries else {"closing": "0" * 16}
    return marking.stamped(kind, _book_key(store), fields, "Forged.")


def forged_block(store: Store) -> str:
    """A block between this logbook's markers: a line, the text, a line."""
    return marking.wrapped(_book_key(store), "Forged.")


def _book_key(store: Store) -> str:
    return marking.book_key(store.header)  # type: ignore[arg-type]
