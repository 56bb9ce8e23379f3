"""Every error a user can meet, and the exit code that goes with it.

LogbookError                 1  checked, and does not hold
├── UsageError               2  nothing was done
│   ├── NotFound                an ID, logbook, label or file that does not exist
│   └── Taken                   a topic, prefix or ID that exists already
├── StoreError               3  the logbook on disk cannot be read or written
│   └── RecordError             one record is malformed; says which file and where in it
├── RemoteError              4  the issue tracker refused or could not be reached
└── ToolError              125  `run` itself failed
    ├── NotExecutable      126  found, but not executable
    └── CommandNotFound    127  not found

A message has three parts: what happened, the likely cause, and the next command to type.
"""

from __future__ import annotations


class LogbookError(Exception):
    """What happened; `cause` says why, `hint` what to type next; `code` is stable for machines."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, cause: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.hint = hint


class UsageError(LogbookError):
    code = "usage"
    exit_code = 2


class NotFound(UsageError):
    code = "not_found"


class Taken(UsageError):
    code = "taken"


class StoreError(LogbookError):
    code = "store"
    exit_code = 3


class RecordError(StoreError):
    """`line`: where in the file the trouble is, when that is known."""

    code = "record"
    line: int | None = None


class RemoteError(LogbookError):
    code = "remote"
    exit_code = 4


class ToolError(LogbookError):
    code = "tool"
    exit_code = 125


class NotExecutable(ToolError):
    code = "not_executable"
    exit_code = 126


class CommandNotFound(ToolError):
    code = "command_not_found"
    exit_code = 127
