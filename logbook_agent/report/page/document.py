"""A whole document: what surrounds the sections of a page, with its styles and scripts inside, and the policy that lets
nothing else run, load or be asked for."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from logbook_agent.report.html import html_pieces
from logbook_agent.report.page.page import ASSETS, Page, body
from logbook_agent.store.reading import read_text
from logbook_agent.text.as_html import visible

_SCRIPTS = ("report.js", "tables.js", "hover.js", "compare.js")
_NAV = (
    ("summary", "Summary"),
    ("criteria", "Criteria"),
    ("best", "Best so far"),
    ("plots", "Plots"),
    ("open", "Open and decided"),
    ("timeline", "Timeline"),
    ("results", "All results"),
    ("entries", "Entries"),
)


def document(
    page: Page, *, above: str | None = None, scripts: Sequence[str] = (), connect: str = "'none'", banner: str = ""
) -> Iterator[str]:
    """The page as one HTML file, piece by piece. `above` is the address of the index, if there is one.

    `scripts` are run beside the page's own, and `connect` says where they may connect to (the value of `connect-src`).
    `banner` is HTML that its caller has escaped; it stands above the sections.
    """
    there = {section.id: section.html for section in page.sections}
    nav = [(id, label, id != "entries" and _is_hidden(there.get(id, ""))) for id, label in _NAV]
    values = {"name": page.title, "nav": nav, "above": above, "foot": page.foot}
    title = f"{page.title} · logbook"
    return around(body(page), title=title, scripts=scripts, connect=connect, banner=banner, **values)


def around(
    body: Iterable[str],
    *,
    title: str,
    scripts: Sequence[str] = (),
    connect: str = "'none'",
    banner: str = "",
    **values: object,
) -> Iterator[str]:
    """HTML of a body as a document, both in pieces."""
    style, own = _assets()
    all_scripts = [own, *scripts]
    assert not any("</script" in text.lower() for text in all_scripts)  # noqa: S101 - they are the package's own
    return html_pieces(
        ASSETS,
        "page.html.j2",
        {
            "policy": policy(style, all_scripts, connect),
            "title": visible(title),
            "style": _safe(style),
            "scripts": list(map(_safe, all_scripts)),
            "body": map(_safe, body),
            "banner": _safe(banner),
            **{k: visible(v) if isinstance(v, str) else v for k, v in values.items()},
        },
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
def _assets() -> tuple[str, str]:
    """The style and the script of every page."""
    style, *scripts = (read_text(ASSETS / name, within=ASSETS) for name in ("report.css", *_SCRIPTS))
    return style, "\n".join(scripts)


def _safe(text: str) -> Markup:
    return Markup(text)  # noqa: S704 - made of escaped parts


def _is_hidden(html: str) -> bool:
    return " hidden>" in html.partition("\n")[0]
