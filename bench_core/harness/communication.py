"""What a case on several devices sends: what its form has to, and what the compiler made of it. No JAX."""

from dataclasses import dataclass, field

from bench_core.accounting.communication import Communication, read_communication
from bench_core.harness.case import Case
from bench_core.parallel.communication import model_ring_bytes, sendings
from bench_core.parallel.plan import SpreadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Empty on one device. `model` has the keys of `parallel.communication`."""

    compiled: Communication | None = None
    model: dict[str, float] = field(default_factory=dict)

    def observations(self) -> dict[str, float | None]:
        return {**self.model, **({} if self.compiled is None else self.compiled.observations())}

    def labels(self) -> dict[str, str]:
        return {} if self.compiled is None else self.compiled.labels()


def case_sends(case: Case, plan: SpreadPlan, text: str | None, *, several_programs: bool = False) -> Sent:
    """`text`: the optimised HLO; None where it cannot be read, and of `several_programs`."""
    if plan.spread.devices == 1:
        return Sent()
    model = model_ring_bytes(sendings(case.shape, case.dtype, case.bench_pass, plan))
    if several_programs:
        return Sent(compiled=Communication(unknown="the case is several programs"), model=model)
    return Sent(compiled=read_communication(text), model=model)
