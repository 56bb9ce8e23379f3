"""Programs as the compiler for TPUs schedules them, without the code that it would generate next. No JAX.

Generating code takes a TPU's compiler 20 to 100 processor-seconds, and everything that a prediction reads is written
before: the scheduled program and the sizes of its buffers. So each case is compiled by a process of its own, which is
ended as soon as these are there. Whether kernels fit into VMEM is only known from the code.
"""

import contextlib
import json
import os
import pickle
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench_core.accounting.chips import Arithmetic
from bench_core.accounting.roofline import Work
from bench_core.aot.targets import AotTarget
from bench_core.errors import UsageError
from bench_core.gmm.tile import Tile
from bench_core.harness.case import Case

_TOTAL = re.compile(r"^Memory Space: default.*\nTotal bytes: (\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A program as it is scheduled on each device.

    `hlo` is its text, `buffer_bytes` what it holds in HBM at its peak, arguments and results with it. `vmem` is
    `not checked`, or, of a program that was compiled to its end, `fits`. `ran` names the code of the case, `work` is
    what any program of it has to do. `moved_before` are bytes that leave one chip before a call of a published program
    begins. `processor_s` is what it took, `variables` are those of the environment that flags of the compiler stood in.
    """

    hlo: str
    buffer_bytes: int
    vmem: str
    ran: str
    libtpu: str
    processor_s: float
    work: Work
    moved_before: int = 0
    variables: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotScheduled:
    """Why there is no program: a word of `aot.refusals.Reason` or of the case's own refusal, and a message."""

    reason: str
    message: str
    libtpu: str
    processor_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the process that compiles is started with. `full`: to the end of every compilation. `published`: programs as
    the published logbooks describe them."""

    target: str
    cases: tuple[Case, ...]
    full: bool
    folder: str
    published: bool


_LIBTPU = "LIBTPU_INIT_ARGS"
PUBLISHED_TILE = Tile(m=512, k=1024, n=1024)
"""Of the grouped matmuls of published programs."""


def schedule(
    cases: Sequence[Case], target: AotTarget, *, full: bool = False, published: bool = False
) -> Iterator[Scheduled | NotScheduled]:
    """Compile the cases one after another, for devices of `target`, of which each case says how many it uses.

    One process imports JAX for all of them; it ends, with all that it has started, when this one does.

    Raises:
        UsageError: libtpu is missing or does not know the target, or the compiler refuses a flag.
        RuntimeError: the process died.
    """
    with tempfile.TemporaryDirectory(prefix="bench-core-predict-") as folder:
        request = Request(target=target.name, cases=tuple(cases), full=full, folder=folder, published=published)
        process = _start(request)
        try:
            for _ in cases:
                line = process.stdout.readline() if process.stdout is not None else b""
                if not line:
                    raise RuntimeError(f"the process that compiles ended with {process.wait()}")
                yield _outcome(json.loads(line))
        finally:
            _end(process)


def _start(request: Request) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-m", "bench_core.predict.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        # A process with one thread can be forked.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    # It stays open: the process ends when nobody holds it any more.
    assert process.stdin is not None  # noqa: S101  it is a pipe
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(pickle.dumps(request))
        process.stdin.flush()
    return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End its whole group, in which the compilation runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with process:
        pass


def _outcome(said: dict[str, Any]) -> Scheduled | NotScheduled:
    kind = said.pop("kind")
    if kind == "usage":
        raise UsageError(said["message"], cause=said["cause"], hint=said["hint"])
    if kind == "refused":
        return NotScheduled(**{name: said[name] for name in ("reason", "message", "libtpu", "processor_s")})
    arithmetic = said["work"]["arithmetic"]
    work = Work(**said.pop("work") | {"arithmetic": arithmetic and Arithmetic(arithmetic)})
    return Scheduled(buffer_bytes=peak_bytes(said.pop("report")), work=work, **said)


def variables(environ: Mapping[str, str]) -> str:
    """The variables with flags of the compiler, `XLA_FLAGS='...' LIBTPU_INIT_ARGS='...'`, without those of dumps."""
    flags = {"XLA_FLAGS": without_dumps(environ.get("XLA_FLAGS", "")), _LIBTPU: environ.get(_LIBTPU, "").strip()}
    return " ".join(f"{name}={shlex.quote(words)}" for name, words in flags.items() if words)


def without_dumps(flags: str) -> str:
    """Flags of XLA without those that say what it writes down and how, which change no program: what is read here has
    to be there, as text."""
    return " ".join(word for word in flags.split() if not word.startswith("--xla_dump_"))


def peak_bytes(report: str) -> int:
    """The bytes in HBM, from the compiler's report on the use of memory.

    Raises:
        ValueError: it does not say.
    """
    found = _TOTAL.search(report)
    if found is None:
        raise ValueError("the compiler's report on memory has no total of the default memory space")
    return int(found.group(1))
