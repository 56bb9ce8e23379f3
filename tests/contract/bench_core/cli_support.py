"""What a `bench-core` command did, and flags with which XLA compiles it quickly."""

import json
import shlex
from importlib.metadata import version
from typing import Any

QUICK_COMPILER = "--xla_backend_optimization_level=0"
"""Two thirds of the time of these tests was the compiler's; what is checked here are programs, not how well it
optimises them. The real processes of the other tests (documents, recipes) compile as users do, and every run checks its
results."""
if version("jaxlib").startswith("0.10."):
    # By XLA's older emitters, which take half as long. Later versions do not have them.
    QUICK_COMPILER += " --xla_cpu_use_fusion_emitters=false"


class Outcome:
    """Exit code, stdout, stderr."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self) -> list[dict[str, Any]]:
        lines = self.out.splitlines()
        return [json.loads(line.removeprefix("RESULT_JSON ")) for line in lines if "RESULT_JSON " in line]

    @property
    def results(self) -> list[dict[str, str]]:
        lines = [line for line in self.out.splitlines() if line.startswith("RESULT ")]
        return [dict(word.split("=", 1) for word in shlex.split(line)[1:]) for line in lines]
