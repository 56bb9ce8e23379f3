"""What commands show on a terminal; on a pipe they print the same lines as ever."""

from __future__ import annotations

from logbook_agent.findings.tables.spec import Column
from logbook_agent.model.series_progress import EffectEstimate, SeriesProgress
from logbook_agent.report.terminal.child_output import ChildOutput
from logbook_agent.report.terminal.drawn_answers import parts
from logbook_agent.report.terminal.progress_lines import series_lines


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


def test_the_live_line_of_a_comparison_fits() -> None:
    name = "int8_with_a_very_long_name_indeed"
    one = EffectEstimate(
        name=name, change=0.0598, low=0.05, high=0.07, least=0.01, outcome="better", interval="95%: 5 to 7%"
    )
    series = SeriesProgress(
        made=8, total=20, what="pairs", is_at_most=True, left_s=240, estimates=(one, one), note="quant_mode=int8"
    )
    for width in (54, 79, 119):
        first, second = series_lines(series, "0:12", width)
        assert max(map(len, (first, second))) <= width
        for part in ("8/20 pairs", "+5.98%", "●", "better", "≤ 4 min left"):
            assert part in first, (width, part)
        assert ("95%: 5 to 7%" in first) == (width > 100)
        assert ("…" in first) == (width < 100), "a name that is cut says so"
        assert "pairs" not in second


def test_a_wide_table_is_drawn_in_parts() -> None:
    columns = [Column(name=f"n{at}", numeric=True) for at in range(9)]
    rows = [["1234567890"] * 9]
    assert parts(columns, rows, 200) == [[*range(9)]]
    assert parts(columns, rows, 80) == [[0, 1, 2, 3, 4, 5], [0, 1, 6, 7, 8]], "79 columns with the mark"
    assert parts(columns, rows, 5) == [[0, at] for at in range(1, 9)]
    assert parts([], [], 80) == [[]]
