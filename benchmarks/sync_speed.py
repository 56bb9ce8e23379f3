"""What a sync costs: requests and time of a first one and of one with nothing new, and the time of planning.

    python benchmarks/sync_speed.py [--rounds 3] [--save FILE]

Design: the real emulator of GitHub behind our proxy, both on this machine, and the real command line with the real
clock. A first sync of 300 entries opens the issue and posts 30 updates, a second apart as GitHub asks; its floor is
that second between any two writes. A sync with nothing new follows. Planning is reading the logbook and the comments,
and making the plan, in this process: once for 1,000 entries that were all told (100 comments), and once for 1,000 of
which none was, with the texts of all comments.
`cold`: without the index. All samples are kept.
Targets: the first sync within 1.2 times its floor; planning 1,000 entries within 2 s; nothing new: no write, at most
3 reads for 100 comments.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from store_scale import ENVIRON, LOGBOOK, forget, store  # noqa: E402

from logbook_agent.issue.documents import gather  # noqa: E402
from logbook_agent.issue.marking import room, wrapped  # noqa: E402
from logbook_agent.issue.plan import make_plan  # noqa: E402
from logbook_agent.issue.values import Comment, Issue, SyncPlan, SyncRequest  # noqa: E402
from logbook_agent.store.workspace import Workspace  # noqa: E402
from tests.emulator.proxy import Proxy, public_token  # noqa: E402
from tests.emulator.server import Reply  # noqa: E402

UPDATES = 30
PAUSE_S = 1.0

Samples = dict[str, list[float]]


def repository(proxy: Proxy, name: str) -> str:
    reply: Reply = proxy.emulator.ask(
        "POST", "/user/repos", user="ada", content=json.dumps({"name": name, "auto_init": True}).encode()
    )
    assert reply.status == 201, reply
    return f"ada/{name}"


def sync(proxy: Proxy, folder: Path, *words: str) -> float:
    """Seconds of one `logbook sync`."""
    environ = {**ENVIRON, "GH_ENTERPRISE_TOKEN": public_token("ada"), "GH_HOST": proxy.web}
    began = time.perf_counter()
    done = subprocess.run([*LOGBOOK, "sync", *words], cwd=folder, env=environ, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return took


def settings(folder: Path, proxy: Proxy, repo: str) -> None:
    (folder / "logbook.toml").write_text(f'[github]\nrepository = "{repo}"\nhost = "{proxy.web}"\n')


def measure_syncs(rounds: int, samples: Samples) -> None:
    with Proxy(["ada"]) as proxy, tempfile.TemporaryDirectory() as place:
        for number in range(rounds):
            folder = store(Path(place) / f"first-{number}", UPDATES * 10)
            settings(folder, proxy, repository(proxy, f"bench-{number}"))
            proxy.requests.clear()
            keep(samples, "first sync of 300 entries, s", sync(proxy, folder, "--create"))
            counted(samples, "first sync", proxy)
            for _ in range(5):
                proxy.requests.clear()
                keep(samples, "sync with nothing new, s", sync(proxy, folder))
                counted(samples, "nothing new", proxy)


def counted(samples: Samples, what: str, proxy: Proxy) -> None:
    writes = sum(request.is_write for request in proxy.requests)
    keep(samples, f"{what}: writes", writes)
    keep(samples, f"{what}: reads", len(proxy.requests) - writes)
    if what == "first sync":
        keep(samples, "its floor (a second between two writes), s", (writes - 1) * PAUSE_S)


def measure_plans(rounds: int, samples: Samples) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = store(Path(place) / "plans", 1_000)
        time.sleep(1.1)  # the index keeps nothing that changed within the last second
        told: list[Comment] = []
        issue = Issue(number=1, url="", title="", body="", author="ada")
        for number in range(rounds + 1):
            for index in ("cold", "warm"):
                if index == "cold":
                    forget(folder)
                body, plan = planned(folder, samples if number else {}, f"none told, {index} index", issue, ())
            if not told:
                texts = [write.text for write in plan.writes if write.kind == "post"]
                told = [Comment(id=n, url="", author="ada", body=text) for n, text in enumerate(texts, 1)]
                assert len(told) == 100
            for index in ("cold", "warm"):
                if index == "cold":
                    forget(folder)
                there = Issue(number=1, url="", title="", body=body, author="ada")
                _, plan = planned(folder, samples if number else {}, f"all told, {index} index", there, told)
                assert plan.writes == ()


def planned(
    folder: Path, samples: Samples, name: str, issue: Issue, comments: Sequence[Comment]
) -> tuple[str, SyncPlan]:
    """A plan, and the body that it asks for."""
    workspace = Workspace(cwd=folder, environ=ENVIRON)
    began = time.perf_counter()
    documents = gather(workspace, workspace.book(), SyncRequest(), None)
    wanted = replace(documents.wanted, login="ada")
    plan = make_plan(wanted, documents, issue, comments)
    keep(samples, f"plan of 1,000 entries, {name}, s", time.perf_counter() - began)
    return wrapped(wanted.book, documents.block(room("", wanted.book))), plan


def keep(samples: Samples, name: str, value: float) -> None:
    samples.setdefault(name, []).append(value)


def report(samples: Samples) -> str:
    median = {name: statistics.median(values) for name, values in samples.items()}
    lines = ["| figure | median | min | max |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {n} | {median[n]:g} | {min(v):g} | {max(v):g} |" for n, v in sorted(samples.items())]
    ratio = median["first sync of 300 entries, s"] / median["its floor (a second between two writes), s"]
    return "\n".join([*lines, "", f"first sync over its floor: {ratio:.3f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write all samples as JSON to this file")
    options = parser.parse_args()
    samples: Samples = {}
    measure_plans(options.rounds * 2, samples)
    measure_syncs(options.rounds, samples)
    samples = {name: [round(value, 4) for value in values] for name, values in samples.items()}
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores\n")
    print(report(samples))
    if options.save:
        facts = {"python": platform.python_version(), "cores": os.cpu_count(), "samples": samples}
        options.save.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
