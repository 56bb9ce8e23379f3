"""`logbook publish`: one file, and a branch that is made and pushed without touching the work tree."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from logbook_agent.model.errors import Rejected
from logbook_agent.report.publish.one_file import FILE_BYTES, one_file
from logbook_agent.report.publish.pages import PublishedFile, check_no_secret
from logbook_agent.text.redaction.redactor import Redactor
from logbook_agent.text.redaction.secrets import Secret
from tests.conftest import Cli


def test_what_a_page_links_is_inside_and_what_is_not_there_is_text() -> None:
    files = {
        "moe/logs/a.txt": PublishedFile(path="moe/logs/a.txt", content=b"said"),
        "moe/a.png": PublishedFile(path="moe/a.png", content=b"\x89PNG"),
        "moe/big.txt": PublishedFile(path="moe/big.txt", content=b"x" * (FILE_BYTES + 1)),
        "index.html": PublishedFile(path="index.html", content=b"<p>"),
    }
    page = (
        '<a href="index.html">All</a><a class="l" href="moe/logs/a.txt">log</a><img src="moe/a.png" alt="a">'
        '<a href="moe/big.txt">big</a><a href="#MOE-000">here</a><a href="https://h.example/x">there</a>'
    )
    made, left_out = one_file(page, files)
    assert left_out == ["moe/big.txt"]
    said = base64.b64encode(b"said").decode()
    assert f'<a class="l" href="data:text/plain;base64,{said}" download="a.txt">log</a>' in made
    assert '<img src="data:image/png;base64,iVBORw==" alt="a">' in made
    assert '<a href="#MOE-000">here</a><a href="https://h.example/x">there</a>' in made
    assert "index.html" not in made


SECRET = "gh" + "p_" + "aB3d" * 9


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("moe/artifacts/a.json", f'{{"token": "{SECRET}"}}'.encode()),
        ("moe.html", f"<p>{SECRET}</p>".encode()),
        ("moe/artifacts/a.bin", b"\x89\xff\0known-by-its-value\0"),
    ],
)
def test_a_secret_is_found_in_every_kind_of_file(path: str, content: bytes) -> None:
    redactor = Redactor(secrets=(Secret(name="MY_TOKEN", value="known-by-its-value"),))
    with pytest.raises(Rejected, match=path):
        check_no_secret([PublishedFile(path=path, content=content)], redactor)


@pytest.mark.slow
def test_a_secret_that_is_left_stops_it(started: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the pages had let one through."""
    monkeypatch.setattr("logbook_agent.report.page.document._safe", lambda text: text + SECRET)
    answer = started("publish", "--file", "moe.html", "--json")
    assert (answer.code, answer.error["code"]) == (4, "rejected")
    assert not (folder / "moe.html").exists()
