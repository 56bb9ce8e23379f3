#!/usr/bin/env python3
"""A stand-in for `dev_tpu.py`, which holds a development TPU and runs commands on it, in both of its generations.

scripts/ray/dev_tpu.py    joins the words of a command without quoting; syncs always
scripts/iris/dev_tpu.py   quotes them; has --no-sync, --worker and release

The folder that it lies in tells which one it is; the older form takes --no-sync as well, as old logbooks type it.
`allocate` holds the TPU until it is interrupted, released, or its time to live is over ($FAKE_DEV_TPU_TTL seconds).
`execute` copies the current folder to the TPU's and runs the command there by `sh -c`, with an environment of its own.
Its state lies in $FAKE_DEV_TPU (default ~/.fake-dev-tpu). $FAKE_DEV_TPU_FAULTS: `stockout`, `reply-lost` (the TPU is
held, allocate dies), `suspended` (execute finds the TPU gone), `release-fails` (once).
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HOME = Path(os.environ.get("FAKE_DEV_TPU") or Path.home() / ".fake-dev-tpu")
FAULTS = [word for word in os.environ.get("FAKE_DEV_TPU_FAULTS", "").split(",") if word]
JOINS = Path(__file__).absolute().parent.name == "ray"
TTL_S = float(os.environ.get("FAKE_DEV_TPU_TTL", 8 * 3600))
LEFT_OUT = shutil.ignore_patterns(".git", "logbooks", ".venv", "__pycache__")
# As these programs do, whatever else is set here stays behind.
FORWARDED = ("HF_TOKEN", "WANDB_API_KEY", "WANDB_MODE", "RUN_ID")


def main() -> int:
    options = parsed()
    state = HOME / f"{options.tpu_name}.json"
    return {"allocate": allocate, "execute": execute, "status": status, "release": release}[options.verb](
        options, state
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dev_tpu.py")
    parser.add_argument("--config", required=True)
    parser.add_argument("--tpu-name", default="me")
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("allocate")
    one.add_argument("--tpu-type", default="v5p-8")
    one.add_argument("--tpu-name", default=argparse.SUPPRESS)
    one = verbs.add_parser("execute")
    one.add_argument("-e", "--env", action="append", default=[])
    one.add_argument("--no-sync", action="store_true")
    one.add_argument("--sync-path", default=".")
    one.add_argument("--worker", type=int, default=0)
    one.add_argument("command", nargs=argparse.REMAINDER)
    verbs.add_parser("status")
    verbs.add_parser("release")
    return parser.parse_args()


def is_active(state: Path) -> bool:
    return state.exists() and json.loads(state.read_text())["until"] > time.time()


def allocate(options: argparse.Namespace, state: Path) -> int:
    if "stockout" in FAULTS:
        print("Error: no capacity for this type in the zone", file=sys.stderr)
        return 1
    if is_active(state):
        print(f"Error: session {options.tpu_name!r} already exists; release it first", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    HOME.mkdir(parents=True, exist_ok=True)
    far = HOME / f"{options.tpu_name}.far"
    far.mkdir(exist_ok=True)
    until = time.time() + TTL_S
    plain = {"type": options.tpu_type, "until": until, "pid": os.getpid(), "since": time.time()}
    state.write_text(json.dumps(plain))
    with (HOME / "allocations").open("a") as made:
        made.write(f"{options.tpu_name}\n")
    if "reply-lost" in FAULTS:
        print("Error: connection lost", file=sys.stderr, flush=True)
        os._exit(1)
    print(f"Session: {options.tpu_name}\nTPU type: {options.tpu_type}\nAllocation is active. Press Ctrl-C to release.")
    sys.stdout.flush()
    try:
        while time.time() < until and state.exists():
            time.sleep(0.05)
    except KeyboardInterrupt:
        print("Releasing dev TPU session...")
    state.unlink(missing_ok=True)
    return 0


def execute(options: argparse.Namespace, state: Path) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not is_active(state) or "suspended" in FAULTS:
        print(f"Error: no active session {options.tpu_name!r}: allocate it first", file=sys.stderr)
        return 1
    far = HOME / f"{options.tpu_name}.far"
    if not options.no_sync:
        print(f"Syncing local changes to dev-tpu-{options.tpu_name}...", file=sys.stderr)
        shutil.copytree(options.sync_path, far, ignore=LEFT_OUT, dirs_exist_ok=True)
    env = {name: os.environ[name] for name in FORWARDED if name in os.environ}
    for word in options.env:
        name, equals, value = word.partition("=")
        env[name] = value if equals else os.environ.get(name, "")
    text = " ".join(command) if JOINS else shlex.join(command)
    if text.strip().startswith("bash -c") or (not JOINS and text.strip().startswith("bash -lc")):
        print("Error: do not include 'bash -c': the command is wrapped already", file=sys.stderr)
        return 1
    if JOINS:
        print(f"Running: {['ssh', '-t', f'dev-tpu-{options.tpu_name}', env, text]}", file=sys.stderr, flush=True)
    base = {"PATH": os.environ["PATH"], "HOME": str(far), "TPU_NAME": options.tpu_name}
    return subprocess.run(["/bin/sh", "-c", text], cwd=far, env={**base, **env}, check=False).returncode


def status(options: argparse.Namespace, state: Path) -> int:
    if not is_active(state):
        print(f"Error: no active session {options.tpu_name!r}", file=sys.stderr)
        return 1
    print(f"Session: {options.tpu_name}\nTPU type: {json.loads(state.read_text())['type']}")
    return 0


def release(options: argparse.Namespace, state: Path) -> int:
    if "release-fails" in FAULTS and not (HOME / "release-fails.struck").exists():
        (HOME / "release-fails.struck").touch()
        print("Error: the controller did not answer", file=sys.stderr)
        return 1
    if not state.exists():
        print(f"Error: no active session {options.tpu_name!r}", file=sys.stderr)
        return 1
    state.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
