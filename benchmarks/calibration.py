"""How often the rule of `logbook ab` errs, and what it finds: simulated comparisons, judged by the rule itself.

    python benchmarks/calibration.py [--part 10] [--only "no effect"] [--save FILE]

What machines do to runs is in machines.py, which shares nothing with logbook_agent. simulation.py draws, judges and
counts; cells.py lists what is measured, and the limits. The five cells with the most false claims are measured again
with new trials.

With --save the figures go to a JSON file, cell by cell. A run that was cut off goes on: what the file holds of the same
seed and trials is not measured again. Remove the file after a change to the rule. All tables are printed.
Set OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1: each core measures cells of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from calibration_tables import document
from cells import SEED, again, cells
from simulation import Cell, Tally, run_cell

# A cell by its name and seed, so that new trials of the same cell are another.
Done = dict[tuple[str, int], Tally]


def measured(wanted: Sequence[Cell], done: Done, file: Path | None, part: int) -> list[tuple[Cell, Tally]]:
    """The tally of each cell; what is not done yet is measured, and kept in the file."""
    missing = [cell for cell in wanted if (cell.name, cell.seed) not in done]
    with multiprocessing.Pool(os.cpu_count()) as pool:
        for number, tally in enumerate(pool.imap_unordered(run_cell, missing), start=1):
            done[tally.cell, tally.seed] = tally
            print(f"{number} of {len(missing)}: {tally.cell}, {tally.wall_s:.0f} s", file=sys.stderr, flush=True)
            if file is not None:
                save(file, done, part)
    return [(cell, done[cell.name, cell.seed]) for cell in wanted]


def kept(file: Path, part: int) -> Done:
    """The tallies of a file that are of this number of trials."""
    document = json.loads(file.read_text(encoding="utf-8"))
    found = [Tally(**one) for one in document["cells"]] if document["part"] == part else []
    return {(tally.cell, tally.seed): tally for tally in found}


def save(file: Path, done: Done, part: int) -> None:
    """Write the figures, whole or not at all."""
    facts = {"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()}
    listed = [asdict(tally) for tally in done.values()]
    written = file.with_suffix(".new")
    lines = ",\n".join(f"  {json.dumps(one)}" for one in listed)
    written.write_text(f'{{"facts": {json.dumps(facts)}, "part": {part}, "cells": [\n{lines}\n]}}\n', encoding="utf-8")
    written.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--part", type=int, default=1, metavar="N", help="make one N-th of the trials, but for the worst cells"
    )
    parser.add_argument("--only", action="append", default=[], help="cells whose name holds this; repeatable")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    wanted = [c for c in cells() if not options.only or any(word in c.name for word in options.only)]
    done = kept(options.save, options.part) if options.save is not None and options.save.exists() else {}

    found = measured([replace(c, trials=c.trials // options.part) for c in wanted], done, options.save, options.part)
    print(f"Seed {SEED}. {document(found, measured(again(found), done, options.save, options.part))}")


if __name__ == "__main__":
    main()
