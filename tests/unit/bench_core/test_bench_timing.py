import dataclasses
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from bench_core.errors import NonFiniteOutput
from bench_core.timing.compiling import program_memory
from bench_core.timing.measure import Program, call, compile_program, sample
from bench_core.timing.staged import Stage, compile_staged


def test_every_stage_is_timed_apart_and_every_sample_kept() -> None:
    ticks = count()

    def clock() -> float:
        return float(next(ticks) ** 2)

    program = compile_program(lambda x: {"y": x + 1}, (jnp.ones(3),), clock)
    # The clock reads 0, 1, 4, 9, ...: each stage shows which two readings it lies between.
    assert (program.lower_s, *filter(None, dataclasses.astuple(program.took))) == (1 - 0, 9 - 4)
    assert call(program, clock).time_s == 25 - 16
    samples = sample(program, warmup=1, iters=3, clock=clock)
    assert samples.warmup_s == (49 - 36,)
    assert samples.time_s == (81 - 64, 121 - 100, 169 - 144)
    assert samples.outputs["y"].tolist() == [2.0, 2.0, 2.0]


def _leaving(unwritten: int) -> Program:
    """x + 1, but call number `unwritten` leaves its output as it was."""
    calls = count()

    def into(arguments, outputs):
        number = io_callback(lambda: np.int32(next(calls)), jax.ShapeDtypeStruct((), np.int32))
        return {"y": jnp.where(number == unwritten, outputs["y"], arguments[0] + 1)}

    program = compile_program(lambda x: {"y": x + 1}, (jnp.ones(3),))
    lowered = jax.jit(into, donate_argnums=1).lower(program.arguments, program.outputs)
    return dataclasses.replace(program, run=lowered.compile())


@pytest.mark.parametrize("unwritten", [0, 1, 3])
def test_an_output_that_a_call_leaves_unwritten_is_found(unwritten) -> None:
    with pytest.raises(NonFiniteOutput, match="y holds NaN"):
        sample(_leaving(unwritten), warmup=1, iters=3)


@pytest.mark.slow
def test_outputs_of_all_calls_share_one_memory() -> None:
    program = compile_program(lambda x: {"y": x + 1}, (jnp.ones(1000),))
    first = call(program).outputs
    place = first["y"].unsafe_buffer_pointer()
    again = call(program, before=first).outputs
    assert again["y"].unsafe_buffer_pointer() == place
    assert first["y"].is_deleted()


def test_memory_of_a_program_counts_arguments_outputs_and_temporaries_once() -> None:
    x = jnp.ones((64, 64))
    program = compile_program(lambda x, unused: {"y": (x @ x) @ (x @ x).T}, (x, np.ones(16, np.float32)))
    memory = program_memory(program.executable)
    assert memory is not None
    assert memory.arguments == x.nbytes + 16 * 4
    assert x.nbytes <= memory.outputs <= x.nbytes + 64
    assert memory.temporaries >= x.nbytes
    assert memory.total == memory.arguments + memory.outputs + memory.temporaries + memory.code


@pytest.mark.parametrize("waits", [False, True])
def test_several_programs_are_one_call(waits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = [
        Stage(name="one", takes=("x",), gives=("double", "half"), function=lambda x: {"double": 2 * x, "half": x / 2}),
        Stage(name="two", takes=("double", "y"), gives=("sum",), function=lambda double, y: {"sum": double + y}),
        Stage(name="three", takes=("sum", "half"), gives=("z",), function=lambda sum, half: {"z": sum * half}),
    ]
    ticks = count()
    arguments = {"x": jnp.full(3, 3.0), "y": jnp.ones(3)}
    program = compile_staged(stages, arguments, lambda: float(next(ticks)), waits=waits)
    assert (program.lower_s, *filter(None, dataclasses.astuple(program.took))) == (3, 3)
    waited: list[object] = []
    ready = jax.block_until_ready
    monkeypatch.setattr(jax, "block_until_ready", lambda given: waited.append(given) or ready(given))
    samples = sample(program, warmup=1, iters=2, clock=lambda: float(next(ticks)))
    # One reading before the first program and one behind the last, however many there are.
    assert samples.time_s == (1, 1)
    assert samples.outputs["z"].tolist() == [10.5] * 3
    # Before and behind each call, and where the host waits behind the first two programs.
    assert len(waited) == 3 * 2 + (3 * 2 if waits else 0)
