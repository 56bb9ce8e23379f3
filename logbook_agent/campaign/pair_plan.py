"""Which pairs of a comparison come next, over (case, side, pair), from the parts that are made."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from logbook_agent.model.comparison import BLOCK_PAIRS, Design, Part


class PairPlan(Struct, frozen=True, kw_only=True):
    """The pairs of a comparison: in each a run of every side, of one case after another, in the order that the `design`
    draws. `copy` is the working copy that begins new blocks, if that is not the one that stated the design."""

    design: Design
    sides: Sequence[str]
    cases: Sequence[str]
    copy: str = ""

    def parts(self, pair: int, copy: str) -> list[Part]:
        """The parts of a pair, in their order; each case has a draw of its own."""
        return [
            Part(pair=pair, side=self.sides[place], case=case, copy=copy)
            for case in self.cases
            for place in self.design.order_of(pair, len(self.sides), case, copy)
        ]

    def whole(self, made: Collection[Part]) -> set[tuple[int, str]]:
        """The pairs of which each part is made, with the copy that began their block."""
        begun, found = {(part.pair, part.copy) for part in made}, {*made}
        return {pair for pair in begun if found.issuperset(self.parts(*pair))}

    def units(self, made: Collection[Part]) -> Iterator[list[Part]]:
        """The parts of each pair that is not whole, without end: those that begun blocks lack, then new blocks."""
        whole = self.whole(made)
        blocks = sorted({((pair - 1) // BLOCK_PAIRS, copy) for pair, copy in whole})
        begun = [(block * BLOCK_PAIRS + at, copy) for block, copy in blocks for at in range(1, BLOCK_PAIRS + 1)]
        first = (blocks[-1][0] + 1) * BLOCK_PAIRS + 1 if blocks else 1
        for pair in itertools.chain(begun, ((number, self.copy) for number in itertools.count(first))):
            if pair not in whole:
                yield self.parts(*pair)
