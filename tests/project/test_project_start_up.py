"""What the command line must not load: it starts many times a day."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = ("pandas", "polars", "pyarrow", "mlflow", "wandb", "trackio", "sqlite3")
HEAVY = (
    "jax",
    "jaxlib",
    "github",
    "scipy",
    "numpy",
    "rich",
    "jinja2",
    "yaml",
    "pydantic",
    "psutil",
    "starlette",
    "uvicorn",
    *EXTRAS,
)


HELP = [["--help"], *([command, "--help"] for command in ("run", "export", "plot"))]


@pytest.mark.parametrize(
    "code",
    ["import logbook_agent", f"from logbook_agent.cli import main\nfor words in {HELP}: assert main(words) == 0"],
)
@pytest.mark.slow
def test_nothing_heavy_is_loaded(code: str) -> None:
    listing = f"{code}\nimport sys\nprint('LOADED', *sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split("LOADED")[1].split())
    assert "logbook_agent" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.slow
def test_a_run_loads_what_it_needs_and_no_more(tmp_path: object) -> None:
    code = """
import os, sys, tempfile
os.chdir(tempfile.mkdtemp())
from logbook_agent.cli import main
assert main(['start', 'moe', '--prefix', 'MOE']) == 0
assert main(['run', '--', 'true']) == 0
assert main(['status']) == 0
print('LOADED', *sorted({m.split('.')[0] for m in sys.modules}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split("LOADED")[1].split())
    assert {"jinja2", "yaml"} <= loaded
    unwanted = {"jax", "github", "requests", "markdown_it", "scipy", "numpy", "rich", "pydantic", "asyncio", "psutil"}
    assert loaded.isdisjoint(unwanted | {*EXTRAS, "starlette", "uvicorn"})
