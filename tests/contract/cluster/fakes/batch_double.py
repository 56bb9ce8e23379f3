"""A scheduler of our own, in four functions: a stand-in for a batch system (`batch_system.py`), by its programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from logbook_agent.cluster.batch import Array, Batch, Element
from logbook_agent.cluster.questions import Shell
from logbook_agent.cluster.sent_code import Places
from logbook_agent.model.errors import ToolError
from logbook_agent.running.executors.contract import Unavailable
from logbook_agent.running.executors.table import Declared
from logbook_agent.store.workspace import Workspace


class Double(Batch):
    """Starts workers by `dsub`."""

    def check(self) -> None:
        self._run("djobs")

    def submit(self, array: Array) -> Sequence[str]:
        words = (array.name, str(array.size), str(array.at_most), array.folder, *array.words)
        number = self._run("dsub", *words)
        if not number.isdecimal():
            raise ToolError("dsub did not print a number", cause=number)
        return [f"{number}_{element}" for element in range(array.size)]

    def jobs(self, names: Collection[str]) -> Mapping[str, Element]:
        lines = [line.split() for line in self._run("djobs").splitlines()]
        return {name: _job(number, state) for number, name, state in lines if name in names}

    def cancel(self, numbers: Sequence[str]) -> None:
        self._run("dend", "CANCELLED", *numbers)

    def _run(self, program: str, *words: str) -> str:
        answer = self.shell.run([program, *words])
        if answer.code != 0:
            kind = Unavailable if "later" in answer.err else ToolError
            raise kind(f"{program} failed", cause=answer.said)
        return answer.text.strip()


def _job(number: str, state: str) -> Element:
    is_over, is_taken = state not in ("WAITING", "RUNNING"), state in ("PREEMPTED", "NODE_FAIL")
    return Element(number=number, said=f"job {number} is {state}", is_over=is_over, is_taken=is_taken)


def double(workspace: Workspace, declared: Declared) -> Double:
    """The executor of such settings, by `kind = "tests.contract.cluster.fakes.batch_double:double"`."""
    environ = workspace.environ
    return Double(shell=Shell(environ=environ), places=declared.read(Places), environ=environ, place="double")
