"""The Jinja environment of HTML pages: all values are escaped, undefined names refused, None is empty."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def render_html(folder: Path, name: str, values: Mapping[str, Any]) -> str:
    """The text that the package's own template `name` in `folder` makes of the values."""
    return _environment(folder).get_template(name).render(values)


def html_pieces(folder: Path, name: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The same text, piece by piece."""
    return _environment(folder).get_template(name).generate(values)


@functools.cache
def _environment(folder: Path) -> Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: "" if value is None else value,
    )
