"""What commands show on a terminal; on a pipe they print the same lines as ever."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from logbook_agent.findings.tables.spec import Column
from logbook_agent.model.series_progress import EffectEstimate, SeriesProgress
from logbook_agent.report.terminal.child_output import ChildOutput, StepRate, folded, step_of
from logbook_agent.report.terminal.drawn_answers import parts
from logbook_agent.report.terminal.progress_lines import effect_bar, progress_line, series_lines
from tests.conftest import Cli
from tests.report.terminal.terminal_screens import on_screen

LONG = "RESULT_JSON " + '{"config": {"hidden": 64}, "metrics": {"tflops": {"samples": [' + "1.25, " * 200 + "1.25]}}}"


def child_output(*pieces: bytes, width: int = 60) -> list[bytes]:
    """What is shown of each piece, and at the end."""
    shown = ChildOutput(lambda kind, body, line: folded(kind, body, line, width))
    return [*map(shown.feed, pieces), shown.finish()]


def test_long_machine_lines_are_folded() -> None:
    whole = child_output(f"a\n{LONG}\nRESULT tflops=2\nb".encode())
    assert whole == [b"a\nRESULT_JSON hidden=64 tflops=1.25 \xe2\x80\xa6 (1.3 KiB)\nRESULT tflops=2\nb", b""]
    parts = child_output(b"RES", b"ULT_JS", LONG[9:].encode(), b"\nRESULTS are in", b" R\nMETR", b"O")
    assert parts[:3] == [b"", b"", b""]
    assert parts[3] == whole[0][2:].partition(b"RESULT ")[0] + b"RESULTS are in"
    assert parts[4:] == [b" R\n", b"METRO", b""]
    assert child_output(b"RESULT no end") == [b"", b"RESULT no end"]
    endless = child_output(b"RESULT x=" + b"1" * (1 << 20), b"11", b"1\nnext\n")
    assert endless[0].startswith(b"RESULT x=1111")
    assert endless[0].endswith(b"bytes)\n")
    assert endless[1:] == [b"", b"next\n", b""]


def test_a_command_cannot_take_the_terminal_over() -> None:
    kept = b"\x1b[31mred\x1b[0m 10%\r20%\x1b[K\x1b[A\n"
    assert child_output(kept)[0] == kept
    for bad in (b"\x1b[2J", b"\x1b]0;t\x07", b"\x1b[?1049h", b"\x0e", b"\xc2\x9b2J", b"\xe2\x80\xaeend"):
        for pieces in ((bad,), *((bad[:at], bad[at:]) for at in range(1, len(bad)))):
            shown = b"".join(child_output(*pieces))
            assert b"\xef\xbf\xbd" in shown, (bad, pieces)
            assert not any(part in shown for part in (bad, b"\x1b", b"\x0e")), (bad, pieces)
    assert b"".join(child_output("é…→".encode()[:4], "é…→".encode()[4:])).decode() == "é…→"


def test_steps_and_their_rate() -> None:
    assert step_of("METRIC", "loss=3.87 step=600") == (600, {"loss": 3.87})
    assert step_of("RESULT", "step=7 loss=0.5 phase=warm") == (7, {"loss": 0.5})
    assert step_of("RESULT_JSON", '{"step": 3, "metrics": {"loss": 2}}') == (3, {"loss": 2.0})
    assert step_of("RESULT_JSON", '{"config": {"step": 3}, "metrics": {"loss": 2}}') is None
    assert (
        step_of("RESULT", "steps=3 tflops=2") is step_of("RESULT", "step=x") is step_of("RESULT_JSON", "{step") is None
    )
    rate = StepRate()
    assert rate.text() == ""
    for second in range(5):
        rate.add(second * 20, {"loss": 4 - second}, now=float(second))
    assert rate.text() == "step 80  loss 0  20 steps/s"


def test_the_bar_of_an_effect() -> None:
    assert effect_bar(None, None, None, 0.01, 17) == "····┊···│···┊····"
    left, right = effect_bar(-0.05, -0.06, -0.04, 0.01, 21), effect_bar(0.05, 0.04, 0.06, 0.01, 21)
    assert left == right[::-1]
    assert right.index("│") == 10 < right.index("┊", 10) < right.index("━") < right.index("●")
    assert effect_bar(0.02, -3.0, 4.0, 0.01, 21)[0::20] == "←→"


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


TRAIN = f"""
import sys, time
print("compiling...", end="", flush=True)
time.sleep(0.6)
print(" done")
print({LONG!r})
for step in range(1, 13):
    print(f"RESULT step={{step}} loss={{4 / step:.4f}}", flush=True)
    time.sleep(0.05)
sys.stdout.write("no line end")
"""


def test_a_run_on_a_terminal(started: Cli, folder: Path) -> None:
    with on_screen("run", "--", sys.executable, "-c", TRAIN, cwd=folder) as screen:
        screen.until(lambda lines: any("step " in line and "loss" in line for line in lines))
        lines = screen.ended()
    assert screen.process.returncode == 0
    start = lines.index("compiling... done")
    assert lines[start + 1] == "RESULT_JSON hidden=64 tflops=1.25 … (1.3 KiB)"
    assert lines[start + 2] == "no line end"
    assert lines[start + 3].startswith("step 12  loss 0.3333")
    assert "12 lines of steps folded" in "".join(lines[start + 3 : start + 5])
    assert not any("KiB |" in line for line in lines), "the progress line is gone"
    assert (folder / "logbooks/moe/runs/MOE-000/01/output.log").read_text().count("step=") == 12


def test_a_step_that_is_config_is_a_case_on_a_terminal_too(started: Cli, folder: Path) -> None:
    with on_screen("run", "--", "sh", "-c", "echo $0 step=$2 tflops=1", "RESULT", "--step", "3", cwd=folder) as screen:
        lines = screen.ended()
    assert lines[0] == "RESULT step=3 tflops=1", lines
    assert not any("lines of steps folded" in line for line in lines)


AB = ("ab", "--axis", "m=a,b", "--max-pairs", "40", "--", "sh", "-c")


def test_ctrl_z_and_ctrl_c_leave_a_clean_terminal(started: Cli, folder: Path) -> None:
    with on_screen(*AB, "sleep 0.3; echo RESULT tflops=$(date +1.%N)", "{axis}", cwd=folder) as screen:
        screen.until(lambda lines: any("m=" in line and "0/40 pairs" in line for line in lines))
        screen.until(lambda lines: any("/40 pairs" in line and "●" in line for line in lines))
        screen.process.send_signal(signal.SIGTSTP)
        os.waitpid(screen.process.pid, os.WUNTRACED)
        screen.until(lambda lines: not any("pairs" in line for line in lines))
        screen.resize(60)
        screen.process.send_signal(signal.SIGCONT)
        lines = screen.until(lambda lines: any("/40 pairs" in line for line in lines))
        assert sum("/40 pairs" in line for line in lines) == 1, lines
        screen.process.send_signal(signal.SIGINT)
        lines = screen.ended()
    assert screen.process.returncode == 130
    assert not any("●" in line or "/40 pairs" in line for line in lines), (lines, screen.raw)
    assert any("stopped: interrupted after" in line for line in lines)


@pytest.fixture
def compared(started: Cli) -> Cli:
    """A logbook with a comparison that is settled, and an entry that failed."""
    script = "case $1 in a) echo RESULT tflops=10.0$(date +%N);; b) echo RESULT tflops=20.0$(date +%N);; esac"
    pairs = ("ab", "--axis", "m=a,b", "--repeat", "8", "--seed", "1")
    assert started(*pairs, "--", "sh", "-c", script, "x", "{axis}").code == 0
    assert started("run", "--", "false").code == 1
    return started


def test_answers_are_drawn_on_a_terminal_and_printed_elsewhere(compared: Cli, folder: Path) -> None:
    for words, environ, colour in (
        (["status"], {"NO_COLOR": "1"}, ("b has", "green")),
        (["list"], {"TERM": "dumb"}, ("failed", "red")),
        (["table"], {"NO_COLOR": "1"}, ("20.0", "default")),
        (["compare", "MOE-000"], {"TERM": "dumb"}, ("b has", "green")),
    ):
        plain = compared(*words).out
        assert not {"\x1b", "─"} & {*plain}
        with on_screen(*words, cwd=folder, columns=200, **environ) as screen:
            screen.ended()
        assert screen.raw.decode().replace("\r\n", "\n") == plain, (words, environ)
        with on_screen(*words, cwd=folder) as screen:
            lines = screen.ended()
        assert any("───" in line for line in lines), words
        assert screen.colour(colour[0]) == colour[1]


def test_progress_line() -> None:
    assert progress_line(5.9, None, 0, 80) == "0:05 | 0 B"
    assert progress_line(65, "RESULT a=1", 3_565_158, 80) == "1:05 | 3.4 MiB | RESULT a=1"
    assert progress_line(3725, "a\tb\x1b", 1023, 80) == "1:02:05 | 1023 B | a b "
    assert progress_line(65, "RESULT " + "x" * 99, 2048, 20) == "1:05 | 2.0 KiB | RE…"
    assert progress_line(65, None, 0, 0) == ""
