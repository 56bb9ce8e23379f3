"""What is sent to a Ray cluster: bytes under names that stand for their content, plans, and the line that starts with
them."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

# How the lines of a coordinator begin in the log of its Job, and the name of the word that a work is to be stopped.
PREFIX = "LOGBOOK "
STOP = "_ray_pkg_logbook_stop_"
# Whatever depends on the batch lies in the packages: a Job's entrypoint is shown to everybody.
_BOOT = """import sys, ray
ray.init(log_to_driver=False, logging_level="ERROR")
from ray.experimental.internal_kv import _internal_kv_get as get
exec(compile(get(("gcs://" + sys.argv[1]).encode()), "ray_coordinator.py", "exec"))
"""


def package(data: bytes) -> str:
    """The name of these bytes on a cluster."""
    return f"_ray_pkg_logbook_{hashlib.sha256(data).hexdigest()[:32]}.zip"


def plan_of(job: str) -> str:
    """The name on a cluster of the plan of a Job."""
    return f"_ray_pkg_logbook_plan_{job}.zip"


def coordinator() -> bytes:
    """The program that is sent."""
    return Path(__file__).with_name("ray_coordinator.py").read_bytes()


def entrypoint(program: str, plan: str) -> str:
    """The command of the Job, with the names of its program and of its plan."""
    return shlex.join(["python", "-P", "-c", _BOOT, program, plan])
