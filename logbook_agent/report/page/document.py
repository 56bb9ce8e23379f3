"""The pages as HTML files: that of a logbook, and the index over all; and the templates that their sections are made
of. Styles and scripts are inside, and a policy lets nothing else run, load or be asked for."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup
from msgspec import Struct

from logbook_agent.findings.best import BestCase
from logbook_agent.findings.comparison import answer_lines, words
from logbook_agent.findings.read import Findings
from logbook_agent.model.units import format_value, with_unit
from logbook_agent.pages.templates import compiled_folder, keep_compiled
from logbook_agent.report.figures.elements import PAGE, rules
from logbook_agent.store.folder import Folder
from logbook_agent.text.as_html import as_html, is_web, visible
from logbook_agent.text.markdown import cut_line, cut_sentence, escape, lead, one_line
from logbook_agent.text.phrases import assignments, counted, duration, minute

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = Path(__file__).parent / "assets"
# What HTML has no need of: blanks between tags of which the second is that of a block, ends that follow from what
# comes next, and quotes around a value of plain characters.
_BLANKS = re.compile(
    r">\s+(?=</?(?:article|d[dlt]|details|div|fig\w+|h\d|header|li|ol|p|section|summary|t(?:able|body|d|h|head|r)|ul)\b)"
)
_ENDS = re.compile(r"</(?:dd|dt|li|t(?:body|d|h|head|r))>|</p>(?=</?(?:d[dlt]|div|li|ol|p|section|ul)\b)")
_QUOTES = re.compile(r'="([\w#.-]+)"(?=[ >])(?=[^<>]*>)')


class PageSection(Struct, frozen=True, kw_only=True):
    """One element of the page, `<section id=...>` or `<article id=...>`: escaped, without scripts."""

    id: str
    html: str


def section(id: str, name: str, /, **values: object) -> PageSection:
    """The element that a template of the page makes of values."""
    html = visible(render(ASSETS, f"{name}.html.j2", **values)).strip()
    return PageSection(id=id, html=_QUOTES.sub(r"=\1", _ENDS.sub("", _BLANKS.sub(">", html))))


def render(folder: Path, template: str, /, **values: object) -> str:
    """The text of a template in `folder`."""
    return _environment(folder).get_template(template).render(values)


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
    keep_compiled(environment, compiled_folder(os.environ))
    return environment


# The index over all logbooks; and the page of a logbook whose topic is `index` (a topic has no dot).
INDEX, INDEX_TOPIC_PAGE = "index.html", "index.logbook.html"
# Of a table, so many columns of numbers are set as such.
_NUMBER_COLUMNS = 30
_OWN = ("report.css", "report.js", "tables.js", "results.js")
_BARE = re.compile(r"^\s+|^//.*\n|^/\*[^*]*\*/\n", re.MULTILINE)
# What draws curves, where there are some.
_CURVES = ("uPlot.min.css", "uPlot.iife.min.js", "curves.js")


class Page(Struct, frozen=True, kw_only=True):
    """The content of a page: the sections of the `thread`, and those of its `entries`. `damaged`: for each entry that
    is left out, why it cannot be read."""

    title: str
    thread: tuple[PageSection, ...]
    entries: tuple[PageSection, ...]
    foot: str
    damaged: tuple[str, ...] = ()


def page_file(topic: str) -> str:
    """The name of a logbook's page, which is never that of the index."""
    return INDEX_TOPIC_PAGE if f"{topic}.html" == INDEX else f"{topic}.html"


class LiveParts(Struct, frozen=True, kw_only=True):
    """The live parts of a page that is served: a `script` that runs beside the page's own and asks the server, and a
    `banner`, which is HTML above the sections that its caller has escaped."""

    script: str
    banner: Markup


def document(page: Page, *, above: str | None = None, live: LiveParts | None = None) -> str:
    """The page as one HTML file. `above` is the address of the index, if there is one."""
    there = {one.id: one.html for one in page.thread}
    hidden = {id for id, html in there.items() if " hidden>" in html[: html.index(">") + 1]}
    has_curves = any(' class="chart curves"' in one.html for one in (*page.thread, *page.entries))
    entries = ['<div id="entries"><h2 id="entries-title">Entries</h2>', *(one.html for one in page.entries), "</div>"]
    return _around(
        [*there.values(), *entries],
        live,
        curves=has_curves or live is not None,
        title=f"{page.title} · logbook",
        name=page.title,
        hidden=hidden,
        above=above,
        foot=page.foot,
    )


def _around(body: Iterable[str], live: LiveParts | None, *, curves: bool = False, **values: object) -> str:
    """The document around the pieces of a body. With `curves`, it can draw them."""
    style, own = _assets(curves=curves)
    scripts = [own, *([live.script] if live is not None else [])]
    assert not any("</script" in text.lower() for text in scripts)  # noqa: S101 - they are the package's own
    return render(
        ASSETS,
        "page.html.j2",
        policy=policy(style, scripts, "'none'" if live is None else "'self'"),
        style=Markup(style),  # noqa: S704 - so is this
        scripts=map(Markup, scripts),
        body=map(Markup, body),
        banner=live.banner if live is not None else "",
        **{k: visible(v) if isinstance(v, str) else v for k, v in values.items()},
    )


def policy(style: str, scripts: Sequence[str], connect: str) -> str:
    """The content security policy of a document: styles and scripts with these texts, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {_hash(style)}",
            "img-src data:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@functools.cache
def _assets(*, curves: bool) -> tuple[str, str]:
    """The style and the script of a page, those of our own without comments and indentation."""
    texts = {
        name: _BARE.sub("", Folder(ASSETS).text(name)) if name in _OWN else Folder(ASSETS).text(name)
        for name in (*_OWN, *(_CURVES if curves else ()))
    }
    style, script = ("\n".join(t for name, t in texts.items() if name.endswith(end)) for end in (".css", ".js"))
    numbers = ",".join(f".n{n} tr>:nth-child({n})" for n in range(1, _NUMBER_COLUMNS + 1))
    return f"{style}\n{numbers}{{text-align:right;white-space:nowrap;overflow-wrap:normal}}{rules(PAGE)}", script


def index_document(sections: Sequence[PageSection], *, foot: str = "", live: LiveParts | None = None) -> str:
    """The index as one HTML file: its `head`, and a `card` for each logbook, which links `TOPIC.html`."""
    first, *cards = [Markup(one.html) for one in sections] or [Markup()]  # noqa: S704 - escaped where they are made
    body = render(ASSETS, "index.html.j2", head=first, cards=cards)
    return _around([body], live, title="Logbooks", name="Logbooks", hidden=None, above=None, foot=foot)


def head(found: Sequence[Findings], damaged: Sequence[str]) -> PageSection:
    """The section above the cards: how many logbooks and entries there are, and what cannot be read."""
    return section("index-head", "index_head", found=found, damaged=damaged)


def card(findings: Findings) -> PageSection:
    """The card of a logbook: its question, answers and counts."""
    header = findings.header
    goal = Markup(as_html(header.goal)) if header.goal else None  # noqa: S704 - escaped there
    return section(
        f"book-{header.topic}",
        "index_card",
        findings=findings,
        header=header,
        opening=findings.opening,
        address=page_file(header.topic),
        goal=goal,
    )
