"""The package's own templates, and the sections of a page that they make."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from logbook_agent.findings.best import BestCase
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.model.units import format_value, with_unit
from logbook_agent.text.as_html import is_web, visible
from logbook_agent.text.markdown import cut_line, cut_sentence, escape, lead, one_line
from logbook_agent.text.phrases import counted
from logbook_agent.text.shell_words import assignments
from logbook_agent.text.times import duration, minute

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = Path(__file__).parent / "assets"
# What HTML has no need of: blanks between tags of which the second is that of a block, and ends that follow from what
# comes next.
_BLANKS = re.compile(
    r">\s+(?=</?(?:article|d[dlt]|details|div|fig\w+|h\d|header|li|ol|p|section|summary|t(?:able|body|d|h|head|r)|ul)\b)"
)
_ENDS = re.compile(r"</(?:dd|dt|li|t(?:body|d|h|head|r))>")


class PageSection(Struct, frozen=True, kw_only=True):
    """One element of the page, `<section id=...>` or `<article id=...>`: escaped, without scripts."""

    id: str
    html: str


def section(id: str, name: str, /, **values: object) -> PageSection:
    """The element that a template of the page makes of values."""
    html = visible(render(ASSETS, f"{name}.html.j2", **values)).strip()
    return PageSection(id=id, html=_ENDS.sub("", _BLANKS.sub(">", html)))


def render(folder: Path, template: str, /, **values: object) -> str:
    """The text of a template in `folder`."""
    return _environment(folder).get_template(template).render(values)


def pieces(folder: Path, template: str, /, **values: object) -> Iterator[str]:
    """The same, piece by piece."""
    return _environment(folder).get_template(template).generate(values)


def case_of(best: BestCase) -> dict[str, str]:
    """The config of a best case, first what tells it from others."""
    return {**best.problem, **best.flags, **best.config, **best.apart}


def number(value: float | None) -> str:
    """A value of a curve; one that is not finite is None."""
    return "not finite" if value is None else format_value(value)


@functools.cache
def _environment(folder: Path) -> Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        auto_reload=False,  # else each of thousands of renderings looks at the file
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: "" if value is None else value,
    )
    filters = (assignments, case_of, counted, cut_line, cut_sentence, duration, lead, minute, number, one_line)
    environment.filters |= {one.__name__: one for one in filters} | {"literal": escape}
    environment.globals |= {"answer_lines": answer_lines, "words": words, "with_unit": with_unit}
    environment.tests["web"] = is_web
    return environment
