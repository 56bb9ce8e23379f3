"""The output of a command as a terminal shows it: nothing in it moves the cursor to where it has no business. The log
keeps every byte."""

from __future__ import annotations

import re

from logbook_agent.text.escapes import obeyed

# Left as it is: colours, erasing within a line, steps of the cursor (bars of several lines), backspace, return.
_OBEYED = obeyed(colours="mKABCD", kept=b"\b")
# A sequence that the next bytes complete.
_BEGUN = re.compile(rb"(?:\x1b(?:\[[0-9;]{0,40})?|\xc2|\xd8|\xe2[\x80\x81]?)\Z")


class ChildOutput:
    """Feed it the bytes of one stream as they come."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> bytes:
        """The bytes that can be shown now."""
        data = self._begun + data
        begun = _BEGUN.search(data)
        self._begun = begun[0] if begun is not None else b""
        return _OBEYED.sub("\ufffd".encode(), data[: len(data) - len(self._begun)])

    def finish(self) -> bytes:
        """What was held back at the end."""
        begun, self._begun = self._begun, b""
        return _OBEYED.sub("\ufffd".encode(), begun)
