"""How the processes of a job find each other. No JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from bench_core.errors import UsageError
from bench_core.flag import Flag
from bench_core.harness.case import Case
from bench_core.parallel.spread import Parallel, ParallelMode


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFlags:
    """What `--processes` takes beside it; `refuse` says what does not go together."""

    coordinator: Annotated[
        str | None,
        Flag(
            help="--processes: the address of process 0; every host then starts one process.",
            metavar="HOST:PORT",
            after="processes",
        ),
    ] = None
    process_id: Annotated[
        int | None, Flag(help="--coordinator: the number of this host's process, from 0.", after="coordinator")
    ] = None
    timeout: Annotated[
        float | None,
        Flag(help="--processes: end the job after so many seconds.", metavar="SECONDS", after="process_id"),
    ] = None

    def refuse(self, parallel: Parallel, beside: Mapping[str, bool]) -> None:
        """Refuse what cannot be a job; `beside` says which flags are given that several processes do not serve.

        Raises:
            UsageError: a flag is missing, changes nothing, or is out of range.
        """
        if not parallel.is_shared:
            self._refuse_idle()
            return
        for flag in (flag for flag, given in beside.items() if given):
            raise UsageError(
                f"{flag} cannot be combined with --processes",
                cause="that is done by one process",
                hint=f"leave {flag} or --processes out",
            )
        if (self.coordinator is None) != (self.process_id is None):
            raise UsageError(
                "--coordinator and --process-id need each other",
                cause="a process must know where process 0 is, and which one it is itself",
                hint="give both, or neither for processes that are all on this host",
            )
        if self.timeout is not None and not self.timeout > 0:
            raise UsageError(
                f"--timeout {self.timeout:g} is too short", cause="a job takes some time", hint="use --timeout 600"
            )
        if self.coordinator is None:
            _refuse_sizes(parallel)
        else:
            self._refuse_place(self.coordinator, parallel.processes or 1)

    def _refuse_idle(self) -> None:
        given = {"--coordinator": self.coordinator, "--process-id": self.process_id, "--timeout": self.timeout}
        for flag, value in given.items():
            if value is not None:
                raise UsageError(
                    f"{flag} changes nothing without --processes",
                    cause="one process has all devices",
                    hint=f"add --processes 2, or leave {flag} out",
                )

    def _refuse_place(self, coordinator: str, processes: int) -> None:
        host, _, port = coordinator.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 2**16:
            raise UsageError(
                f"--coordinator {coordinator} is not an address",
                cause="it is a host and a free port of it, for process 0 to listen at",
                hint="use --coordinator HOST:12321",
            )
        if not 0 <= (self.process_id or 0) < processes:
            raise UsageError(
                f"--process-id {self.process_id} is not one of {processes} processes",
                cause="processes are counted from 0",
                hint=f"use a number from 0 to {processes - 1}",
            )


def refuse_idle_devices(case: Case, available: int) -> Case:
    """The case, where its mesh takes all devices of the job: a process without one would have no part in it.

    Raises:
        UsageError: it does not.
    """
    parallel = case.parallel
    used = parallel.spread.devices
    if used != available:
        whole = parallel.mode is ParallelMode.DP
        raise UsageError(
            f"a mesh of {used} devices leaves {available - used} of the job idle",
            cause=f"the {parallel.processes} processes have {available}, and all of them must take part",
            hint=f"use --dp-size {available}" if whole else parallel.way_to_fit(case.shape.experts, available),
        )
    return case


def _refuse_sizes(parallel: Parallel) -> None:
    processes, devices = parallel.processes or 1, parallel.devices
    if devices is None:
        raise UsageError(
            f"--processes {processes} needs --devices",
            cause="the processes on this host share out its virtual devices, and how many there are is not said",
            hint=f"add --devices {4 * processes}",
        )
    if devices % processes:
        # The number of devices stays: the experts can be spread over them.
        fitting = [number for number in range(2, devices + 1) if devices % number == 0]
        raise UsageError(
            f"--devices {devices} cannot be shared out among {processes} processes",
            cause="every process has as many devices",
            hint=f"use --processes {fitting[0]} (numbers that fit: {', '.join(map(str, fitting))})"
            if fitting
            else "leave --processes out, or use more devices",
        )
