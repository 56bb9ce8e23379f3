"""Drives the store to its limits in processes of its own, and says what it found, as JSON.

python -m tests.contract.stress.driver writers DIR --processes 16 --entries 25 --worktrees 3
python -m tests.contract.stress.driver kills DIR --count 300 --seed 1
python -m tests.contract.stress.driver faults DIR --errors 4
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.contract.stress.faults import faults
from tests.contract.stress.kills import kills
from tests.contract.stress.writers import writers


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("kills", "faults", "writers"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--errors", type=int, default=4)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--entries", type=int, default=25)
    parser.add_argument("--worktrees", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    options = parsed()
    place = options.folder.resolve()
    if options.what == "kills":
        answer = kills(place, options.count, options.seed)
    elif options.what == "faults":
        answer = faults(place, options.most, options.errors)
    else:
        answer = writers(place, options.processes, options.entries, options.worktrees)
    print(json.dumps(answer, indent=1))
    sys.exit(1 if answer["wrong"] else 0)
