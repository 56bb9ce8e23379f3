"""Acts killed at every event in turn and at random instants, with a look at the store after each."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

from tests.contract.stress.harness import (
    ACTS,
    TOUCH_FIRST,
    answer,
    at_event,
    begin,
    check,
    check_view,
    digests,
    fork,
    kill_self,
)


def kills(folder: Path, count: int, seed: int, acts: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Kill acts at every event in turn and at random instants; after each kill look at the store."""
    chance = random.Random(seed)
    begin(folder)
    acts = acts or ACTS
    counter = folder / "events"
    wrong: list[str] = []
    done: dict[str, int] = dict.fromkeys(acts, 0)
    killed = 0
    number = 0
    while killed < count:
        number += 1
        for name, words in acts.items():
            args = [w.format(killed) for w in words] if name == "edit" else words
            finished = digests(folder)
            if name in TOUCH_FIRST:
                finished = {path: is_as for path, is_as in finished.items() if "/entries/S-000." not in path}
            edit = hand_edit(folder, killed) if name == "changed view" else None
            if chance.random() < 0.6:
                at = at_event(1 + (number * 7 + killed) % 30, kill_self, count=counter)
                status = fork(args, folder, prepare=at)
            else:
                status = fork(args, folder, delay=chance.uniform(0, 0.08))
            if os.WIFSIGNALED(status):
                killed += 1
                done[name] += 1
            elif os.waitstatus_to_exitcode(status) == 99:
                wrong.append(f"{name}: an exception escaped, see acts.log")
            _settle(folder)
            wrong += [f"after {name} (kill {killed}): {text}" for text in check(folder, finished)]
            if edit is not None and not _is_kept(folder, edit):
                wrong.append(f"after {name} (kill {killed}): the hand edit {edit!r} is lost")
            if killed % 10 == 0:
                fork(["render"], folder)
                if fork(["note", "--title", "next"], folder) != 0:
                    wrong.append(f"after {name} (kill {killed}): the next command fails")
                wrong += [f"after {name} (kill {killed}): {text}" for text in check_view(folder)]
            if len(wrong) > 20 or killed >= count:
                return {"killed": killed, "by_act": done, "wrong": wrong}
    return {"killed": killed, "by_act": done, "wrong": wrong}


def hand_edit(folder: Path, number: int) -> str:
    """Write words of one's own into the view, as a person would; those words."""
    view = folder / "logbooks" / "stress.md"
    words = f"by hand {number}."
    view.write_text(f"{words}\n{view.read_text()}")
    return words


def _is_kept(folder: Path, words: str) -> bool:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
    kept = state.glob("logbook-agent/*/.views/stress.*.md")
    return any(words in path.read_text() for path in (folder / "logbooks/stress.md", *kept))


def _settle(folder: Path) -> None:
    """Let the killed tool's own child end, so that its run is interrupted and not orphaned."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if not {"running", "orphaned"} & {line["state"] for line in answer(folder, "list")["data"]}:
            return
        time.sleep(0.01)
