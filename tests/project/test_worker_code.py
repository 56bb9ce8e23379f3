"""What another machine gets to make a run: small, and the standard library is all that it needs."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

from logbook_agent.cluster.sent_code import worker_code

# The worker's room, and what lies beside it for the process, the facts and the lines of a run.
ROOM = ("running/worker/", "running/launch/", "running/provenance/", "running/programs.py", "cluster/far")
# Of the rooms below, these files alone: values, the spool, texts and the values of secrets.
LEAVES = {
    *(f"model/{name}.py" for name in ("code", "codec", "errors", "values", "worker_report")),
    *(f"store/{name}.py" for name in ("device_queue", "folder", "json_text", "places", "processes")),
    *(f"store/{name}.py" for name in ("run_files", "spool", "spool_stage")),
    *("text/phrases.py", "text/redaction/known_values.py", "text/redaction/names.py"),
    "running/results/reporting_lines.py",
}
MOST_FILES, MOST_KB = 49, 305


def test_a_worker_is_one_room_and_leaves_below_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(worker_code().tar)) as tar:
        sizes = {entry.name: entry.size for entry in tar}
    names = {name.removeprefix("logbook_agent/") for name in sizes if name.startswith("logbook_agent/")}
    below = {name for name in names if not name.endswith("__init__.py") and not name.startswith(ROOM)}
    assert below == LEAVES
    assert sizes.keys() - {f"logbook_agent/{name}" for name in names} == {"__main__.py", "msgspec.py"}
    assert len(sizes) <= MOST_FILES
    assert sum(sizes.values()) <= MOST_KB * 1000


def test_it_starts_where_there_is_no_package(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(worker_code().tar)) as tar:
        tar.extractall(tmp_path, filter="data")
    made = subprocess.run([sys.executable, "-ISP", tmp_path], capture_output=True, text=True, check=False)
    assert (made.returncode, made.stderr) == (1, "no such call: \n")
