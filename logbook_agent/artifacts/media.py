"""What a file is by its first bytes, whatever it is called: one of four kinds of pictures, a drawing, a text, or
anything else."""

from __future__ import annotations

import re
from posixpath import splitext

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
SVG, PLAIN, BINARY = "image/svg+xml", "text/plain", "application/octet-stream"
PICTURES = (PNG, JPEG, GIF, WEBP)
# So many bytes from the beginning say what a file is.
HEAD_BYTES = 64 * 1024
_STARTS = ((b"\x89PNG\r\n\x1a\n", PNG), (b"\xff\xd8\xff", JPEG), (b"GIF87a", GIF), (b"GIF89a", GIF))
# Behind a byte order mark, blanks, comments and declarations.
_SVG = re.compile(
    rb"(?:\xef\xbb\xbf|\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE\s+svg[^>\[]*(?:\[.*?\])?\s*>)*<(?:[\w.-]+:)?svg[\s/>]",
    re.S | re.I,
)
_ENDINGS = {PNG: ".png", JPEG: ".jpg", GIF: ".gif", WEBP: ".webp", SVG: ".svg"}
_TEXTS = frozenset([".txt", ".csv", ".tsv", ".json", ".jsonl", ".log", ".md", ".yaml", ".yml", ".toml", ".py", ".sh"])
_ENDING = re.compile(r"\.[a-z0-9]{1,8}", re.ASCII)


def media_type(head: bytes) -> str:
    """The type of a file that begins so."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    if (kind := next((kind for start, kind in _STARTS if head.startswith(start)), None)) is not None:
        return kind
    if b"\0" in head:
        return BINARY
    if _SVG.match(head):
        return SVG
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The end of the head may stand within a character.
        return PLAIN if len(head) >= HEAD_BYTES and error.start >= len(head) - 4 else BINARY
    return PLAIN


def ending(name: str, kind: str) -> str:
    """The ending of a copy: that of its type for pictures, of a text one that no browser runs, else its own, if it is
    plain."""
    own = splitext(name)[1].lower()
    if kind in _ENDINGS:
        return _ENDINGS[kind]
    if kind == PLAIN or own.startswith((".htm", ".xht", ".svg", ".xml", ".mht", ".js", ".mjs")):
        return own if own in _TEXTS else ".txt"
    return own if _ENDING.fullmatch(own) else ""
