"""Texts from several processes are those from one, in order; an error is raised here."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os
from logbook_agent.store.processes import on_all_cores
os.cpu_count = lambda: 4
here = os.getpid()
items = list(range(5000))
def text(i):
    if i == {bad} : raise ValueError("bad item")
    if i == {dies} and os.getpid() != here: os._exit(3)
    return f"é {{i}} {{'x' * 100}} {{os.getpid() == here}}"
found = on_all_cores(items, text)
assert [t.split()[1] for t in found] == [str(i) for i in items]
print({{t.split()[-1] for t in found}} == {{'True', 'False'}}, len(found))
"""


def run(bad: int = -1, dies: int = -1) -> subprocess.CompletedProcess[str]:
    code = CODE.format(bad=bad, dies=dies)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_the_same_texts_in_the_same_order() -> None:
    assert run().stdout == "True 5000\n"


def test_what_a_fork_could_not_do_is_done_here() -> None:
    assert run(dies=4000).stdout == "True 5000\n"


def test_an_error_in_a_fork_is_raised_here() -> None:
    done = run(bad=4500)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ValueError: bad item")
