"""What files are called, and how large they may be."""

from __future__ import annotations

import functools
from pathlib import Path

# Far above what the tool writes and people type, and little enough to parse within seconds. A run keeps at most 20,000
# rows of 64 Mi characters together, which are some 160 MiB as JSON.
SETTINGS_BYTES = 2**20
PROSE_BYTES = 16 * 2**20
RUN_BYTES = 256 * 2**20
VIEW_BYTES = 256 * 2**20
# What the block of the header is called in the view; the others are called after their entries.
HEADER = "header"
# What the log of a run is called, beside its record and in its spool.
LOG = "output.log"
# The rows of a sweep, beside its runs.
SWEEP_CSV = "sweep.csv"
# The folder of the pictures that the view shows.
PLOTS = "plots"
# The points of its curves, there, too: of a run that goes on or was cut off, then one of the others. Large ones
# stay out of git.
CURVES, CURVES_LARGE = "curves.points", "curves.large.points"
# The folder of its code's diff and untracked files: in the logbook, and in a spool.
CODE = "code"
# The folder of the files that the command left: beside the record of its run, and in its spool.
ARTIFACTS = "artifacts"
_PACKAGE = Path(__file__).resolve().parents[1]


@functools.cache
def builtin_folder(name: str) -> Path:
    """`templates`, `recipes` or `docs`: inside the wheel, or at the top of a source checkout."""
    packed = _PACKAGE / "_data" / name
    return packed if packed.is_dir() else _PACKAGE.parent / name


def manual(page: str) -> str:
    """Where this page of docs/ lies on this machine, for a hint."""
    return str(builtin_folder("docs") / page)
