"""Files of real runs: copied at their end, shown, checked by doctor, and out of git until somebody adds them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_run_that_keeps_nothing_loads_none_of_it(folder: Path) -> None:
    code = (
        "import sys; from logbook_agent.cli import main; main(['start', 'moe', '--prefix', 'MOE']);"
        "main(['run', '--', 'echo', 'RESULT x=1']); main(['status']); main(['report']);"
        "print(*[m for m in sys.modules if m.startswith('logbook_agent.artifacts')], sep=' LOADED ')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert "logbook_agent.artifacts" not in done.stdout
