"""What must not be imported, asked of a fresh interpreter."""

import os
import subprocess
import sys

import pytest

from tests.breadth import wide

HEAVY = ["jax", "jaxlib", "jaxtyping", "numpy", "rich", "logbook_agent"]


def _loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint('LOADED', *(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED")[2].split())


def _command(*words: str) -> str:
    return f"from bench_core.cli import main\ntry: main({list(words)})\nexcept SystemExit: pass"


@pytest.mark.parametrize(
    "code",
    [
        "import bench_core.cli, bench_core.accounting\nfrom bench_core import device, errors, shapes",
        _command("hillclimb", "--help"),
        _command("hillclimb", "--topk", "9"),
    ],
    ids=["modules", "help", "refusal"],
)
@pytest.mark.slow
def test_no_heavy_import(code: str) -> None:
    assert _loaded(code) == set()


def _failing(code: str, **env: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | env
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_missing_jax_names_the_extra() -> None:
    code = "import sys; sys.modules['jax'] = None\nfrom bench_core.cli import main; main(['hillclimb'])"
    assert _failing(code) == (
        2,
        [
            "error: jax is not installed",
            "  cause: the benchmark's packages are an extra of logbook-agent",
            "  next: pip install 'logbook-agent[bench]'",
        ],
    )


COMMANDS = (
    "hillclimb",
    "hillclimb --list",
    "hillclimb --parallel-mode dp --devices 2",
    "overlap --devices 2",
    "compare --devices 2",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("platform", "command"),
    [("nonsense", "hillclimb"), ("cuda", "check"), *(wide("cuda", command) for command in COMMANDS)],
)
def test_a_platform_that_is_not_there_is_one_clear_error(platform: str, command: str) -> None:
    code = f"from bench_core.cli import main; main({command.split()})"
    returned, lines = _failing(code, JAX_PLATFORMS=platform)
    assert returned == 2
    assert lines[-3] == "error: JAX cannot start a backend"
    assert platform in lines[-2]
