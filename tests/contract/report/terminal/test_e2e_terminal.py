"""What commands show on a terminal; on a pipe they print the same lines as ever."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.report.terminal.terminal_screens import on_screen

TRAIN = """
import sys, time
print("compiling...", end="", flush=True)
time.sleep(0.6)
print(" done")
for step in range(1, 13):
    print(f"RESULT step={step} loss={4 / step:.4f}", flush=True)
    time.sleep(0.1)
sys.stdout.write("no line end")
"""


def test_a_run_on_a_terminal(started: Cli, folder: Path) -> None:
    with on_screen("run", "--", sys.executable, "-c", TRAIN, cwd=folder) as screen:
        screen.until(lambda lines: any(line.startswith("0:0") for line in lines))
        lines = screen.ended()
    assert screen.process.returncode == 0
    start = lines.index("compiling... done")
    assert lines[start + 1 : start + 13] == [f"RESULT step={n} loss={4 / n:.4f}" for n in range(1, 13)]
    assert lines[start + 13] == "no line end"
    assert not any(line.startswith("0:0") for line in lines), "the progress line is gone"


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
    pairs = ("ab", "--axis", "m=a,b", "--pairs", "8", "--seed", "1")
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
        assert any("───" in line for line in lines) or words == ["status"], words
        assert screen.colour(colour[0]) == colour[1]
