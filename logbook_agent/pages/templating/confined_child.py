"""The process that renders a project's own templates, with nothing in it but the values of one document.

It is started by `confined`, reads one JSON object a line and answers each with one. A template that escaped the
sandbox would find no token in memory or environment, and could write no file and start no process.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import jinja2
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment

from logbook_agent.pages.templating.environment import (
    RefusedTemplate,
    environment,
    problem,
    read_template,
    stamp_of,
)
from logbook_agent.store.reading import builtin_folder
from logbook_agent.text import markdown as md


class _OwnFiles(jinja2.BaseLoader):
    """The project's templates before the built-in ones."""

    def __init__(self, folder: Path) -> None:
        self._folders = (folder, Path(os.path.realpath(builtin_folder("templates"))))

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Any]:
        name = "/".join(split_template_path(template))
        for folder in self._folders:
            try:
                source = read_template(folder, name)
            except RefusedTemplate as error:
                raise _NotRead(template, str(error)) from None
            if source is not None:
                return source.text, source.path, lambda s=source: stamp_of(s.path) == s.stamp
        raise jinja2.TemplateNotFound(template, f"there is no template {template}")


class _NotRead(jinja2.TemplateError):
    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class _TooLong(Exception):
    pass


def serve() -> None:
    """Answers requests until there are no more of them."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    setup = json.loads(requests.readline())
    made = environment(ImmutableSandboxedEnvironment, _OwnFiles(Path(setup["folder"])))
    _restrict(setup["memory_bytes"] if setup["address_space"] else None)
    for line in requests:
        answer = _answer(made, json.loads(line), setup["output_bytes"])
        answer["used_s"] = time.process_time()
        answers.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        answers.flush()


def _restrict(memory_bytes: int | None) -> None:
    """`memory_bytes`: what may be used beyond what is there now."""
    limits = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_NPROC: 0}
    if memory_bytes is not None:
        limits[resource.RLIMIT_AS] = _mapped_bytes() + memory_bytes
    for which, most in limits.items():
        _, hard = resource.getrlimit(which)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(which, (wanted, wanted))


def _mapped_bytes() -> int:
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _answer(made: jinja2.Environment, request: dict[str, Any], most: int) -> dict[str, Any]:
    name = request["name"]
    # The signal ends the process, also in the middle of a regular expression or of a multiplication.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, request["cpu_s"])
    try:
        return {"text": _rendered(made, name, request["values"], most)}
    except MemoryError as error:
        return {"limit": "memory", "line": problem(error, name)[2]}
    except _TooLong:
        return {"limit": "output", "line": None}
    except _NotRead as error:
        return {"refused": error.message, "name": error.name}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        name, message, line = problem(error, name)
        return {"message": message[:1000], "name": name, "line": line}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _rendered(made: jinja2.Environment, name: str, values: dict[str, Any], most: int) -> str:
    size, found = 0, []
    for piece in made.get_template(name).generate(values):
        size += len(piece)
        if size > most:
            raise _TooLong
        found.append(piece)
    # What no record can hold would break the file or act on the terminal that it goes to.
    return md.without_controls("".join(found))
