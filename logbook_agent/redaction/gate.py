"""A cheap scan over many lines at once: which of them need the rules at all.

Ordinary output has to pass at tens of megabytes a second, and a pattern with alternatives is too slow for
that. So each trigger is a literal, looked for by substring search, and a pattern that begins with the literal
and runs only where the literal occurs. The scan works on lower-cased bytes. It must flag every line that the
rules would change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from logbook_agent.redaction import names

# After a name: what makes a value follow. Names may go on, quotes may close.
_VALUE = rb"""[a-z0-9_.-]{0,127}(?:\\?["'])?\s{0,8}[:=]"""

# The same where the name must end there.
_END = rb"""(?:\\?["'])?\s{0,8}[:=]"""


def _after(owners: Iterable[str], word: bytes) -> bytes:
    """Behind `word`: that it follows one of the owners, with or without a separator."""
    befores = sorted(o.lower().encode() for o in owners)
    return b"(?:" + b"|".join(rb"(?<=%s%s)|(?<=%s[_.-]%s)" % (o, word, o, word) for o in befores) + b")"


_TOKEN = rb"(?!s(?![a-z])|iz)"
_KEY = _after(names.KEY_KINDS, b"key")
_PASS = _after(names.PASS_OWNERS, b"pass")
# The words of a secret-looking name, for the names of flags.
_WORDS = rb"(?:token%s|key%s|pass%s|pass(?:w|phrase)|pat(?![a-z])|auth(?!or|entic)|%s)" % (
    _TOKEN,
    _KEY,
    _PASS,
    b"secret|credential|jwt|bearer|pwd",
)

# As few as can be: each costs a pass over the output.
_TRIGGERS: tuple[tuple[bytes, bytes], ...] = (
    (b"private key", rb""),
    (b"gh", rb"[pousr]_[a-z0-9]{16}"),
    (b"glpat-", rb""),
    (b"hf_", rb"[a-z0-9]{16}"),
    (b"sk-", rb"[a-z0-9_-]{12}"),
    (b"xox", rb"[a-z][.-]"),
    (b"hooks.slack.com/", rb""),
    (b"akia", rb"[a-z0-9]{16}"),
    (b"asia", rb"[a-z0-9]{16}"),
    (b"aiza", rb"[a-z0-9_-]{30}"),
    (b"ya29.", rb""),
    (b"npm_", rb"[a-z0-9]{30}"),
    (b"pypi-", rb"[a-z0-9_-]{16}"),
    (b"k_live_", rb""),
    (b"eyj", rb"[a-z0-9_-]{8}"),
    (b"://", rb"""[^\s/"'<>`\\]+@"""),
    (b"bearer", rb""),
    (b"wandb", rb"\s{1,8}login"),
    (b"token", _TOKEN + _VALUE),
    (b"secret", _VALUE),
    (b"pass", rb"(?:(?:w|phrase)" + _VALUE + rb"|" + _PASS + _END + rb")"),
    (b"key", _KEY + _VALUE),
    (b"auth", rb"(?:orization|(?!or|entic)" + _VALUE + rb")"),
    (b"credential", _VALUE),
    (b"jwt", _VALUE),
    (b"pwd", _END),
    (b"pat", rb"(?:(?<=github_pat)_|(?<=[a-z0-9_.-]pat)" + _END + rb")"),
    (b"--", rb"(?=[a-z])[a-z0-9_.-]{0,63}?" + _WORDS + rb"[a-z0-9_.-]{0,63}\s"),
)

# In a line that is not complete, even the start of a trigger counts.
_STARTS: tuple[bytes, ...] = (b"-----", *(literal for literal, _ in _TRIGGERS if literal != b"private key"))


class Gate:
    """The triggers, and the known secrets (`needles`) and names that one redactor adds to them."""

    def __init__(self, needles: Sequence[bytes] = (), extra_names: Iterable[str] = ()) -> None:
        self._needles = tuple(needles)
        extra = tuple((n.lower().encode(), _END) for n in extra_names)
        self._triggers = tuple((lit, re.escape(lit) + rest) for lit, rest in _TRIGGERS + extra)
        self._starts = _STARTS + tuple(literal for literal, _ in extra)

    def flags(self, data: bytes) -> bool:
        """Whether any line of the data may need redaction."""
        low = data.lower()
        return any(n in data for n in self._needles) or any(
            literal in low and _compiled(pattern).search(low) for literal, pattern in self._triggers
        )

    def flagged_lines(self, block: bytes) -> list[int]:
        """Where the lines start that may need redaction, ascending; `block` is whole lines."""
        low = block.lower()
        starts: set[int] = set()
        for literal, pattern in self._triggers:
            if literal not in low:
                continue
            at, search = 0, _compiled(pattern).search
            while at >= 0 and (m := search(low, at)) is not None:
                at = _mark_line(block, m.start(), starts)
        for needle in self._needles:
            at = 0
            while at >= 0 and (at := block.find(needle, at)) >= 0:
                at = _mark_line(block, at, starts)
        return sorted(starts)

    def first_start(self, data: bytes) -> int:
        """Where the first thing stands that may become part of a secret by its shape; else the length."""
        low = data.lower()
        return min((i for s in self._starts if (i := low.find(s)) >= 0), default=len(data))


@functools.cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


def _mark_line(block: bytes, at: int, starts: set[int]) -> int:
    """Notes the line around `at`; returns where the next one starts, or -1."""
    starts.add(block.rfind(b"\n", 0, at) + 1)
    end = block.find(b"\n", at)
    return -1 if end < 0 else end + 1
