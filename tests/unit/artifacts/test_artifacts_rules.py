"""Which paths may be kept, and what a file is by its bytes."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from logbook_agent.artifacts.media import BINARY, PLAIN, SVG, ending, media_type
from logbook_agent.running.worker.left_files import NotAllowed, place_of

NOT_BELOW = "it is not below the working folder of the command"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it names no file"),
        ("/top/", "it names no file"),
        ("../loss.png", NOT_BELOW),
        ("out/../../loss.png", NOT_BELOW),
        ("/top/../etc/passwd", NOT_BELOW),
        ("/etc/passwd", NOT_BELOW),
        ("/topper/loss.png", NOT_BELOW),
        ("a\x1b[2J.png", "its name has control characters"),
        ("a\u202egnp.exe", "its name has control characters"),
        ("a\0.png", "its name has control characters"),
        ("a\udcff.png", "its name is not UTF-8"),
        ("a" * 501, "its path has more than 500 characters"),
    ],
)
def test_paths_that_may_not(text: str, why: str) -> None:
    with pytest.raises(NotAllowed, match=f"^{why}$"):
        place_of(text, "/top")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_picture_is_known_by_its_bytes(form: str) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (371, 83), (200, 30, 40)).save(buffer, form)
    assert media_type(buffer.getvalue()) == f"image/{form.lower()}"


@pytest.mark.parametrize(
    ("data", "kind", "copied_as"),
    [
        (b"lr=0.1\n", PLAIN, ".txt"),
        ("größe".encode(), PLAIN, ".txt"),
        (b"", PLAIN, ".txt"),
        (b"\xff\xfe\x00\x01", BINARY, ".png"),
        (b"gr\xf6\xdfe", BINARY, ".png"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", SVG, ".svg"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- x --><!DOCTYPE svg PUBLIC 'a' 'b'><svg>", SVG, ".svg"),
        (b"<!DOCTYPE svg [<!ENTITY a 'b'>]><s:svg xmlns:s='x'>", SVG, ".svg"),
        (b"  <!doctype html><p>", PLAIN, ".txt"),
        (b"<SCRIPT>alert(1)</SCRIPT>", PLAIN, ".txt"),
        (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", PLAIN, ".txt"),
        (b"<!-- x --><iframe src=x>", PLAIN, ".txt"),
        (b"%PDF-1.7", PLAIN, ".txt"),
    ],
)
def test_its_name_does_not_say_what_a_file_is(data: bytes, kind: str, copied_as: str) -> None:
    assert media_type(data) == kind
    assert ending("x.png", kind) == copied_as
    # No copy has an ending that a browser runs.
    assert {ending(name, PLAIN) for name in ("x.html", "x.HTM", "x.svg", "x.xhtml", "x.xml", "x.js")} == {".txt"}
