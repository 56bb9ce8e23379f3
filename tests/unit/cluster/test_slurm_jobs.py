"""Jobs as Slurm tells of them."""

from __future__ import annotations

from logbook_agent.cluster.slurm import job_of, jobs_of
from logbook_agent.store.spool import Sent


def test_an_element_that_never_began_is_one_of_its_array() -> None:
    told = jobs_of("12|N-0123456789ab|CANCELLED||\n")
    for job in (None, "12_3"):
        found = job_of(told, Sent(folder="/far/spools/N-0123456789ab.3", job=job))
        assert found is not None
        assert (found.number, found.is_over) == ("12_3", True), "the number alone means all elements"
    assert job_of(told, Sent(folder="/far/spools/other-0123456789ab.3")) is None
