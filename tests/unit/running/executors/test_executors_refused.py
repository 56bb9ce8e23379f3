"""What is wrong with an executor or a request is said before there is an entry; what shows only when a run is started
stands in its record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from logbook_agent.cluster.shell import Here, ShellAnswer
from logbook_agent.cluster.slurm import Slurm, SlurmSettings, job_of, jobs_of
from logbook_agent.store.spool import Sent, Spool


def test_an_element_that_never_began_is_one_of_its_array() -> None:
    told = jobs_of("12|N-0123456789ab|CANCELLED||\n")
    for job in (None, "12_3"):
        found = job_of(told, Sent(folder="/far/spools/N-0123456789ab.3", job=job))
        assert found is not None
        assert (found.number, found.is_over) == ("12_3", True), "the number alone means all elements"
    assert job_of(told, Sent(folder="/far/spools/other-0123456789ab.3")) is None


def test_slurm_is_asked_once_for_all_elements_of_an_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def asked(argv: Sequence[str], environ: object, **_: object) -> ShellAnswer:
        calls.append(argv[0])
        return ShellAnswer(code=0)

    monkeypatch.setattr("logbook_agent.cluster.shell.run_program", asked)
    monkeypatch.setattr(Slurm, "_close", lambda self, sent: True)
    slurm = Slurm(shell=Here(environ={}), settings=SlurmSettings(), environ={})
    spool = Spool(folder=tmp_path / "spool", within=tmp_path)
    elements = [Sent(folder=f"/far/spools/N-0123456789ab.{number}") for number in range(3)]
    assert not any(slurm.has_arrived(spool, sent) for sent in elements)
    assert calls == ["squeue", "sacct"]
