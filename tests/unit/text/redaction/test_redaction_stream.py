"""Byte streams: the same result whatever the chunks, nothing secret at any boundary, bounded memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logbook_agent.text.redaction.names import Secret
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.stream import StreamRedactor
from tests.breadth import examples

KNOWN = "known secret/value"
TOKEN = "gh" + "p_" + "Aa0Bb1Cc2Dd3Ee4Ff5Gg6Hh7Ii8Jj9Kk0Ll1"
KEY = "-----BEGIN PRI" + "VATE KEY-----\nMIIEpAIBAAKCAQEA0abcdefgh\nabcd+/efgh==\n-----END PRI" + "VATE KEY-----\n"
HIDDEN = [KNOWN, TOKEN, "MIIEpAIBAAKCAQEA0abcdefgh", "hunter2-hunter2", "very-private-word"]
SAFE = Redactor(secrets=(Secret(name="KNOWN", value=KNOWN),))
PIECES = [
    *(KNOWN, TOKEN, KEY, " --password hunter2-hunter2 ", "https://me:very-private-word@host/", "\n", "\n", " ", "\r"),
    *("step 1 loss 3.2 tokens=4096\n", "50%", "\x1b[31m", "\x00\xff", "x" * 40, '"DB_SECRET": "hunter2-hunter2"'),
]


def stream(chunks: list[bytes], line_bytes: int = 65536) -> bytes:
    redactor = StreamRedactor(SAFE, line_bytes=line_bytes)
    return b"".join([*(redactor.feed(c) for c in chunks), redactor.finish()])


def chunked(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted(min(c, len(data)) for c in cuts)
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


DATA = st.lists(st.sampled_from(PIECES), max_size=12).map(lambda p: "".join(p).encode("latin-1"))
CUTS = st.lists(st.integers(0, 600), max_size=10)


@examples(300)
@given(DATA, CUTS)
@pytest.mark.slow
def test_chunks_change_nothing_and_hide_nothing(data: bytes, cuts: list[int]) -> None:
    whole = stream([data])
    assert stream(chunked(data, cuts)) == whole
    assert not [h for h in HIDDEN if h.encode() in whole]


@examples(300)
@given(DATA, CUTS)
@pytest.mark.slow
def test_flushing_an_incomplete_line_lets_no_secret_through(data: bytes, cuts: list[int]) -> None:
    redactor = StreamRedactor(SAFE)
    out = b""
    for chunk in chunked(data, cuts):
        out += redactor.feed(chunk) + redactor.flush_idle()
    out += redactor.finish()
    assert not [h for h in HIDDEN if h.encode() in out]
    if not any(h.encode() in data for h in HIDDEN):
        assert out == data


@examples(60)
@given(st.integers(0, 20_000), st.sampled_from(PIECES[:5]), st.sampled_from(["x", "x ", "=", "a\xe9"]), CUTS)
@pytest.mark.slow
def test_long_lines_hide_secrets_at_any_place(at: int, secret: str, filler: str, cuts: list[int]) -> None:
    before = (filler * 20_000)[:at] + " "
    data = (before + secret.replace("\n", "\\n") + " " + filler * 12_000).encode("latin-1")
    out = stream(chunked(data, [c * 60 for c in cuts]), line_bytes=16384)
    assert stream([data], line_bytes=16384) == out
    assert not [h for h in HIDDEN if h.encode() in out]
    assert out.startswith(before.encode("latin-1"))
    assert len(data) - len(out) < 200


def test_idle_flush_shows_what_is_safe() -> None:
    redactor = StreamRedactor(SAFE)
    assert redactor.feed(b"Proceed? [y/N] ") == b""
    assert redactor.flush_idle() == b"Proceed? [y/N] "
    # A name has been said: the line is shown when it has ended.
    assert redactor.feed(b"signin --password ") == b""
    assert redactor.flush_idle() == b""
    assert redactor.feed(b"hunter2\nrest \n") == b"signin --password [redacted:password]\nrest \n"
    assert redactor.feed(b"all known ") == b""
    assert redactor.flush_idle() == b""
    assert redactor.feed(b"words") == b""
    assert redactor.finish() == b"all known words"


def test_what_was_shown_is_not_shown_again() -> None:
    redactor = StreamRedactor(SAFE)
    shown = [redactor.feed(b"Sign in as me, "), redactor.flush_idle(), redactor.feed(b"my password is: hunter2-h\n")]
    assert shown == [b"", b"Sign in as me, ", b"my password is: [redacted:password]\n"]
