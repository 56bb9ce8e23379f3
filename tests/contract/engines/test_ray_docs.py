"""The section about Ray of docs/how-to/clusters.md, typed at a real one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.contract.engines.ray_engine import REPOSITORY, Ray

sys.path.append(str(REPOSITORY / "tests/contract/docs"))

from tests.contract.docs.docs_runner import disagreements


def test_commands_print_what_the_document_says(ray: Ray, tmp_path: Path) -> None:
    document = REPOSITORY / "docs/how-to/clusters.md"
    assert ray.address in document.read_text(encoding="utf-8")
    assert disagreements(document, Path(os.path.realpath(tmp_path)), "ray") == []
