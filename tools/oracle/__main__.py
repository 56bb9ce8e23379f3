"""`python -m tools.oracle`: hold every reader of comparisons to an independent enumerator in many random campaigns."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.oracle", description=__doc__)
    parser.add_argument("--campaigns", type=int, default=200, metavar="N", help="how many campaigns [200]")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the seed of the first one [0]")
    given = parser.parse_args()
    command = [sys.executable, "scripts/test", "-n", "auto", "--dist", "worksteal", "tests/contract/oracle"]
    environ = {
        **os.environ,
        "LOGBOOK_ORACLE": str(given.campaigns),
        "LOGBOOK_ORACLE_FIRST": str(given.first),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return subprocess.run(command, cwd=REPOSITORY, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
