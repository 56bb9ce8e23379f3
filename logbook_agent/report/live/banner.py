"""What goes on now, as HTML above the sections of a page. All values are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from logbook_agent.report.html import render_html
from logbook_agent.text.as_html import visible

ASSETS = Path(__file__).parent / "assets"


def banner_of(going: dict[str, Any], trouble: str | None) -> str:
    """The element `live-now`."""
    return visible(render_html(ASSETS, "banner.html.j2", {**going, "trouble": trouble}))
