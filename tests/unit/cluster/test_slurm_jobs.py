"""Jobs as Slurm tells of them."""

from __future__ import annotations

from logbook_agent.cluster.slurm import jobs_of


def test_an_element_that_never_began_is_one_of_its_array() -> None:
    found = jobs_of("12|N-0123456789ab|CANCELLED||\n", ["N-0123456789ab.3", "other-0123456789ab.3"])
    assert list(found) == ["N-0123456789ab.3"]
    [job] = found.values()
    assert (job.number, job.is_over) == ("12_3", True), "the number alone means all elements"
