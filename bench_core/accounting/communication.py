"""What the compiled program of a case sends, as the numbers and words of a row. No JAX.

Keys that begin with `compiled_` are counted in the program. What a form has to send by its definition has keys of its
own, see `parallel.communication`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench_core.hlo.collectives import Collective, CollectiveKind, collectives
from bench_core.hlo.module import parse

_KIB, _MIB, _GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Communication:
    """The collectives of one device for one call. `unknown` says why nobody knows them, or how often they run."""

    found: tuple[Collective, ...] = ()
    unknown: str | None = None

    @property
    def ring_bytes(self) -> float | None:
        """That a device sends in a call, see `hlo.collectives.ring_bytes`; None where that is not known."""
        return None if self.unknown else sum(_ring_bytes(one) for one in self.found)

    def observations(self) -> dict[str, float | None]:
        """Of each kind that occurs how many, their payload and what a device sends for them in a ring."""
        if self.unknown:
            return {"compiled_ring_bytes": None}
        numbers: dict[str, float | None] = {
            "compiled_ring_bytes": self.ring_bytes,
            "compiled_async_collectives": _count(one for one in self.found if one.asynchronous),
        }
        for kind in CollectiveKind:
            alike = [one for one in self.found if one.kind is kind]
            if alike:
                word = kind.value.replace("-", "_")
                numbers[f"compiled_{word}_count"] = _count(alike)
                numbers[f"compiled_{word}_bytes"] = sum(one.payload_bytes * _times(one) for one in alike)
                numbers[f"compiled_{word}_ring_bytes"] = sum(_ring_bytes(one) for one in alike)
        return numbers

    def labels(self) -> dict[str, str]:
        if self.unknown:
            return {"communication_unknown": self.unknown}
        return {"collectives": described(self.found) or "none"}


def read_communication(text: str | None) -> Communication:
    """From the optimised HLO of a program for several devices; None where it cannot be read.

    A collective of one device sends nothing and is left out.
    """
    if text is None:
        return Communication(unknown="the compiled program cannot be read: do libtpu and jaxlib fit together?")
    try:
        found = tuple(one for one in collectives(parse(text)) if one.group > 1)
    except ValueError as error:
        return Communication(unknown=str(error))
    uncounted = sum(one.times is None for one in found)
    if uncounted:
        unknown = f"{uncounted} of {len(found)} collectives are in loops or branches, and run nobody knows how often"
        return Communication(found=found, unknown=unknown)
    return Communication(found=found)


def described(found: Sequence[Collective]) -> str:
    """Equal collectives together, those that send the most first."""
    alike: dict[tuple[CollectiveKind, int, int, bool], list[Collective]] = defaultdict(list)
    for one in found:
        alike[one.kind, one.payload_bytes, one.group, one.asynchronous].append(one)
    groups = sorted(alike.values(), key=lambda group: -sum(_ring_bytes(one) for one in group))
    return "; ".join(_group(group) for group in groups)


def _group(alike: list[Collective]) -> str:
    first = alike[0]
    words = f"{_count(alike)} {first.kind.value} of {size(first.payload_bytes)} among {first.group}"
    return f"{words}, asynchronous" if first.asynchronous else words


def size(count: float) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit, word in ((_GIB, "GiB"), (_MIB, "MiB"), (_KIB, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {word}"
    return f"{count:.4g} bytes"


def _times(one: Collective) -> int:
    return one.times or 1


def _ring_bytes(one: Collective) -> float:
    return one.ring_bytes * _times(one)


def _count(alike: Iterable[Collective]) -> int:
    return sum(_times(one) for one in alike)
