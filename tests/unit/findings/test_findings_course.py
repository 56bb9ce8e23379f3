"""The course of the best over the entries of a thread, against what is best at its end."""

from __future__ import annotations

import random

from logbook_agent.findings.best import bests, course
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import RELATIONS
from logbook_agent.model.header import Header, Metric


def test_the_course_of_the_best_ends_with_what_bests_says() -> None:
    """Threads of a few cases in one problem, without comparisons: the best so far is that of the cases met so far."""
    metric = Metric(name="t", direction="max")
    entries = []
    for number in range(60):
        draw = random.Random(number)
        trials = [
            {"key": key, "unit": None, "values": [float(draw.randint(0, 4)) for _ in range(draw.randint(1, 3))],
             "config": {}, "label": draw.choice([None, "a"]), "runs": [1],
             "accepted": False, "problems": [], "apart": {"k": key}, "words": "",
             "side": None, "case": ""}
            for key in draw.sample("abcdefgh", draw.randint(1, 3))
        ]  # fmt: skip
        plain = {**dict.fromkeys(RELATIONS), "state": "finished", "settled": True, "comparison": None, "kept": None}
        lists = dict.fromkeys(("aliases", "tried"), ())
        entries.append({**plain, **lists, "id": f"B-{number:03d}", "measured": {"t": {"trials": trials}}})
    header = Header(topic="b", title="B", prefix="B", opened="2026-02-10T10:00:00+00:00", metrics=(metric,))
    thread = Thread(header, entries)
    steps = course(thread, (), metric)
    assert [step.own.entries for step in steps] == [(f"B-{number:03d}",) for number in range(60)]
    [best] = bests(thread, ())
    assert steps[-1].so_far == best
    assert best.cases == 8
    values = [step.so_far.value for step in steps]
    assert values == sorted(values)
