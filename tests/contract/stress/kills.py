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
from tests.contract.views import blocks
from tests.stored import at


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
            edit = hand_edit(folder, killed) if name == "absorb" else None
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
                fork(["render", "--absorb"], folder)
                if fork(["note", "--title", "next"], folder) != 0:
                    wrong.append(f"after {name} (kill {killed}): the next command fails")
                wrong += [f"after {name} (kill {killed}): {text}" for text in check_view(folder)]
            if len(wrong) > 20 or killed >= count:
                return {"killed": killed, "by_act": done, "wrong": wrong}
    return {"killed": killed, "by_act": done, "wrong": wrong}


def hand_edit(folder: Path, number: int) -> str:
    """Write words of one's own into the block of S-000, as a person would; those words."""
    view = folder / "logbooks" / "stress.md"
    words = f"by hand {number}"
    text = view.read_text()
    block = blocks(text)["S-000"]
    inside = block.text.split("\n")
    at = next((i for i, line in enumerate(inside) if line.startswith("- Next action:")), None)
    if at is None:
        inside.append(f"- Next action: {words}")
    else:
        inside[at] = f"- Next action: {words}"
    view.write_text(text[: block.text_start] + "\n".join(inside) + text[block.text_end :])
    return words


def _is_kept(folder: Path, words: str) -> bool:
    root = folder / "logbooks"
    return words in (root / "stress.md").read_text() or words in at(root / "stress/entries/S-000.yaml").read_text()


def _settle(folder: Path) -> None:
    """Let the killed tool's own child end, so that its run is interrupted and not orphaned."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if not {"running", "orphaned"} & {line["state"] for line in answer(folder, "list")["data"]}:
            return
        time.sleep(0.01)
