"""The pages as HTML files: that of a logbook, and the index over all. Styles and scripts are inside, and a policy lets
nothing else run, load or be asked for."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from logbook_agent.findings.read import Findings
from logbook_agent.report.figures.theme import PAGE, rules
from logbook_agent.report.page.page import Page, page_file
from logbook_agent.report.page.rendering import ASSETS, PageSection, pieces, render, section
from logbook_agent.store.folder import Folder
from logbook_agent.text.as_html import as_html, visible

_OWN = ("report.css", "report.js", "tables.js", "results.js")
# What draws curves, where there are some.
_CURVES = ("uPlot.min.css", "uPlot.iife.min.js", "curves.js")


class LiveParts(Struct, frozen=True, kw_only=True):
    """The live parts of a page that is served: a `script` that runs beside the page's own and asks the server, and a
    `banner`, which is HTML above the sections that its caller has escaped."""

    script: str
    banner: Markup


def document(page: Page, *, above: str | None = None, live: LiveParts | None = None) -> Iterator[str]:
    """The page as one HTML file, piece by piece. `above` is the address of the index, if there is one."""
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


def _around(body: Iterable[str], live: LiveParts | None, *, curves: bool = False, **values: object) -> Iterator[str]:
    """HTML of a body as a document, both in pieces. With `curves`, it can draw them."""
    style, own = _assets(curves=curves)
    scripts = [own, *([live.script] if live is not None else [])]
    assert not any("</script" in text.lower() for text in scripts)  # noqa: S101 - they are the package's own
    return pieces(
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
    """The style and the script of a page."""
    texts = {name: Folder(ASSETS).text(name) for name in (*_OWN, *(_CURVES if curves else ()))}
    style, script = ("\n".join(t for name, t in texts.items() if name.endswith(end)) for end in (".css", ".js"))
    return f"{style}\n{rules(PAGE)}", script


def index_document(sections: Sequence[PageSection], *, foot: str = "", live: LiveParts | None = None) -> str:
    """The index as one HTML file: its `head`, and a `card` for each logbook, which links `TOPIC.html`."""
    first, *cards = [Markup(one.html) for one in sections] or [Markup()]  # noqa: S704 - escaped where they are made
    body = render(ASSETS, "index.html.j2", head=first, cards=cards)
    return "".join(_around([body], live, title="Logbooks", name="Logbooks", hidden=None, above=None, foot=foot))


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
