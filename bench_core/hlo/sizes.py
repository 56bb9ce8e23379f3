"""Bytes of the shapes of an HLO module. Pure functions of text, no JAX."""

import math
import re

_ARRAY = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_BITS = re.compile(r"[a-z]+?(\d+)")
_WITHOUT = ("token", "opaque")


def shape_bytes(shape: str) -> int:
    """Bytes of the elements of an array, or of all arrays of a tuple, without the padding of tiles.

    Raises:
        ValueError: an element type is not known.
    """
    return sum(array_bytes(kind, sizes) for kind, sizes in _ARRAY.findall(shape))


def parts(shape: str) -> list[str]:
    """The shapes of a tuple, or the one that it is. Layouts, memory spaces and nested tuples stay with their part."""
    if not shape.startswith("("):
        return [shape]
    found, depth, start = [], 0, 1
    for position, character in enumerate(shape):
        depth += (character in "([{") - (character in ")]}")
        if (character == "," and depth == 1) or depth == 0:
            found.append(shape[start:position].strip())
            start = position + 1
        if depth == 0:
            break
    return [part for part in found if part]


def array_bytes(kind: str, sizes: str) -> int:
    """Bytes of one array, of an element type such as `bf16` and sizes such as `8,128`. Types of less than a byte are
    packed.

    Raises:
        ValueError: the type is not known.
    """
    if kind in _WITHOUT:
        return 0
    elements = math.prod(int(size) for size in sizes.split(",") if size)
    return -(-elements * _bits(kind) // 8)


def _bits(kind: str) -> int:
    if kind == "pred":
        return 8
    found = _BITS.match(kind)
    if found is None:
        raise ValueError(f"the element type {kind!r} is not known")
    return int(found.group(1))
