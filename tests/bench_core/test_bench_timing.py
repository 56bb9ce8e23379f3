from itertools import count

import jax.numpy as jnp

from bench_core.timing.measure import call, compile_program, sample


def test_every_stage_is_timed_apart_and_every_sample_kept() -> None:
    ticks = count()

    def clock() -> float:
        return float(next(ticks) ** 2)

    program = compile_program(lambda x: {"y": x + 1}, (jnp.ones(3),), clock)
    # The clock reads 0, 1, 4, 9, ...: each stage shows which two readings it lies between.
    assert (program.lower_s, program.compile_s) == (1 - 0, 4 - 1)
    assert call(program, clock).time_s == 16 - 9
    samples = sample(program, warmup=1, iters=3, clock=clock)
    assert samples.warmup_s == (36 - 25,)
    assert samples.time_s == (64 - 49, 100 - 81, 144 - 121)
    assert samples.outputs["y"].tolist() == [2.0, 2.0, 2.0]
