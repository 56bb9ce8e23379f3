"""What can go wrong, each with the words a user needs.

    BenchError            message, cause and next step
    ├── UsageError        the request itself is wrong: nothing was run, exit code 2
    └── CaseFailed        one case could not be measured: recorded as failed, the run goes on
        ├── UnsupportedCase   a backend says why it cannot serve the case
        ├── CheckFailed       the outputs differ from the oracle by more than the bound
        └── NonFiniteOutput   the timed iterations left NaN or infinity behind

Running out of memory has no class here: the runtime raises it, and the harness records it.
"""

from collections.abc import Mapping
from typing import ClassVar


class BenchError(Exception):
    """An error that is shown to the user as three lines, without a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, cause: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.hint = hint

    def render(self) -> str:
        """The three lines for stderr: what happened, the likely cause, the next step."""
        return f"error: {self.message}\n  cause: {self.cause}\n  next: {self.hint}"


class UsageError(BenchError):
    """The request cannot be run as it was written."""

    exit_code: ClassVar[int] = 2


def clash(one: str, other: str, cause: str) -> UsageError:
    """The refusal of two flags together."""
    ways = f"leave {one.split()[0]} out, or {other.split()[0]}"
    return UsageError(f"{one} cannot be combined with {other}", cause=cause, hint=ways)


def idle(flag: str, needed: str, cause: str = "") -> UsageError:
    """The refusal of a flag that belongs to another one, `needed`."""
    ways = f"add {needed}, or leave {flag.split()[0]} out"
    return UsageError(f"{flag} changes nothing without {needed}", cause=cause or f"it belongs to {needed}", hint=ways)


class CaseFailed(BenchError):
    """One case failed. `reason` is the word that the record carries, `observations` and `labels` what it states."""

    reason: ClassVar[str] = "failed"

    def __init__(
        self,
        message: str,
        *,
        cause: str,
        hint: str,
        observations: Mapping[str, float] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, cause=cause, hint=hint)
        self.observations, self.labels = observations or {}, labels or {}


class UnsupportedCase(CaseFailed):
    reason: ClassVar[str] = "unsupported"


class CheckFailed(CaseFailed):
    reason: ClassVar[str] = "check_failed"


class NonFiniteOutput(CaseFailed):
    reason: ClassVar[str] = "non_finite_output"
