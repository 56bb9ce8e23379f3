"""What the page of a logbook of a thousand entries costs: to make, to send and to open.

    python benchmarks/report_scale.py [--entries 1000] [--save FILE]

Design: a logbook made by the store's own writers, with all parts in each entry and two runs each. `report` is made
by the command in a process of its own, its processor time taken with that of its children: first without an index and
without compiled modules, then again. The page is opened in Chromium from disk, `--rounds` times in a new context each:
the first paint as the browser tells it, the nodes and height after loading, and how long a search that looks into every
entry takes. `loop` is the processor time of ten million additions in the same minute, to compare machines and moments.
`--serve` opens the live page twice: the share of a core of its server in ten seconds without a change, then for each
round the time from the end of `logbook note` until both pages show it, and the share of a core meanwhile.
All samples are kept.
Targets: 1.5 MB, 3 s of processor time, 0.5 s to the first paint; live: 2 s, 5% of a core without changes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.contract.browser import books  # noqa: E402

LOGBOOK = (sys.executable, "-m", "logbook_agent")
SEARCH = """
async (word) => {
  const began = performance.now();
  const field = document.getElementById("search"), found = document.getElementById("found");
  field.value = word;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  while (!found.textContent.startsWith("1 of")) await new Promise((done) => setTimeout(done, 5));
  return performance.now() - began;
}
"""

Samples = dict[str, list[float]]


def processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def made(folder: Path, home: Path) -> float:
    """Processor time of `logbook report`."""
    before = processor_s()
    environ = {**os.environ, "XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}
    # As where it is installed: the modules are compiled once, with the first report.
    environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(home / "pycache")}
    command = [*LOGBOOK, "report", "--root", str(folder / "logbooks"), "--out", str(folder / "site"), "--no-logs"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environ)
    return processor_s() - before


def loop() -> float:
    before, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - before


def opened(page_file: Path, browser_path: str, rounds: int, last: int) -> Samples:
    found: Samples = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for _ in range(rounds):
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(page_file.as_uri(), wait_until="load")
            page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
            figures = {
                "first paint, s": page.evaluate(paint),
                "nodes": page.evaluate("document.querySelectorAll('*').length"),
                "height, px": page.evaluate("document.documentElement.scrollHeight"),
                "search, s": page.evaluate(SEARCH, f"with {last // 3} tokens") / 1000,
            }
            for name, value in figures.items():
                found.setdefault(name, []).append(value)
            page.context.close()
        browser.close()
    return found


def served(folder: Path, browser_path: str, rounds: int) -> Samples:
    """What two viewers of the live page cost, and how late they are."""
    found: Samples = {}
    root = ["--root", str(folder / "logbooks")]
    server = subprocess.Popen([*LOGBOOK, "report", "--serve", "--json", *root], stdout=subprocess.PIPE)
    assert server.stdout is not None
    url = json.loads(server.stdout.readline())["data"]["url"]

    def share(began: float, used: float) -> float:
        return 100 * (spent(server.pid) - used) / (time.monotonic() - began)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        pages = [browser.new_page(), browser.new_page()]
        for page in pages:
            page.goto(url)
        began, used = time.monotonic(), spent(server.pid)
        pages[0].wait_for_timeout(10_000)
        found["live, still, % of a core"] = [share(began, used)]
        for number in range(rounds):
            title = f"Remark {number} of many"
            began, used = time.monotonic(), spent(server.pid)
            subprocess.run([*LOGBOOK, "note", "--title", title, *root], check=True, stdout=subprocess.DEVNULL)
            ended = time.monotonic()
            for page in pages:
                page.locator("article", has_text=title).wait_for(state="attached", timeout=60_000)
            found.setdefault("live, delay, s", []).append(time.monotonic() - ended)
            pages[0].wait_for_timeout(5_000)
            found.setdefault("live, a change in 5 s, % of a core", []).append(share(began, used))
        browser.close()
    server.terminate()
    server.wait()
    return found


def spent(pid: int) -> float:
    """Processor time of a process (s)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help="the live page, too")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    browser = subprocess.run([HERE.parent / "scripts" / "browser"], check=True, capture_output=True, text=True)
    samples: Samples = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        books.thousand(folder, options.entries)
        for name in ("first", "again", "again", "again"):
            samples.setdefault(f"report {name}, processor s", []).append(made(folder, folder))
            samples.setdefault("loop, s", []).append(loop())
        page_file = folder / "site" / "many.html"
        samples["page, MB"] = [page_file.stat().st_size / 1e6]
        samples |= opened(page_file, browser.stdout.strip(), options.rounds, options.entries)
        if options.serve:
            samples |= served(folder, browser.stdout.strip(), options.rounds)
    for name, values in samples.items():
        print(f"{name:28} {statistics.median(values):10.3f}   ({min(values):.3f} to {max(values):.3f})")
    if options.save:
        told = {"machine": platform.machine(), "entries": options.entries, "samples": samples}
        options.save.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
