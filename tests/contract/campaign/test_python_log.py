"""`logbook_agent.log`: the lines of a run from Python, at the cost of a print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import Cli
from tests.seams import Store


def test_inside_of_a_run(started: Cli, folder: Path) -> None:
    (folder / "train.py").write_text("import logbook_agent\nlogbook_agent.log({'tflops': 2.5}, note='a b')\n")
    assert started("run", "--", "python", "train.py").code == 0
    [row] = Store(folder).runs("MOE-000")[0].rows
    assert (row.metrics["tflops"].samples, row.labels) == ([2.5], {"note": "a b"})


def test_it_imports_next_to_nothing() -> None:
    """What Python itself has not loaded by then: `typing` and what it needs."""
    code = "import sys; import logbook_agent as l; l.log; print(*sorted(n for n in sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert [name for name in loaded if name.startswith("logbook_agent.")] == []
    assert {"json", "shlex", "subprocess", "pathlib", "dataclasses", "inspect", "logging"} & {*loaded} == set()
