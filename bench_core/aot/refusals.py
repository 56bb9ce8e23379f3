"""What a compiler says when it refuses, as a word and numbers; what makes the case compile, found by trying."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from bench_core.accounting.chips import Chip
from bench_core.aot.targets import AotTarget
from bench_core.blocks.modes import RematMode
from bench_core.harness.case import Case


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


VMEM_FLAG = "xla_tpu_scoped_vmem_limit_kib"
VMEM_STEPS_KIB = (24576, 32768, 50000, 65536, 98304, 131072)
"""Limits that are tried, up to what a TensorCore has. 50000 is the one that the published logbooks use."""

Attempt = Callable[[Case], object]
"""Compiles a case; gives a `Refusal` where that does not work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """`helps` is the flag of ours with which the case compiles, None when none of `tried` did."""

    helps: str | None
    tried: tuple[str, ...]

    def labels(self) -> dict[str, str]:
        labels = {"tried": ", ".join(self.tried)} if self.tried else {}
        return labels | ({"helps": self.helps} if self.helps else {})


def find_remedy(case: Case, refusal: Refusal, target: AotTarget, attempt: Attempt) -> Remedy:
    """Compile variants of `case` until one passes, or none is left that could: more scoped VMEM where that was
    too little, recomputing the experts in the backward pass where HBM was. Each try is a compilation."""
    tried: list[str] = []
    outcome: object = refusal
    while isinstance(outcome, Refusal) and outcome.reason is refusal.reason:
        variant = _variant(case, outcome, target.chip)
        if variant is None:
            return Remedy(helps=None, tried=tuple(tried))
        flag, case = variant
        tried.append(flag)
        outcome = attempt(case)
    return Remedy(helps=tried[-1] if not isinstance(outcome, Refusal) else None, tried=tuple(tried))


def _variant(case: Case, refusal: Refusal, chip: Chip) -> tuple[str, Case] | None:
    """The next thing to try after a refusal of `case`: a flag of ours, and the case with it."""
    if refusal.reason is Reason.VMEM:
        limit_kib = next_limit_kib(case, refusal, chip)
        if limit_kib is None:
            return None
        flags = case.compiler_flags.adding(VMEM_FLAG, str(limit_kib))
        return f"--compiler-flag {VMEM_FLAG}={limit_kib}", replace(case, compiler_flags=flags)
    backward = case.bench_pass.backward
    if refusal.reason is Reason.HBM and backward and case.remat_mode is RematMode.NONE:
        return "--remat-mode expert_mlp", replace(case, remat_mode=RematMode.EXPERT_MLP)
    return None


def next_limit_kib(case: Case, refusal: Refusal, chip: Chip) -> int | None:
    """The least step above the limit that was refused that holds what was needed; None past the core's VMEM.

    The compiler names the first kernel that does not fit, so that a later one may need more.
    """
    given = case.compiler_flags.get(VMEM_FLAG)
    refused = int(given) if given is not None and given.isdigit() else (refusal.limit_bytes or 0) // 1024
    needed = (refusal.needed_bytes or 0) // 1024
    most = (chip.vmem_mib or 0) * 1024
    fitting = (step for step in VMEM_STEPS_KIB if refused < step <= most and needed <= step)
    return next(fitting, None)
