"""The log on disk and its excerpts, in the calling process and under a whole run."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

TOOL = """
import os, sys
from pathlib import Path
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.secrets import Secret
from logbook_agent.store.processes import own_peak_bytes
from logbook_agent.running.launch.process import Job
from logbook_agent.running.results.result_lines import LineSplitter
from logbook_agent.running.launch.output_log import OutputLog
from logbook_agent.running.launch.execute import execute
secrets = (Secret(name="MY_TOKEN", value="correct-horse-battery"),)
path = Path(sys.argv[1])
log = OutputLog(path, Redactor(secrets=secrets), within=path.parent)
lines = LineSplitter()
class Sinks:
    def started(self, pid, create_time): pass
    def output(self, stream, data):
        log.feed(stream, data); lines.feed(data)
    def idle(self):
        log.idle(); print("idle", flush=True)
execute(Job(argv=(sys.executable, "-c", sys.argv[2]), cwd=Path.cwd(), env=dict(os.environ)), Sinks())
output = log.finish()
print(output.bytes, output.lines, output.log_bytes, lines.dropped, len(output.tail[-1]))
print(own_peak_bytes() // 1024)
"""


def tool(log: Path, child: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", TOOL, str(log), textwrap.dedent(child)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


def test_what_was_read_survives_a_kill_of_the_tool(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    process = tool(log, "import time\nfor i in range(50): print('line', i)\nprint('half ', end=''); time.sleep(20)")
    assert process.stdout is not None
    assert process.stdout.readline() == "idle\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=10)
    assert log.read_text() == "".join(f"line {i}\n" for i in range(50)) + "half "


CHILDREN = {
    "lines": ("for i in range(1000): write(b'x tokens=4096 done\\n' * 5000)", 5_000_000),
    "one line": ("for i in range(50): write(b'y' * 1_000_000)\nwrite(b'\\n')", 1),
    "progress": ("for i in range(2000): write(b' 12.5% of all \\r' * 1000)\nwrite(b'done\\n')", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHILDREN)
@pytest.mark.sample(1)
def test_memory_is_bounded(tmp_path: Path, name: str) -> None:
    began = time.monotonic()
    code, printed_lines = CHILDREN[name]
    process = tool(tmp_path / "output.log", f"import sys\nwrite = sys.stdout.buffer.write\n{code}")
    out, _ = process.communicate(timeout=120)
    counts, rss_kib = [line for line in out.splitlines() if line != "idle"]
    total, lines, kept, dropped, last = map(int, counts.split())
    assert total == kept == (tmp_path / "output.log").stat().st_size
    assert total > 28_000_000
    assert lines == printed_lines
    assert last <= 530
    assert dropped == (1 if name == "one line" else 0)
    # Some 25 MB for the interpreter; the result reader may hold a line of 16 MiB, twice while it decodes.
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(rss_kib) * unit < 100_000_000
    assert total / (time.monotonic() - began) > 2_000_000
