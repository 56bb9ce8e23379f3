"""What a compiler says when it refuses, as a word and numbers. Pure functions of text."""

import re
from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """`vmem`, `hbm`: it does not fit there. `unsupported`: the compiler has no code for it. `compile_error`:
    anything else, in the compiler's words."""

    VMEM = "vmem"
    HBM = "hbm"
    UNSUPPORTED = "unsupported"
    COMPILE_ERROR = "compile_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why there is no program. `needed_bytes` and `limit_bytes` are None where the compiler names no sizes."""

    reason: Reason
    message: str
    needed_bytes: int | None = None
    limit_bytes: int | None = None


# Sizes as XLA writes them (tsl HumanReadableNumBytes): binary units, without "iB". Bytes have no unit, or B.
_UNITS = {"": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"(\d+(?:\.\d+)?)([BKMGT]?)"
# In the order in which they are tried: what was needed, and what there is.
_NEEDS = (
    re.compile(rf"Scoped allocation with size {_SIZE} and limit {_SIZE}"),
    re.compile(rf"total memory required for [^(]*\({_SIZE}\) exceeds available HBM \({_SIZE}\)"),
    re.compile(rf"Allocation \(size={_SIZE}\) would exceed memory \(size={_SIZE}\)"),
    re.compile(rf"Used {_SIZE} of {_SIZE} (?:vmem|hbm)"),
)
_VMEM = ("memory space vmem", "space=vmem", "ScopedVmemOom", "Could not find a valid tiling that fits in memory")
_HBM = ("on HBM", "memory space hbm", "HbmOom")
_UNSUPPORTED = ("UNIMPLEMENTED", "nsupported", "ot implemented", "ot supported")
# An encoded protocol buffer that some errors carry behind their text.
_PAYLOAD = re.compile(r"\s*\[type\.googleapis\.com/.*", re.DOTALL)


def read_refusal(text: str) -> Refusal:
    """Sort the message of a compiler's error. The text is kept, without its binary payload."""
    message = _PAYLOAD.sub("", text).strip()
    needed, limit = _sizes(message)
    return Refusal(reason=_reason(message), message=message, needed_bytes=needed, limit_bytes=limit)


def _reason(message: str) -> Reason:
    for reason, words in ((Reason.VMEM, _VMEM), (Reason.HBM, _HBM), (Reason.UNSUPPORTED, _UNSUPPORTED)):
        if any(word in message for word in words):
            return reason
    return Reason.COMPILE_ERROR


def _sizes(message: str) -> tuple[int | None, int | None]:
    for pattern in _NEEDS:
        found = pattern.search(message)
        if found:
            needed, needed_unit, limit, limit_unit = found.groups()
            return _bytes(needed, needed_unit), _bytes(limit, limit_unit)
    return None, None


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit])
