"""Runs before anything imports bench_core or JAX."""

import os
from collections.abc import Callable

import pytest

from tests import seams
from tests.conftest import REPOSITORY
from tests.contract.bench_core.cli_support import QUICK_COMPILER, Outcome

# Eight virtual devices, so that "one of several" is told apart from "all". XLA reads this when JAX starts.
os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count=8 {QUICK_COMPILER}")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Programs that were compiled once on this machine, by whichever process of tests. A program is looked up by its text,
# the compiler's version and its flags; what is not found is compiled, so a failure to compile is seen as before.
# `rm -r build/jax` forgets them. Processes that tests start do not have it: a record of a run would name the variables.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(REPOSITORY / "build/jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# From here on a call with a wrong shape or dtype is a test failure in every layer that handles arrays.
seams.check_shapes()


@pytest.fixture(autouse=True, scope="session")
def _devices() -> None:
    """Started here: later a test has no XLA_FLAGS any more, as all that a record would state of its environment."""
    import jax

    assert len(jax.devices()) == 8


@pytest.fixture(autouse=True)
def _no_result_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOGBOOK_RESULT_FILE", raising=False)


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs `bench-core WORDS` in this process."""
    from tests.seams import bench_core as main

    def run(*words: str) -> Outcome:
        with pytest.raises(SystemExit) as exit_:
            main(list(words))
        out, err = capsys.readouterr()
        return Outcome(int(exit_.value.code or 0), out, err)

    return run
