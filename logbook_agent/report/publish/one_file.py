"""A page with what it links from the report inside, so that one file holds all."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from logbook_agent.report.publish.pages import PublishedFile

# An address in an attribute: not an anchor, and of no other place.
_LINK = re.compile(
    r"""<(?P<tag>a|img)(?P<before>\s[^<>]*?)(?P<name>href|src)="(?P<address>[^"#:?]+)"(?P<after>[^<>]*)>"""
)
# A file that is larger stays out.
FILE_BYTES = 2 * 2**20


def one_file(page: str, files: Mapping[str, PublishedFile]) -> tuple[PublishedFile, list[str]]:
    """The page of this name with every file of the report that it links inside, as an image or to be downloaded; and
    the paths of those that are too large. A link to what is not inside becomes text."""
    left_out: list[str] = []

    def inside(link: re.Match[str]) -> str:
        file = files.get(link["address"])
        if file is None:
            return link[0]
        if len(file.content) > FILE_BYTES or file.media_type == "text/html":
            left_out.extend([file.path] if file.media_type != "text/html" else [])
            return f"<span{link['before']}{link['after']}>"
        data = f"data:{file.media_type};base64,{base64.b64encode(file.content).decode()}"
        saved = f' download="{file.path.rpartition("/")[2]}"' if link["tag"] == "a" else ""
        return f'<{link["tag"]}{link["before"]}{link["name"]}="{data}"{saved}{link["after"]}>'

    text = _LINK.sub(inside, files[page].content.decode())
    return PublishedFile(path=page, content=text.encode()), list(dict.fromkeys(left_out))
