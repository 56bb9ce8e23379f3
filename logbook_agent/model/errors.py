"""Every error a user can meet, and the exit code that goes with it.

LogbookError                 1  checked, and does not hold
├── UsageError               2  nothing was done
│   ├── NotFound                an ID, logbook, label or file that does not exist
│   ├── Taken                   a topic, prefix or ID that already exists
│   └── BudgetSpent             the logbook allows no further run
├── StoreError               3  the logbook on disk cannot be read or written
│   ├── RecordError             one record is malformed; says which file and where in it
│   └── Locked                  another process or worktree has it
├── RemoteError              4  the issue tracker refused or could not be reached
│   ├── Unreachable             no answer, or one that says nothing; the next sync may succeed
│   ├── AnswerLost              a write was sent and no answer came: it may or may not have been applied
│   ├── RateLimited             refused for now and not applied; says how long to wait when that is known
│   ├── NoToken                 no token for this host
│   ├── BadToken                401: the host does not know the token
│   ├── Forbidden               403: the token may not do this
│   ├── IssueMissing            404 or 410: not there, deleted, or not visible to the token
│   ├── IssueMoved              the issue was transferred to another repository
│   ├── IssueLocked             the conversation is locked
│   ├── MarkersDamaged          the block of the issue's body has lost a marker, or has one twice
│   ├── Rejected                422, or what came back is not what was sent
│   └── SyncRunning             another sync of this clone is under way
└── ToolError              125  `run` itself failed
    ├── NotExecutable      126  found, but not executable
    └── CommandNotFound    127  not found

A message has three parts: what happened, the likely cause, and the next command to type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping


class LogbookError(Exception):
    """What happened; `cause` says why, `hint` what to type next; `code` is stable for machines."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, cause: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.hint = hint

    @property
    def said(self) -> str:
        """The message with its cause, on one line."""
        return self.message + (f" ({self.cause})" if self.cause else "")

    def reword(self, message: str) -> None:
        """Replace the message, for a caller that knows more."""
        self.message = message
        self.args = (message,)

    def redact(self, clean: Callable[[str], str]) -> bool:
        """Put all three texts through `clean`; whether that changed one."""
        before = (self.message, self.cause, self.hint)
        self.reword(clean(self.message))
        self.cause, self.hint = clean(self.cause), clean(self.hint)
        return before != (self.message, self.cause, self.hint)


class UsageError(LogbookError):
    code = "usage"
    exit_code = 2


class NotFound(UsageError):
    code = "not_found"


class Taken(UsageError):
    code = "taken"


class BudgetSpent(UsageError):
    code = "budget-spent"


class StoreError(LogbookError):
    code = "store"
    exit_code = 3


class RecordError(StoreError):
    """`line`: where in the file the trouble is, when that is known."""

    code = "record"
    line: int | None = None


class Locked(StoreError):
    """`holder`: who holds it, in words."""

    code = "locked"

    def __init__(self, message: str, *, holder: str, cause: str = "", hint: str = "") -> None:
        super().__init__(message, cause=cause, hint=hint)
        self.holder = holder


class RemoteError(LogbookError):
    code = "remote"
    exit_code = 4


class Unreachable(RemoteError):
    code = "unreachable"


class AnswerLost(RemoteError):
    code = "answer_lost"


class RateLimited(RemoteError):
    """`wait_s`: what the server asked to wait for, None when it did not say; nothing was applied."""

    code = "rate_limited"

    def __init__(self, message: str, *, wait_s: float | None = None, cause: str = "", hint: str = "") -> None:
        super().__init__(message, cause=cause, hint=hint)
        self.wait_s = wait_s


class NoToken(RemoteError):
    code = "no_token"


class BadToken(RemoteError):
    code = "bad_token"


class Forbidden(RemoteError):
    code = "forbidden"


class IssueMissing(RemoteError):
    code = "issue_missing"


class IssueMoved(RemoteError):
    """`url`: where people find it now, when the host said so."""

    code = "issue_moved"
    url: str | None = None


class IssueLocked(RemoteError):
    code = "issue_locked"


class MarkersDamaged(RemoteError):
    code = "markers_damaged"


class Rejected(RemoteError):
    code = "rejected"


class SyncRunning(RemoteError):
    code = "sync_running"


class ToolError(LogbookError):
    code = "tool"
    exit_code = 125


class NotExecutable(ToolError):
    code = "not_executable"
    exit_code = 126


class CommandNotFound(ToolError):
    code = "command_not_found"
    exit_code = 127


def exclusive(options: Mapping[str, object], *, cause: str, hint: str = "leave one of them out") -> None:
    """Raises UsageError if more than one of these options is given: neither None, False nor an empty list."""
    given = [name for name, value in options.items() if not (value is None or value is False or value in ([], ()))]
    if len(given) > 1:
        names = f"{', '.join(given[:-1])} and {given[-1]}"
        raise UsageError(f"{names} cannot be used together", cause=cause, hint=hint)
