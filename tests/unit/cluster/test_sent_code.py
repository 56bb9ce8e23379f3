"""The code that another machine gets."""

from __future__ import annotations

import ast
import sys

from logbook_agent.cluster.sent_code import worker_code


def test_a_worker_needs_the_standard_library_alone_and_reads_no_results() -> None:
    found = worker_code().contents
    imported = set[str]()
    for content in found.values():
        for node in ast.parse(content).body:
            if isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {one.name.partition(".")[0] for one in node.names}
    assert imported - sys.stdlib_module_names == {"logbook_agent"}
    assert "logbook_agent/running/worker/perform.py" in found
    rooms = {place.split("/")[1] for place in found if place.count("/") > 1}
    assert rooms == {"artifacts", "cluster", "model", "running", "store", "text"}
    assert "logbook_agent/running/results/reader.py" not in found
