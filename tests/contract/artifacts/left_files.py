"""A command that leaves files: a picture, a text that it names, one of lines, and a page with a script."""

from __future__ import annotations

import base64
from pathlib import Path

# One pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'><circle r='4'/></svg>"
ACTIVE_SVG = "<svg xmlns='http://www.w3.org/2000/svg' onload='document.title=1'><script>alert(1)</script></svg>"
HTML = "<!doctype html><title>x</title><script>alert(2)</script>"


def script(folder: Path, more: str = "true") -> tuple[str, ...]:
    """The words of the command, which ends with 3; what it copies lies in a folder beside the one it runs in."""
    ready = folder.parent / "ready"
    (ready / "out").mkdir(parents=True, exist_ok=True)
    (ready / "out/loss.png").write_bytes(PNG)
    (ready / "b.svg").write_text(SVG)
    (ready / "evil.svg").write_text(ACTIVE_SVG)
    (ready / "page.html").write_text(HTML)
    (ready / "notes.txt").write_text("lr=0.1\n")
    body = f"cp -r {ready}/. .; {more}; echo RESULT tflops=1.5; echo ARTIFACT notes.txt; exit 3"
    return "sh", "-c", body
