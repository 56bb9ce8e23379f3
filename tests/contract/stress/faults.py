"""Every write, rename, mkdir and fsync of every act made to fail in turn."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contract.stress.harness import ACTS, TOUCH_FIRST, WATCHED, begin, check, check_view, concerns, digests, fork

ERRORS = ("ENOSPC", "EIO", "EROFS", "EMFILE")


def faults(folder: Path, most: int, errors: int = len(ERRORS)) -> dict[str, Any]:
    """Make every write, rename, mkdir and fsync of every act fail in turn, each with `errors` of the four errors.

    The errors go round, so that every act meets all of them.
    """
    begin(folder)
    wrong: list[str] = []
    tried = 0
    counter = folder / "events"
    for name, words in ACTS.items():
        for turn in range(errors):
            for number in range(1, most + 1):
                error = ERRORS[(number + turn) % len(ERRORS)]
                finished = digests(folder)
                if name in TOUCH_FIRST:
                    finished = {path: is_as for path, is_as in finished.items() if "/entries/S-000." not in path}
                counter.write_text("0")
                args = [w.format(tried) for w in words] if name == "edit" else words
                status = fork(args, folder, prepare=_failing(number, error, counter))
                if int(counter.read_text()) < number:
                    break
                tried += 1
                code = os.waitstatus_to_exitcode(status)
                where = f"{name}, {error} at {number}"
                if code == 99 or code < 0:
                    wrong.append(f"{where}: exception or signal ({code}), see acts.log")
                left = [p.name for p in (folder / "logbooks").rglob(".*.tmp")]
                wrong += [f"{where}: left {name}" for name in left]
                wrong += [f"{where}: {text}" for text in check(folder, finished) if "gapless" not in text]
                if len(wrong) > 20:
                    return {"tried": tried, "wrong": wrong}
        if fork(["note", "--title", "next"], folder) != 0:
            wrong.append(f"after {name}: the next command fails")
        wrong += [f"after {name}: {text}" for text in check_view(folder)]
    return {"tried": tried, "wrong": wrong}


def _failing(number: int, error: str, counter: Path) -> Callable[[], None]:
    """In the fork: the n-th open, rename, mkdir, fsync or write of the store fails."""
    import errno

    def fail(event: str) -> None:
        raise OSError(getattr(errno, error), os.strerror(getattr(errno, error)), event)

    def install() -> None:
        seen = 0

        def step(event: str) -> None:
            nonlocal seen
            seen += 1
            with _quiet():
                counter.write_text(str(seen))
            if seen == number:
                fail(event)

        quiet = False

        class _quiet:  # noqa: N801
            def __enter__(self) -> None:
                nonlocal quiet
                quiet = True

            def __exit__(self, *_: object) -> None:
                nonlocal quiet
                quiet = False

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if not quiet and event in WATCHED and event != "os.listdir" and concerns(event, arguments):
                step(event)

        real = os.fsync

        def fsync(descriptor: int) -> None:
            step("fsync")
            real(descriptor)

        os.fsync = fsync
        sys.addaudithook(hook)

    return install
