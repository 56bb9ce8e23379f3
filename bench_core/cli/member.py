"""One process of a job: `python -m bench_core.cli.member`, started by `job.members` and by nobody else."""

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from bench_core.cli import hillclimb
from bench_core.cli.rows import Report, Request, measure_cases
from bench_core.device import keep_absent_tpus_quiet
from bench_core.errors import JobBroken, UsageError
from bench_core.flag import option
from bench_core.harness.record import Environment, Row
from bench_core.job.flags import refuse_idle_devices
from bench_core.job.link import Link, Place, Task

_REQUESTS: Mapping[str, Callable[[Mapping[str, Any]], Request]] = {"hillclimb": hillclimb.read_request}


class _First:
    """The first process reports; the others do the same work and say nothing of it."""

    def __init__(self, link: Link, place: Place) -> None:
        self._link, self._speaks = link, place.process == 0

    def progress(self, text: str) -> None:
        if self._speaks:
            self._link.progress(text)

    def begun(self, index: int, row: Row) -> None:
        if self._speaks:
            self._link.begun(index, row)

    def ended(self, index: int, row: Row) -> None:
        if self._speaks:
            self._link.ended(index, row)


def main() -> NoReturn:
    """Never returns: JAX's own end would wait for processes that may be gone."""
    task = Task.of_line(_first_line())
    link = Link(task.messages)
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    code = 1
    try:
        _take_part(task, link)
        link.done()
        code = 0
    except UsageError as error:
        link.refused(error)
    except JobBroken as error:
        link.gave_up(error.reason, error.message)
    except BaseException:  # noqa: BLE001  a bug: its traceback is this process's last word
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def refuse_unlike(given: Mapping[str, Any]) -> None:
    """All processes of a job must do the same: to be called by each of them.

    Raises:
        UsageError: another one was given other flags than the first.
    """
    from bench_core.timing.processes import texts

    own = {name: value for name, value in given.items() if name not in _OF_A_HOST}
    first, *others = [json.loads(text) for text in texts(json.dumps(own, default=str))]
    for process, other in enumerate(others, start=1):
        for name in sorted({*first, *other}):
            if first.get(name) != other.get(name):
                mine, theirs = (_given(flags, name) for flags in (first, other))
                raise UsageError(
                    f"processes 0 and {process} were not started by the same command",
                    cause=f"{option(name)} is {mine} in process 0 and {theirs} in {process}",
                    hint="start the same command everywhere, but for --process-id",
                )


_OF_A_HOST = ("coordinator", "process_id", "timeout", "profile")


def _given(flags: Mapping[str, Any], name: str) -> str:
    return str(flags[name]) if name in flags else "left out"


def _first_line() -> bytes:
    """Read no further: what follows on standard input is its end."""
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(0, 1)
    return line


def _end_with_the_starter() -> None:
    os.read(0, 1)
    os._exit(1)


def _take_part(task: Task, link: Link) -> None:
    keep_absent_tpus_quiet(os.environ)
    from bench_core.harness.environment import make_cpu_devices, start_devices
    from bench_core.job.join import join

    place = task.place
    if place.local_devices is not None:
        make_cpu_devices(place.local_devices, os.environ)
    join(place)
    link.joined()
    start_devices()
    refuse_unlike(task.given)
    request = _REQUESTS[task.command](task.given)
    report: Report = _First(link, place)

    def require(environment: Environment) -> None:
        for case in request.cases:
            refuse_idle_devices(case.over(environment.available), environment.available)

    if request.profile is not None:
        request = replace(request, profile=request.profile / f"process-{place.process}")
    measure_cases(request, report, first=task.first, require=require)


if __name__ == "__main__":
    main()
