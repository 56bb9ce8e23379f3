"""A comparison: the question, the design of its runs, and the part that each run has in it. The answer is computed from
the runs wherever it is shown (`findings.comparison`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct, field

from logbook_agent.model.code import Code
from logbook_agent.model.values import Scalar

MINIMUM_EFFECT = 0.01
BUDGET_PAIRS = 20
# Pairs are made in blocks of so many; after each block a comparison is judged.
BLOCK_PAIRS = 10
# So many pairs can settle a comparison whose number of pairs is fixed.
FEWEST_PAIRS = 8
# By so many the rule has spent its 5%: more hardly settle anything.
MOST_PAIRS = 100
# Runs that lie further apart in time belong to two sittings.
APART_S = 600.0
# The name of an axis whose sides are versions of the code, and of one whose sides are whole configs.
CODE_AXIS, CASE_AXIS = "code", "case"
# What names the working tree as it is, with files that git neither tracks nor ignores.
WORK = "WORK"
# What names the code of a run. Axes whose values are versions of the code.
COMMIT = "commit"
OF_CODE = (CODE_AXIS, COMMIT)
_CODE = re.compile(r"[@+](?=[0-9a-f]{7,}$)")


def code_hash(label: str) -> str:
    """What names a code for good: `3f2a9c01d` of `main@3f2a9c01d`, and `WORK+a1b2c3d`."""
    return label.rpartition("@")[2]


def code_name(label: str) -> str:
    """The name of a code in its label: `main` of `main@3f2a9c01d`."""
    return _CODE.split(label)[0]


def code_typed(label: str) -> str:
    """What to type for a code: the hash of a commit, which stays when a branch moves on, else `WORK`."""
    return code_hash(label) if "@" in label else code_name(label)


class Question(Struct, frozen=True, kw_only=True):
    """What is asked: each of `sides` against `base`, two or more values of `axis`, in `metrics` (empty: those that the
    rows report). An effect below `minimum_effect`, a fraction, does not matter. Raises ValueError for a minimum effect
    outside of 0 to 1, and for a side that is given twice."""

    axis: str
    base: str
    sides: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    minimum_effect: float = MINIMUM_EFFECT

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_effect < 1:
            raise ValueError(f"minimum_effect is {self.minimum_effect}, expected a fraction from 0 up to 1")
        if len(set(self.values)) < len(self.values):
            raise ValueError(f"a side of {self.axis} is given twice: {', '.join(self.values)}")

    @property
    def values(self) -> tuple[str, ...]:
        """All sides, the base first."""
        return (self.base, *self.sides)

    def decides(self, metric: str) -> bool:
        """Whether a metric decides; one that does not is watched."""
        return not self.metrics or metric in self.metrics


class Design(Struct, frozen=True, kw_only=True):
    """Who drew the order of the runs, and how many pairs may be made. `drawn`: the tool did, by `seed`. `fixed`: so
    many pairs are made, and judged once; else they are judged after each block. `copy`: the working copy that stated
    it; blocks that another one begins have a draw of their own, so that two may make blocks at the same time."""

    seed: int
    budget_pairs: int = BUDGET_PAIRS
    fixed: bool = False
    copy: str = ""

    def order_of(self, pair: int, sides: int, case: str = "", copy: str = "") -> list[int]:
        """In which order the sides (from 0) run in a pair (from 1) of a case, in a block that another working `copy`
        began."""
        block, place = divmod(pair - 1, BLOCK_PAIRS)
        left = self.budget_pairs - block * BLOCK_PAIRS if self.fixed else BLOCK_PAIRS
        return block_orders(f"{self.seed}{copy} {case} {block}", sides, max(place + 1, min(left, BLOCK_PAIRS)))[place]


class Evaluator(Struct, frozen=True, kw_only=True):
    """A file or folder of the base's code, by its path from the top of the repository, that measured all sides of a
    comparison of code. `differed`: a side has another one, or none."""

    path: str
    sha256: str
    differed: bool = False


class Invocation(Struct, frozen=True, kw_only=True):
    """How each run of a comparison is made. In `argv`, `{axis}` stands for the value of the side: one of `values`,
    where the question does not name the sides as they were typed. `cwd` is the folder, seen from the top of its
    repository where it lies in one. `discard` pairs warm up first; `frozen`: in a copy of the code. `setup` prepares
    that folder before the first run. `needs` are the files that were there beside the code, and that git does not hold:
    what builds leave. `in_process`: the sides are functions of the Python process that stated it, which alone goes on
    with it."""

    argv: tuple[str, ...]
    values: tuple[str, ...] = ()
    shell: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Scalar] = field(default_factory=dict)
    on: str | None = None
    read: str | None = None
    cwd: str = "."
    timeout_s: float | None = None
    stall_s: float | None = None
    keep: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    discard: int = 0
    frozen: bool = False
    setup: str | None = None
    needs: tuple[str, ...] = ()
    in_process: bool = False


class Comparison(Struct, frozen=True, kw_only=True):
    """A question with its design, its command and its code, stated in the entry before the first run. `code` is that of
    each side where code is the axis, else that of all sides, named by the base; empty where nothing is known of it. Of
    two codes, `branches` held each when it was stated. A comparison without `run` belongs to a recipe, or to functions
    of a Python process."""

    question: Question
    design: Design
    evaluator: tuple[Evaluator, ...] = ()
    run: Invocation | None = None
    code: Mapping[str, Code] = field(default_factory=dict)
    branches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def names_of(self, value: str) -> tuple[str, ...]:
        """The names of a code: the one that was typed, then branches that held it alone when this was stated."""
        others = {name for code, names in self.branches.items() if code != value for name in names}
        own = (name for name in self.branches.get(value, ()) if name not in others)
        return tuple(dict.fromkeys((code_name(value), *own)))


class Part(Struct, frozen=True, kw_only=True):
    """The part of a run in its entry's comparison: pair (from 1), side and case. One pair has a run of each side.
    `copy`: the working copy that began its block, if that is not the one that stated the comparison."""

    pair: int
    side: str
    case: str = ""
    copy: str = ""

    @property
    def block(self) -> tuple[str, int]:
        """Its block, by copy and number (from 0)."""
        return self.copy, (self.pair - 1) // BLOCK_PAIRS


def drawn(text: str) -> bytes:
    """A sort key that puts things named `SEED NAME` into a random order, the same in every Python."""
    return hashlib.sha256(text.encode()).digest()


@lru_cache(maxsize=64)
def block_orders(seed: str, sides: int, pairs: int = BLOCK_PAIRS) -> list[list[int]]:
    """The order of the sides (from 0) in each pair of a block: random orders, each also backwards, shuffled. So each
    side runs before each other one in half of the pairs."""
    half = [sorted(range(sides), key=lambda v: drawn(f"{seed} {at} {v}")) for at in range((pairs + 1) // 2)]
    both = [*half, *(one[::-1] for one in half)][:pairs]
    return [both[at] for at in sorted(range(pairs), key=lambda at: drawn(f"{seed} {at}"))]
