"""The files that are to be kept because prose shows them as pictures."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

_PICTURE = re.compile(r"!\[[^\]\n]*\]\(\s*(?:<([^<>\n]+)>|([^\s()<>]+))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


def patterns_in(texts: Iterable[str]) -> Iterator[str]:
    """A pattern for each file that Markdown shows as a picture, `![caption](loss.png)`; addresses are none."""
    for text in texts:
        for found in pictures_in(text):
            yield glob.escape(found)


def pictures_in(text: str) -> list[str]:
    """The paths of the pictures in a Markdown text."""
    named = (unquote(match[1] or match[2]) for match in _PICTURE.finditer(text))
    return [name.removeprefix("./") for name in named if not _SCHEME.match(name)]
