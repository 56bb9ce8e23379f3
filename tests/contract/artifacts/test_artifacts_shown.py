"""Files that runs left, on the page and behind the live view: nothing in them runs, and a record that
somebody forged leads nowhere."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.contract.artifacts.left_files import ACTIVE_SVG, HTML, PNG, SVG, script
from tests.contract.report.live.live_support import serving
from tests.stored import at

RECORD = Path("logbooks/moe/runs/MOE-000/01/run.json")
COPIES = RECORD.parent / "artifacts"
# Within <img> nothing in a drawing runs.
DRAWN = [f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}" for text in (SVG, ACTIVE_SVG)]


@pytest.fixture
def left(started: Cli, folder: Path) -> Cli:
    """A run that left a picture, one of lines, one with a script, a page and a text."""
    keep = [word for name in ("out/*", "*.svg", "*.html") for word in ("--keep", name)]
    assert started("run", *keep, "--hypothesis", "as ![the loss](out/loss.png)", "--", *script(folder)).code == 3
    return started


def page_of(cli: Cli, folder: Path) -> str:
    assert cli("report", "--out", "site").code == 0
    return (folder / "site/moe.html").read_text()


def forge(folder: Path, **changed: object) -> None:
    """A record that a branch brought: its first file is changed so."""
    record = json.loads(at(folder / RECORD).read_text())
    record["artifacts"][0] |= changed
    at(folder / RECORD).write_text(json.dumps(record))


def test_the_page_shows_pictures_and_runs_nothing(left: Cli, folder: Path) -> None:
    page = page_of(left, folder)
    png = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert f'as <img src="{png}" alt="the loss"' in page, "it stands where the prose has it"
    assert re.findall(r'<img src="([^"]*)"', page) == [png, *DRAWN]
    assert "alert(" not in page
    files = {path.name: path.read_bytes() for path in (folder / "site/moe/artifacts").iterdir()}
    assert sorted(Path(name).suffix for name in files) == [".png", ".txt", ".txt", ".txt", ".txt"]
    assert HTML.encode() in files.values()
    for name in files:
        assert f'href="moe/artifacts/{name}"' in page
    warned = left("report", "--out", "site", "--json")
    assert [Path(path).suffix for path in warned.data["binaries"]] == [".png"]
    assert "moe/artifacts" not in page_without_logs(left, folder)


def test_the_same_picture_of_two_runs_is_shown_once(left: Cli, folder: Path) -> None:
    assert left("run", "--id", "MOE-000", "--keep", "out/loss.png", "--", *script(folder)).code == 3
    page = page_of(left, folder)
    assert page.count("data:image/png;base64,") == 1
    assert page.count(f"{len(PNG)} B, image/png, run") == 2
    assert (folder / "logbooks/moe.md").read_text().count("![out/loss.png](moe/") == 1


def page_without_logs(cli: Cli, folder: Path) -> str:
    assert cli("report", "--out", "bare", "--no-logs").code == 0
    return (folder / "bare/moe.html").read_text()


def test_a_text_leaves_without_what_became_a_secret(
    started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "correct-horse-battery"
    assert started("run", "--", *script(folder, f"echo uses {value} > notes.txt")).code == 3
    assert any(value in path.read_text() for path in at(folder / COPIES).iterdir())
    monkeypatch.setenv("MY_API_KEY", value)
    page_of(started, folder)
    [copy] = (folder / "site/moe/artifacts").iterdir()
    assert copy.read_text() == "uses $MY_API_KEY\n"


@pytest.mark.parametrize(
    "changed",
    [
        {"kept": "../../../../../secret.txt"},
        {"kept": "artifacts/../../../../../../secret.txt"},
        {"kept": "/etc/passwd"},
        {"kept": "artifacts/0123456789abcdef.html"},
        {"sha256": "0" * 64},
    ],
)
def test_a_forged_record_leads_nowhere(left: Cli, folder: Path, changed: dict[str, object]) -> None:
    (folder / "secret.txt").write_text("mine")
    at(folder / COPIES / "0123456789abcdef.html").symlink_to(folder / "secret.txt")
    forge(folder, name="<b>x\x1b[2J</b>](javascript:alert(1))", media_type="text/html", **changed)
    page = page_of(left, folder)
    assert "<b>x" not in page
    assert 'href="javascript' not in page
    assert left("show", "MOE-000").code == left("render").code == 0
    view = (folder / "logbooks/moe.md").read_text()
    assert re.search(r"(?<!\\)\]\(javascript", view) is None
    assert "secret.txt)" not in view
    assert "\x1b" not in view + left("show", "MOE-000").out
    assert left("doctor").code == 1
    written = (path for path in (folder / "site").rglob("*") if path.is_file())
    assert all(path.read_bytes() != b"mine" for path in written)


@pytest.mark.slow
def test_the_live_view_serves_them_closed(left: Cli, folder: Path) -> None:
    with serving(cwd=folder) as served:
        _, page = served.ask("/moe.html")
        links = dict(re.findall(r'href="(moe/artifacts/[^"]*)">([^<]*)<', page))
        assert sorted(links.values()) == ["b.svg", "evil.svg", "notes.txt", "out/loss.png", "page.html"]
        for path, name in links.items():
            assert served.status(f"/{path}", cookie="") == 401
            answer, text = served.ask(f"/{path}", "HEAD" if name.endswith(".png") else "GET")
            assert answer.status == 200
            kind = "image/png" if name.endswith(".png") else "text/plain; charset=utf-8"
            assert answer.headers["content-type"] == kind, name
            assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            assert name != "page.html" or text == HTML
        first = next(iter(links)).rpartition("/")[0]
        for name in ("run.json", "..%2frun.json", "%2e%2e/run.json", "0" * 16 + ".txt"):
            assert served.status(f"/{first}/{name}") == 404
