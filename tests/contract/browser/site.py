"""Pages in a browser: what they ask of others is blocked and counted, and what they complain about is kept."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Route

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@dataclass
class Watched:
    """Pages of one or several servers, and what went wrong in them: `elsewhere` are the addresses that were asked for
    and lie at no `origin`; `complaints` errors of scripts and what the console shows as an error."""

    browser: Browser
    origins: tuple[str, ...]
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    def page(self, *, width: int = 1280, height: int = 900, dark: bool = False, **options: Any) -> Page:
        """A new page in a context of its own."""
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options
        )
        context.set_default_timeout(30_000)
        context.route("**/*", self._route)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("dialog", self._dialog)
        return page

    def _route(self, route: Route) -> None:
        address = route.request.url
        if address.startswith(self.origins):
            route.continue_()
        else:
            self.elsewhere.append(address)
            route.abort()

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def check(self) -> None:
        """That nothing went wrong."""
        assert (self.elsewhere, self.complaints) == ([], [])

    def close(self) -> None:
        for context in self.contexts:
            context.close()


@dataclass
class Site(Watched):
    """A folder behind a server of its own."""

    folder: Path = field(default_factory=Path)
    address: str = ""

    @classmethod
    @contextmanager
    def serving(cls, browser: Browser, folder: Path) -> Iterator[Site]:
        handler = functools.partial(_Quiet, directory=str(folder))
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            thread = threading.Thread(target=server.serve_forever, daemon=True)
            thread.start()
            address = f"http://127.0.0.1:{server.server_port}/"
            made = cls(browser=browser, origins=(address, folder.as_uri()), folder=folder, address=address)
            try:
                yield made
            finally:
                made.close()
                server.shutdown()
                thread.join()

    def open(self, name: str, **options: Any) -> Page:
        """A page of the folder."""
        page = self.page(**options)
        page.goto(self.address + name)
        return page


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong with a page as it is shown now: the rule and where."""
    # As a string: the page's own policy forbids a script element.
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{v['id']}: {node['target']} {node.get('failureSummary', '')}"
        for v in found["violations"]
        for node in v["nodes"]
    ]
