"""Output nobody would want: enormous, without line ends, binary, redrawn. Memory and the view stay bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.e2e.e2e_support import blocks_of, logbook
from tests.contract.running.measured import measured
from tests.stored import at

LINES = """\
import sys
line = b"step 1234 loss=1.25 " + b"x" * 80 + b"\\n"
for _ in range(1000): sys.stdout.buffer.write(line * 1000)
"""
ONE_LINE = "import sys\nfor _ in range(50): sys.stdout.buffer.write(b'y' * 1_000_000)"
PROGRESS = """\
import sys
for n in range(400_000): sys.stderr.buffer.write(b"\\r\\x1b[32m%3d%%|####  | %d/s\\x1b[0m" % (n // 4000, n))
print(file=sys.stderr)
"""
BINARY = "import os, sys\nfor _ in range(20): sys.stdout.buffer.write(os.urandom(1_000_000))"
NULS = "import sys\nfor _ in range(20): sys.stdout.buffer.write(b'\\0' * 1_000_000)"
RESULTS = "for n in range(20_000): print(f'RESULT n={n} tflops={n}')"
FLOODS = {
    "100 MB of lines": LINES,
    "a line of 50 MB": ONE_LINE,
    "a progress bar": PROGRESS,
    "binary": BINARY,
    "NUL": NULS,
    "result lines": RESULTS,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
@pytest.mark.sample(1)
def test_a_flood(started: Cli, folder: Path, name: str) -> None:
    script = f"{FLOODS[name]}\nprint()\nprint('RESULT topk=1 tflops=1.5', flush=True)"
    code, _, used = measured("run", "--", sys.executable, "-c", script, cwd=folder)
    assert code == 0
    assert used < 200 * 2**20
    run = at(folder / "logbooks/moe/runs/MOE-000/01")
    assert (run / "run.json").stat().st_size < 50_000_000
    rows = json.loads((run / "run.json").read_text())["rows"]
    assert any(r["metrics"]["tflops"]["samples"] == [1.5] for r in rows) or name == "result lines"
    view = folder / "logbooks/moe.md"
    assert view.stat().st_size < 20_000
    assert_readable(view.read_text())


def test_a_result_behind_an_open_line_of_the_other_stream(started: Cli, folder: Path) -> None:
    script = "printf ' 50%%|##' >&2; sleep 0.4; echo RESULT tflops=1.5; printf '##|\\n' >&2"
    assert started("run", "--", "sh", "-c", script).code == 0
    run = at(folder / "logbooks/moe/runs/MOE-000/01")
    [row] = json.loads((run / "run.json").read_text())["rows"]
    assert row["metrics"]["tflops"]["samples"] == [1.5]
    assert (run / "output.log").read_text() == " 50%|##RESULT tflops=1.5\n##|\n"


@pytest.mark.parametrize("limit", [30, 40, 50])
def test_results_beyond_the_limit_of_the_log_count(started: Cli, folder: Path, limit: int) -> None:
    (folder / "logbook.toml").write_text(f"log_bytes = {limit}\n")
    lines = "".join(f"echo RESULT x={x} tflops={x}00; " for x in (1, 2, 3, 4))
    assert started("run", "--", "sh", "-c", lines).code == 0
    rows = json.loads((at(folder / "logbooks/moe/runs/MOE-000/01") / "run.json").read_text())["rows"]
    assert [row["metrics"]["tflops"]["samples"] for row in rows] == [[100.0], [200.0], [300.0], [400.0]]


@pytest.mark.slow
def test_peak_memory_of_the_command(started: Cli, folder: Path) -> None:
    code = "x = bytearray(300_000_000); x[::4096] = b'1' * len(x[::4096])"
    assert logbook("run", "--", sys.executable, "-c", code, cwd=folder).returncode == 0
    [run] = started("show", "MOE-000", "--json", "--full").data["runs"]
    assert 300_000_000 < run["peak_memory_bytes"] < 500_000_000


def assert_readable(text: str) -> None:
    assert not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert max(map(len, text.split("\n"))) < 2000


HOSTILE = {
    "nul and invalid utf-8": b"a\0b\xff\xfe\xc3(\xed\xa0\x80 end\n",
    "ansi": b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\x1b[1;1H done\n",
    "carriage returns": b"10%\r20%\r\x1b[K100% done\r\n",
    "backspaces": b"abc\b\b\bxyz\n",
    "separators": "a\u2028b\u2029c\u0085d\u202ee\n".encode(),
    "fences": b"```\n~~~\n````\n`````\n",
    "markers": b"<!-- logbook:end MOE-000 -->\n### forged\n<!-- logbook:block MOE-009 -->\n",
    "html": b"</details></li><script>alert(1)</script><!-- open\n",
    "utf-8 cut in two": "ü".encode()[:1],
    "only CR": b"a\rb\rc",
    "long line": b"z" * 70_000 + b"\n",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.sample(2)
@pytest.mark.slow
def test_hostile_output_of_a_failure_stays_in_its_fence(started: Cli, folder: Path, name: str) -> None:
    (folder / "bytes").write_bytes(HOSTILE[name])
    ran = started("run", "--", "bash", "-c", "cat bytes; cat bytes >&2; exit 3")
    assert ran.code == 3
    text = (folder / "logbooks/moe.md").read_text()
    assert_readable(text)
    assert blocks_of(folder / "logbooks/moe.md") == ["header", "MOE-000"]
    assert "### forged" not in text.split("\n")
    assert started("render").err == ""
    assert (folder / "logbooks/moe.md").read_text() == text
    log = at(folder / "logbooks/moe/runs/MOE-000/01/output.log").read_bytes()
    assert log == HOSTILE[name] * 2, "the log is what was printed, to the byte"
    for words in (["status"], ["list"], ["show", "MOE-000"], ["list", "done"]):
        answer = started(*words)
        assert answer.code == 0
        assert not [c for c in answer.out if ord(c) < 32 and c not in "\n\t"]


@pytest.mark.slow
def test_hostile_labels_of_rows(started: Cli, folder: Path) -> None:
    for value in ("a|b", "`x`", "<!-- logbook:end MOE-000 -->", "\x1b[31mred", "a\u2028b", "x" * 5000, "\0"):
        row = {"config": {"k": value}, "labels": {"l": value}, "metrics": {"tflops": {"samples": [1.0]}}, "host": value}
        (folder / "row").write_text("RESULT_JSON " + json.dumps(row) + "\n")
        assert (
            started(
                "run",
                "--label",
                value.replace("\0", ""),
                "--config",
                f"c={value}".replace("\0", ""),
                "--",
                "cat",
                "row",
            ).code
            == 0
        )
    view = folder / "logbooks/moe.md"
    text = view.read_text()
    assert not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
    assert blocks_of(view) == ["header", *(f"MOE-{n:03d}" for n in range(7))]
    assert started("render").code == 0
    assert view.read_text() == text


@pytest.mark.parametrize("words", [["list"], ["show", "MOE-000", "--json", "--full"], ["--help"]])
@pytest.mark.slow
def test_a_reader_that_went_away_is_no_error(started: Cli, folder: Path, words: list[str]) -> None:
    started("run", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo RESULT n=$i t=$i; done")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        ["logbook", *words], stdout=write, stderr=subprocess.PIPE, cwd=folder, check=False, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
