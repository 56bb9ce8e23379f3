"""Numbers where an entry cites them: in the view, on the page, in the issue; and hand edits of that view."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

pytestmark = pytest.mark.slow
CITED = '<abbr title="[[MOE-000 tflops]]">12.500 TF/s</abbr>'


def test_prose_shows_the_number_and_keeps_the_citation(started: Cli, folder: Path) -> None:
    assert started("run", "--", "echo", "METRIC tflops=12.5 TF/s").code == 0
    text = "Interpretation=It reaches [[MOE-000 tflops]]; `[[MOE-000 tflops]]` cites it."
    assert started("note", "--title", "T", "--field", text).code == 0
    view, entry = folder / "logbooks/moe.md", folder / "logbooks/moe/entries/MOE-001.yaml"
    line = f"- Interpretation: It reaches {CITED}; `[[MOE-000 tflops]]` cites it."
    assert line in view.read_text()
    assert "It reaches 12.500 TF/s; `[[" in started("show", "MOE-001").out
    assert "It reaches [[MOE-000 tflops]]; `[[" in entry.read_text()
    # An edit by hand goes into the entry without the number.
    view.write_text(view.read_text().replace("It reaches", "It does reach"))
    assert started("render", "--absorb").code == 0
    assert "It does reach [[MOE-000 tflops]]; `[[" in entry.read_text()
    assert f"It does reach {CITED}; `[[" in view.read_text()
    assert started("doctor").code == 0
    # An earlier entry may cite a later one.
    assert started("edit", "MOE-000", "--next", "beat [[MOE-002 tflops]]").code == 0
    assert "beat <abbr" in view.read_text()
    assert started("run", "--", "echo", "METRIC tflops=99 TF/s").code == 0
    assert 'beat <abbr title="[[MOE-002 tflops]]">99.000 TF/s</abbr>' in view.read_text()
    assert started("note", "--title", "Corrected", "--supersedes", "MOE-002").code == 0
    assert "(MOE-002 is superseded by MOE-003)" in view.read_text()
    assert started("doctor").code == 0
    # The number follows the record, as does what became of its entry.
    assert started("run", "--id", "MOE-000", "--", "echo", "METRIC tflops=13.5 TF/s").code == 0
    assert '<abbr title="[[MOE-000 tflops]]">13.000 TF/s</abbr>' in view.read_text(), "the median of both"
    assert started("edit", "MOE-000", "--state", "void", "--reason", "wrong").code == 0
    assert '<abbr title="[[MOE-000 tflops]]">(MOE-000 is void)</abbr>' in view.read_text()
    assert started("doctor").code == 0
    assert started("edit", "MOE-000", "--state", "computed").code == 0
    assert started("sync", "--offline", "out").code == 0
    for name in ("issue.md", "update-01.md"):
        assert "It does reach 13.000 TF/s" in (folder / "out" / name).read_text()
    assert started("report", "--out", "site").code == 0
    assert "It does reach 13.000 TF/s" in (folder / "site/moe.html").read_text()
