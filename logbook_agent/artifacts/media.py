"""What a file is by its first bytes, whatever it is called; and the size of a picture, from its header alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
SVG, HTML, PLAIN, BINARY = "image/svg+xml", "text/html", "text/plain", "application/octet-stream"
# Pictures in which nothing can run.
PICTURES = (PNG, JPEG, GIF, WEBP)
# So many bytes from the beginning say what a file is.
HEAD_BYTES = 64 * 1024
_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"%PDF-", "application/pdf"),
    (b"\x1f\x8b", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
)
_ENDINGS = {PNG: ".png", JPEG: ".jpg", GIF: ".gif", WEBP: ".webp", SVG: ".svg"}
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}", re.ASCII)
# What may stand before the first element of a document: a byte order mark, blanks, comments, declarations.
_BEFORE = re.compile(rb"(?:\xef\xbb\xbf|\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE\s+svg[^>\[]*(?:\[.*?\])?\s*>)", re.S | re.I)
_SVG = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?svg[\s/>]", re.I)
# As browsers find HTML by its content.
_HTML = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|!--|form|img|object)"
    rb"[\s/>-]",
    re.I,
)


def media_type(head: bytes) -> str:
    """The type of a file that begins so. What a browser might take for HTML is `text/html`."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    if b"\0" in head:
        return BINARY
    at = 0
    while (before := _BEFORE.match(head, at)) is not None:
        at = before.end()
    if _SVG.match(head, at):
        return SVG
    if _HTML.match(head.lstrip(b"\xef\xbb\xbf \t\r\n\f")) or _HTML.match(head, at):
        return HTML
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The end of the head may stand within a character.
        return PLAIN if len(head) >= HEAD_BYTES and error.start >= len(head) - 4 else BINARY
    return PLAIN


def ending(name: str, kind: str) -> str:
    """The ending of a copy: that of its type for pictures, `.txt` for what a browser would run, else its own, if it is
    plain."""
    if kind in _ENDINGS:
        return _ENDINGS[kind]
    own = "." + name.rpartition(".")[2] if "." in name.rpartition("/")[2] else ""
    if kind == HTML or own.lower() in (".html", ".htm", ".xhtml", ".svg", ".xml", ".mhtml", ".js", ".mjs"):
        return ".txt"
    return own.lower() if _ENDING.fullmatch(own) else ""


# -- width and height ------------------------------------------------------------------------------


def pixels(data: bytes, kind: str) -> tuple[int, int] | None:
    """Width and height that a picture states; None where they cannot be read."""
    if kind == PNG and data[12:16] == b"IHDR" and len(data) >= 24:
        return _big(data[16:20]), _big(data[20:24])
    if kind == GIF and len(data) >= 10:
        return _little(data[6:8]), _little(data[8:10])
    if kind == WEBP:
        return _of_webp(data)
    return next(_of_jpeg(data), None) if kind == JPEG else None


def _of_webp(data: bytes) -> tuple[int, int] | None:
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        return None
    if kind == b"VP8X":
        return 1 + _little(body[4:7]), 1 + _little(body[7:10])
    if kind == b"VP8L" and body[0] == 0x2F:
        bits = _little(body[1:5])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return _little(body[6:8]) & 0x3FFF, _little(body[8:10]) & 0x3FFF
    return None


def _of_jpeg(data: bytes) -> Iterator[tuple[int, int]]:
    """The size in each start of a frame, of which a file has one."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            yield _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
            return
        if marker == 0xDA:
            return
        at += 2 + max(_big(data[at + 2 : at + 4]), 2)


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
