"""What commands show on a terminal; on a pipe they print the same lines as ever."""

from __future__ import annotations

from logbook_agent.report.terminal.terminal_displays import ChildOutput


def child_output(*pieces: bytes) -> list[bytes]:
    """What is shown of each piece, and at the end."""
    shown = ChildOutput()
    return [*map(shown.feed, pieces), shown.finish()]


def test_a_command_cannot_take_the_terminal_over() -> None:
    kept = b"\x1b[31mred\x1b[0m 10%\r20%\x1b[K\x1b[A\n"
    assert child_output(kept)[0] == kept
    for bad in (b"\x1b[2J", b"\x1b]0;t\x07", b"\x1b[?1049h", b"\x0e", b"\xc2\x9b2J", b"\xe2\x80\xaeend"):
        for pieces in ((bad,), *((bad[:at], bad[at:]) for at in range(1, len(bad)))):
            shown = b"".join(child_output(*pieces))
            assert b"\xef\xbf\xbd" in shown, (bad, pieces)
            assert not any(part in shown for part in (bad, b"\x1b", b"\x0e")), (bad, pieces)
    assert b"".join(child_output("é…→".encode()[:4], "é…→".encode()[4:])).decode() == "é…→"
