"""Make the compiled programs that tests read collectives from: tests/contract/bench_core/data/hlo/*.txt.gz.

    python benchmarks/hlo_programs.py                      # all, 6 to 30 processor-seconds each
    python benchmarks/hlo_programs.py --only ring psum     # some

Each program is scheduled by libtpu for a TPU that is not there. The compiler writes the scheduled program into a folder
before it generates code, which takes the most time and is not waited for. What a reader of communication does not need
is left out of the files: kernels, sources of lines, estimates of the compiler.
"""

import argparse
import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests/contract/bench_core/data" / "hlo"
LONGEST_S = 500

SHAPE = "--tokens 32768 --hidden 2048 --mlp-dim 2048 --experts 64 --topk 2 --bench-pass forward_backward --backend gmm"
EP = f"{SHAPE} --aot v5p-8 --parallel-mode ep --ep-impl"
# Cases of the benchmark, as anybody would type them after `bench-core hillclimb`. all_to_all_async.txt.gz is of an
# earlier version, whose all_to_all could send its tokens in two chunks.
CASES = {
    "psum": f"{EP} psum",
    "ring": f"{EP} ring",
    "all_to_all": f"{EP} all_to_all",
    "ragged": f"{EP} ragged_all_to_all",
    "ragged_async": f"{EP} ragged_all_to_all --compiler-flag xla_tpu_enable_async_ragged_all_to_all=true",
    "dp": f"{SHAPE} --aot v5p-8 --parallel-mode dp",
    "ring_2x2": f"{EP} ring --dp-size 2 --ep-size 2",
    "ring_64": f"{SHAPE} --aot v5p-128 --parallel-mode ep --ep-impl ring",
    "ring_4x16": f"{SHAPE} --aot v5p-128 --parallel-mode ep --ep-impl ring --dp-size 4 --ep-size 16",
}
# Programs of this file.
OTHERS = ("psum_unchecked", "gathers_async", "loop")
ASYNC_GATHERS = {
    "xla_enable_async_all_gather": "true",
    "xla_tpu_enable_async_collective_fusion_fuse_all_gather": "true",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=(*CASES, *OTHERS), default=(*CASES, *OTHERS))
    parser.add_argument("--compile", choices=OTHERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        compile_other(options.compile)
        return
    FOLDER.mkdir(exist_ok=True)
    for name in options.only:
        started = time.perf_counter()
        itself = [sys.executable, __file__, "--compile", name]
        words = [sys.executable, "-m", "bench_core", "hillclimb", *CASES[name].split()] if name in CASES else itself
        text = stripped(scheduled(words))
        path = FOLDER / f"{name}.txt.gz"
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{name}: {path.stat().st_size} bytes, {time.perf_counter() - started:.0f} s")


def scheduled(command: list[str]) -> str:
    """The scheduled program that a command compiles for a TPU. The command is ended when it is there."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"XLA_FLAGS": f"--xla_dump_to={folder}"}
        quiet = subprocess.DEVNULL
        child = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet, start_new_session=True)
        try:
            until = time.monotonic() + LONGEST_S
            # Written after the program. Modules that the CPU computes the routing with have another prefix.
            while not (found := list(Path(folder).glob("*.cl_*.after_optimizations-memory-usage-report.txt"))):
                if child.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"no program came from: {' '.join(command)}")
                time.sleep(0.1)
            (report,) = found
            return report.with_name(report.name.replace("-memory-usage-report", "")).read_text()
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def stripped(text: str) -> str:
    """The program without what says nothing about communication."""
    kept, skipping = [], False
    for line in text.splitlines():
        # Tables of source lines stand behind the header.
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            skipping = True
        elif line.startswith(("%", "ENTRY")):
            skipping = False
        if skipping:
            continue
        turns = re.search(r'"known_trip_count":\{"n":"\d+"\}', line)
        line = re.sub(r", backend_config=\{.*\}$", f", backend_config={{{turns.group()}}}" if turns else "", line)
        line = re.sub(r', frontend_attributes=\{(?:[^{}"]|"[^"]*"|\{[^{}]*\})*\}', "", line)
        line = re.sub(
            r" (?:source_file|source_line|stack_frame_id|source_end_line|source_column)=\S+?(?=[ }])", "", line
        )
        line = re.sub(r", operand_layout_constraints=\{.*?\}\}(?=,|$)", "", line)
        kept.append(line)
    return "\n".join(kept) + "\n"


def compile_other(name: str) -> None:
    """Compile one of the small programs, as the child of `scheduled`."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    from bench_core.aot.libtpu import compile_devices
    from bench_core.aot.targets import choose_target

    mesh = Mesh(compile_devices(choose_target("v5p-8")), ("x",))

    def of(shape: tuple[int, ...], *axes: str | None) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, P(*axes)))

    def product(x, up, down):
        """A dense layer whose width lies apart; the tokens are on every device."""
        return jax.lax.psum(jax.nn.relu(x @ up) @ down, "x")

    def psum_gradient(x, up, down):
        places = {"in_specs": (P(), P(None, "x"), P("x", None)), "out_specs": P()}
        layer = jax.shard_map(product, mesh=mesh, check_vma=False, **places)

        def loss(*arguments):
            return jnp.square(layer(*arguments).astype(jnp.float32)).mean()

        return jax.grad(loss, argnums=(0, 1, 2))(x, up, down)

    def layers_gradient(x, weights):
        def loss(weights):
            y = x
            for weight in weights:
                y = jax.nn.relu(y @ weight)
            return y.astype(jnp.float32).sum()

        return jax.grad(loss)(weights)

    def loop(x, weights):
        return jax.lax.scan(lambda y, weight: (jax.nn.relu(y @ weight), None), x, weights)[0]

    psum = psum_gradient, (of((32768, 2048)), of((2048, 2048), None, "x"), of((2048, 2048), "x", None)), None
    x, layers = of((32768, 4096), "x", None), [of((4096, 4096), "x", None)] * 4
    gathers = layers_gradient, (x, layers), [layer.sharding for layer in layers]
    function, arguments, outputs = {
        "psum_unchecked": psum,
        "gathers_async": gathers,
        "loop": (loop, (x, of((7, 4096, 4096), None, "x", None)), None),
    }[name]
    jitted = jax.jit(function) if outputs is None else jax.jit(function, out_shardings=outputs)
    jitted.lower(*arguments).compile(compiler_options=ASYNC_GATHERS if name == "gathers_async" else None)


if __name__ == "__main__":
    main()
