"""What a chart of a million points costs in a browser: the time to draw it, and following it while points come in.

    python benchmarks/chart_speed.py [--rounds 5] [--follow 20] [--save FILE]

Design: a series of a million points, reduced to the least and the greatest of each of 1,000 bins, in a page as `logbook
report` writes it, in Chromium (`scripts/browser` installs it). `drawn`: from the begin of the navigation to the end of
the first drawing, by the page's own clock. `again`: new data for the same chart, from the JSON in a new section to the
end of the drawing. Following: a thousand points a second, of which a server here sends the reduced series at each look,
four times a second, as the live view does, to its script; the share of a core is the processor time of all processes
of the browser, less that of the same page left alone for as long. What the server spends is not in it.
Targets: drawn within 1 s; followed with less than 5% of a core.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import os
import platform
import queue
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright  # noqa: E402

from logbook_agent.report.charts.chart import Chart  # noqa: E402
from logbook_agent.report.page.document import LiveParts  # noqa: E402
from tests.contract.browser import charts  # noqa: E402

POINTS, BINS = 1_000_000, 1_000
A_SECOND, LOOK_S = 1_000, 0.25
# A chart that was drawn a second ago waits no longer.
PACE_MS = 1_100
REPLACED = """html => {
  document.getElementById("plots").outerHTML = html;
  document.dispatchEvent(new CustomEvent("report:changed", {detail: {id: "plots"}}));
}"""
DRAWN = """begun => new Promise(done => {
  const look = () => {
    const drawn = Number(document.querySelector("#plots .canvas").dataset.drawn);
    if (drawn > begun) done(drawn - begun); else setTimeout(look, 1);
  };
  look();
})"""


def curve(count: int) -> list[float]:
    """A loss that falls, with noise."""
    rng = random.Random(1)
    return [8 / (1 + step / 20_000) + rng.gauss(0, 0.2) for step in range(count)]


def reduced(values: Sequence[float]) -> Chart:
    """The least and the greatest value of each bin, at the steps where they are."""
    xs: list[float] = []
    ys: list[float] = []
    size = max(1, len(values) // BINS)
    for begin in range(0, len(values), size):
        part = values[begin : begin + size]
        ends = (begin + part.index(min(part)), begin + part.index(max(part)))
        for at in sorted({*ends}):
            xs.append(float(at))
            ys.append(round(values[at], 5))
    chart = charts.lines(points=2)
    return replace(chart, series=(replace(chart.series[0], x=tuple(xs), y=tuple(ys)),))


def opened(browser: Browser, folder: Path) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((folder / "charts.html").as_uri())
    page.locator(".canvas[data-drawn]").wait_for()
    return page


def draw(browser: Browser, folder: Path, html: str, samples: dict[str, list[float]]) -> None:
    page = opened(browser, folder)
    samples["drawn, s"].append(float(page.locator(".canvas").get_attribute("data-drawn") or "nan") / 1000)
    page.wait_for_timeout(PACE_MS)
    begun = page.evaluate("performance.now()")
    page.evaluate(REPLACED, html)
    samples["again, s"].append(float(page.evaluate(DRAWN, begun)) / 1000)
    page.close()


def spent(session: CDPSession) -> float:
    """Processor time of all processes of the browser (s)."""
    return sum(float(one["cpuTime"]) for one in session.send("SystemInfo.getProcessInfo")["processInfo"])


class Events(http.server.SimpleHTTPRequestHandler):
    """The page, and what changes in it: an event each time that `parts` has one."""

    parts: queue.Queue[str | None]

    def log_message(self, format: str, *args: object) -> None: ...

    def do_GET(self) -> None:
        if not self.path.startswith("/events"):
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while (html := self.parts.get()) is not None:
            self.wfile.write(f"event: part\ndata: {json.dumps({'id': 'plots', 'html': html})}\n\n".encode())
            self.wfile.flush()


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, queue.Queue[str | None]]]:
    """The address of a folder, and where what changes is put."""
    parts: queue.Queue[str | None] = queue.Queue()
    handler = type("Handler", (Events,), {"parts": parts})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/charts.html", parts
        parts.put(None)
        server.shutdown()


def follow(browser: Browser, folder: Path, values: Sequence[float], seconds: float) -> tuple[float, float]:
    """Shares of a core: of the page left alone, and while it follows."""
    looks = int(seconds / LOOK_S)
    first = len(values) - round(seconds * A_SECOND)
    counts = [first + round(n * LOOK_S * A_SECOND) for n in range(1, looks + 1)]
    made = [charts.section([reduced(values[:count])]) for count in counts]
    script = (HERE.parent / "logbook_agent/report/live/assets/live.js").read_text()
    banner = (
        '<div id="live" data-events="/events" data-since="0"><p id="live-state">-</p><p id="live-heard">-</p></div>'
    )
    charts.write(folder, reduced(values), live=LiveParts(scripts=[script], connect="'self'", banner=banner))
    with served(folder) as (address, parts):
        page, session = browser.new_page(viewport={"width": 1280, "height": 900}), browser.new_browser_cdp_session()
        page.goto(address)
        canvas = page.locator("#plots .canvas[data-drawn]")
        canvas.wait_for()
        page.wait_for_timeout(2000)
        before, began = spent(session), time.monotonic()
        page.wait_for_timeout(seconds * 1000)
        alone = (spent(session) - before) / (time.monotonic() - began)
        drawn = canvas.get_attribute("data-drawn")
        before, began = spent(session), time.monotonic()
        for number, html in enumerate(made, start=1):
            parts.put(html)
            time.sleep(max(0.0, began + number * LOOK_S - time.monotonic()))
        followed = (spent(session) - before) / (time.monotonic() - began)
        page.wait_for_timeout(3000)
        shown = page.evaluate("JSON.parse(document.querySelector('#plots script').textContent).series[0].x.at(-1)")
        assert canvas.get_attribute("data-drawn") != drawn, "nothing new was drawn"
        assert abs(shown - len(values)) <= 2 * len(values) / BINS, shown
        page.close()
    return alone, followed


def main() -> None:
    parser = argparse.ArgumentParser(description="What a chart of a million points costs in a browser.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--follow", type=float, default=20.0, help="seconds")
    parser.add_argument("--save", type=Path)
    args = parser.parse_args()
    path = next(filter(None, map(shutil.which, (os.environ.get("LOGBOOK_BROWSER", "chromium"), "chromium-browser"))))
    values = curve(POINTS)
    chart = reduced(values)
    html = charts.section([chart])
    samples: dict[str, list[float]] = {"drawn, s": [], "again, s": []}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        charts.write(folder, chart)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(args.rounds):
            draw(browser, folder, html, samples)
        alone, followed = follow(browser, folder, values, args.follow)
        samples |= {"alone, share of a core": [alone], "followed, share of a core": [followed - alone]}
        version = browser.version
        browser.close()
    for what, found in samples.items():
        print(f"{what:<28} {statistics.median(found):.3f}   {' '.join(f'{v:.3f}' for v in found)}")
    if args.save is not None:
        about = {"python": platform.python_version(), "browser": version, "cores": os.cpu_count(), "samples": samples}
        args.save.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
