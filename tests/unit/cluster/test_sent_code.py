"""The code that another machine gets."""

from __future__ import annotations

import ast
import io
import sys
import tarfile

from logbook_agent.cluster.sent_code import worker_code


def test_a_worker_needs_the_standard_library_alone_and_reads_no_results() -> None:
    with tarfile.open(fileobj=io.BytesIO(worker_code().tar)) as tar:
        files = {entry.name: tar.extractfile(entry) for entry in tar}
        found = {name: file.read() for name, file in files.items() if file is not None}
    imported = set[str]()
    for content in found.values():
        for node in ast.parse(content).body:
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {one.name.partition(".")[0] for one in node.names}
    assert imported - sys.stdlib_module_names == {"logbook_agent", "msgspec"}
    assert "msgspec.py" in found
    assert "logbook_agent/running/worker/perform.py" in found
    rooms = {place.split("/")[1] for place in found if place.count("/") > 1}
    assert rooms == {"cluster", "model", "running", "store", "text"}
    assert "logbook_agent/running/results/reader.py" not in found
