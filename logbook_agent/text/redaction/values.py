"""Values of known secrets out of a byte stream, before the output of a command reaches a disk. What only a pattern
finds is taken out when the run is taken in."""

from __future__ import annotations

import re

from logbook_agent.text.redaction.redactor import Redactor

# A line that is longer leaves in pieces.
_LINE_BYTES = 256 * 1024


class ValueStream:
    """`feed` what was read; what comes back is safe to write: whole lines, in which each known value is hidden."""

    def __init__(self, redactor: Redactor) -> None:
        forms = {form.encode("utf-8", "surrogatepass"): secret.shown for form, secret in redactor.forms.items()}
        self._shown = {form: shown.encode() for form, shown in forms.items()}
        longest_first = sorted(forms, key=len, reverse=True)
        self._find = re.compile(b"|".join(map(re.escape, longest_first))) if forms else None
        self._pending = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The part of the data, and of what was held back before, that is safe to write now."""
        self._pending += data
        end = self._pending.rfind(b"\n") + 1
        if len(self._pending) - end > _LINE_BYTES:
            return self.flush_idle()
        # No form of a value goes beyond a line.
        return self._taken(end)

    def flush_idle(self) -> bytes:
        """An incomplete line, when nothing has come for a while, up to where a known value may have begun."""
        return self._taken(len(self._pending) - self._begun())

    def finish(self) -> bytes:
        """The rest; a last line may lack its newline."""
        return self._taken(len(self._pending))

    def _begun(self) -> int:
        """How many of the last bytes may be the beginning of a known value."""
        most = 0
        for form in self._shown if self._pending else ():
            tail = bytes(self._pending[1 - len(form) :])
            at = next((at for at in range(len(tail)) if form.startswith(tail[at:])), len(tail))
            most = max(most, len(tail) - at)
        return most

    def _taken(self, end: int) -> bytes:
        data = bytes(self._pending[:end])
        del self._pending[:end]
        return data if self._find is None else self._find.sub(lambda match: self._shown[match[0]], data)
