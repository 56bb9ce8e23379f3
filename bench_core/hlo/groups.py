"""How many devices take part in a collective, from its line. Pure functions of text, no JAX."""

import math
import re
from collections import defaultdict

_LISTED = re.compile(r"replica_groups=\{(\{[\d, ]*\}(?:, ?\{[\d, ]*\})*)?\}")
_IOTA = re.compile(r"replica_groups=\[(\d+(?:,\d+)*)\]<=\[")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\] ?\{([^}]*)\}")
_AXIS = re.compile(r"'([^']+)'(?::\(\d+\)(\d+))?")
_SIZE = re.compile(r"'([^']+)'=(\d+)")
_PAIRS = re.compile(r"source_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")
_ALL = re.compile(r"(replica_count|num_partitions)=(\d+)")


def group_size(attributes: str, header: str) -> int:
    """Devices that exchange something with each other.

    XLA writes groups as lists, `{{0,1},{2,3}}`; as a reshaped range, `[2,2]<=[4]`, groups by members; or as axes of a
    mesh, `mesh['a'=2,'b'=2] {'b'}`. Of groups of several sizes this is the largest, and of pairs of source and target
    the devices that hang together.

    Args:
        attributes: of the collective.
        header: of its module. It says how many devices there are, for a collective that names no groups: all.

    Raises:
        ValueError: none of these stands there.
    """
    if (pairs := _PAIRS.search(attributes)) is not None:
        return _connected([(int(a), int(b)) for a, b in re.findall(r"\{(\d+),(\d+)\}", pairs.group(1))])
    if (iota := _IOTA.search(attributes)) is not None:
        return int(iota.group(1).rpartition(",")[2])
    if (mesh := _MESH.search(attributes)) is not None:
        return _axes(mesh.group(1), mesh.group(2))
    listed = _LISTED.search(attributes)
    if listed is None and "replica_groups" in attributes:
        raise ValueError(f"groups of devices that cannot be read: {attributes[:200]!r}")
    groups = re.findall(r"\{([\d, ]*)\}", listed.group(1) or "") if listed else []
    if not groups:
        return math.prod(int(count) for _, count in _ALL.findall(header))
    return max(len(group.split(",")) for group in groups)


def _axes(sizes: str, used: str) -> int:
    """A part of an axis is written `'a':(2)4`: the 4 of an axis that is cut into 2 x 4 or more."""
    known = {name: int(size) for name, size in _SIZE.findall(sizes)}
    group = 1
    for name, part in _AXIS.findall(used):
        if name not in known:
            raise ValueError(f"no axis {name!r} in the mesh {sizes!r}")
        group *= int(part) if part else known[name]
    return group


def _connected(pairs: list[tuple[int, int]]) -> int:
    """The most devices that pairs join into one chain, ring or tree."""
    beside: dict[int, set[int]] = defaultdict(set)
    for source, target in pairs:
        beside[source].add(target)
        beside[target].add(source)
    largest, seen = 1, set[int]()
    for device in beside:
        waiting, found = [device], set[int]()
        while waiting:
            if (here := waiting.pop()) not in seen:
                seen.add(here)
                found.add(here)
                waiting += beside[here]
        largest = max(largest, len(found))
    return largest
