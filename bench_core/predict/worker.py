"""The process that compiles cases for `predict.scheduled`: it imports JAX once, and forks for each case.

A line of JSON for each case goes to standard output. Standard input stays open as long as somebody waits for the
results; when it ends, so does everything here.
"""

import contextlib
import ctypes
import json
import os
import pickle
import resource
import select
import shutil
import signal
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench_core.aot.libtpu import compile_devices, libtpu_version
from bench_core.aot.program import CompiledCase, compile_case, lower_case
from bench_core.aot.refusals import Reason
from bench_core.aot.roofline import case_work
from bench_core.aot.targets import TARGETS
from bench_core.errors import CaseFailed, UsageError
from bench_core.harness.case import Case
from bench_core.harness.run import load_backend
from bench_core.predict.published import lower_published, moved_bytes
from bench_core.predict.scheduled import Request, variables, without_dumps

MODULE = "jit_into"
"""What JAX names the program that `timing.measure.lower_program` lowers."""
_REPORT = f"*{MODULE}*after_optimizations-memory-usage-report.txt"
_PROGRAM = f"*{MODULE}*after_optimizations.txt"
_LOWERED = "lowered.json"
_POLL_S = 0.02


def main() -> None:
    request = pickle.load(sys.stdin.buffer)  # noqa: S301  from the process that started this one
    assert isinstance(request, Request)  # noqa: S101
    # What libtpu prints must not mix with the results.
    told = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        _compile_all(request, told)
    except BaseException:
        # Nobody else may be left to do it.
        shutil.rmtree(request.folder, ignore_errors=True)
        raise


def _compile_all(request: Request, told: int) -> None:
    if request.cases:
        # What a backend imports late is imported once, for all.
        with contextlib.suppress(CaseFailed):
            load_backend(request.cases[0], platform="tpu")
    imported_s = _used_s(resource.RUSAGE_SELF) / max(1, len(request.cases))
    for index, case in enumerate(request.cases):
        folder = Path(request.folder) / str(index)
        folder.mkdir()
        said = _compiled(case, request, folder)
        shutil.rmtree(folder, ignore_errors=True)
        said = {**said, "libtpu": libtpu_version(), "processor_s": said["processor_s"] + imported_s}
        said["variables"] = variables(os.environ)
        _write(told, (json.dumps(said) + "\n").encode())


def _write(told: int, line: bytes) -> None:
    while line:
        line = line[os.write(told, line) :]


def _used_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _compiled(case: Case, request: Request, folder: Path) -> dict[str, Any]:
    """Compile in a process of its own until the program is scheduled, or with `full` until it is done."""
    pid = os.fork()
    if pid == 0:
        _compile(case, request, folder)
    while True:
        ended, _, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        if not request.full and _is_scheduled(folder):
            os.kill(pid, signal.SIGKILL)
            _, _, usage = os.wait4(pid, 0)
            break
        if select.select([sys.stdin], [], [], _POLL_S)[0] and not os.read(0, 1):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise SystemExit(1)
    return {**_found(folder), "processor_s": usage.ru_utime + usage.ru_stime}


def _is_scheduled(folder: Path) -> bool:
    """Whether the report is there, which is written behind the program; it is whole when it has stopped growing."""
    report = next(folder.glob(_REPORT), None)
    if report is None:
        return False
    size = report.stat().st_size
    select.select([], [], [], _POLL_S)
    return size > 0 and report.stat().st_size == size


def _found(folder: Path) -> dict[str, Any]:
    told = folder / "told.json"
    said: dict[str, Any] = json.loads(told.read_text()) if told.exists() else {}
    report, program = next(folder.glob(_REPORT), None), next(folder.glob(_PROGRAM), None)
    if said.get("reason") == Reason.VMEM and report is not None:
        said = {"kind": "compiled", "vmem": "does not fit"}
    if said.get("kind") in ("refused", "usage"):
        return said
    if report is None or program is None:
        last = (folder / "noise").read_text(errors="replace").strip()[-2000:]
        given = variables(os.environ)
        message = f"the compiler died{f', with {given} set' if given else ''}\n{last}"
        return {"kind": "refused", "reason": Reason.COMPILE_ERROR.value, "message": message}
    return {
        "kind": "scheduled",
        "hlo": program.read_text(),
        "report": report.read_text(),
        "vmem": said.get("vmem", "not checked"),
        **json.loads((folder / _LOWERED).read_text()),
    }


def _compile(case: Case, request: Request, folder: Path) -> None:
    """Never returns. What it has to say is in `told.json` when it has ended."""
    code = 1
    try:
        # Ends with the process that watches it, whatever happens to that one: PR_SET_PDEATHSIG of Linux, which is where
        # libtpu runs.
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        noise = os.open(folder / "noise", os.O_WRONLY | os.O_CREAT)
        os.dup2(noise, 1)
        os.dup2(noise, 2)
        flags = f"--xla_dump_to={folder} --xla_dump_hlo_module_re={MODULE}"
        os.environ["XLA_FLAGS"] = f"{without_dumps(os.environ.get('XLA_FLAGS', ''))} {flags}".strip()
        said = _told(case, request, folder)
        (folder / "told.json").write_text(json.dumps(said))
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


def _told(case: Case, request: Request, folder: Path) -> dict[str, Any]:
    try:
        devices = compile_devices(TARGETS[request.target])
        lowered = (lower_published if request.published else lower_case)(case, devices)
        moved = moved_bytes(case) if request.published else 0
        known = {"ran": lowered.ran, "work": asdict(case_work(case)[0]), "moved_before": moved}
        (folder / _LOWERED).write_text(json.dumps(known))
        outcome = compile_case(lowered, case.compiler_flags)
    except CaseFailed as error:
        return {"kind": "refused", "reason": error.reason, "message": error.message}
    except UsageError as error:
        return {"kind": "usage", "message": error.message, "cause": error.cause, "hint": error.hint}
    except (NotImplementedError, ValueError) as error:
        return {"kind": "refused", "reason": Reason.UNSUPPORTED.value, "message": str(error)}
    if isinstance(outcome, CompiledCase):
        return {"kind": "compiled", "vmem": "fits"}
    return {"kind": "refused", "reason": outcome.reason.value, "message": outcome.message}


if __name__ == "__main__":
    main()
