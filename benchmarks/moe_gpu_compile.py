"""The kernels of backend `pallas_gpu` compiled for an H200 that is not there: what fits, and in how many registers.

    python benchmarks/moe_gpu_compile.py [--blocks 128,128,64,8,3]

It needs JAX's plug-in for CUDA (scripts/bench_gpu), and no GPU. Nothing here is a timing. For each shape and pass of
the routed experts as one operation, XLA compiles the program for compute capability 9.0, and `ptxas` says what each
kernel takes of a thread's 255 registers and what it spills to memory. A tile that needs more shared memory than a
block of threads can have does not compile: the compiler's words stand in its row. Kernels of one program that are the
same to the letter count once.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from moe_aot import SHAPES

from bench_core.blocks.gated import GatedInputs
from bench_core.blocks.gated_pallas import Experts
from bench_core.gmm.pallas_gpu import PallasGpu
from bench_core.gmm.pallas_gpu_tiles import Blocks

# What XLA asks of a device that it compiles for, after NVIDIA's data sheet of the H200 SXM and the table of compute
# capability 9.0 in the CUDA programming guide.
H200 = """
gpu_device_info {
  threads_per_block_limit: 1024  threads_per_warp: 32  threads_per_core_limit: 2048
  shared_memory_per_block: 49152  shared_memory_per_block_optin: 232448  shared_memory_per_core: 233472
  registers_per_core_limit: 65536  registers_per_block_limit: 65536
  core_count: 132  fpus_per_core: 128  clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535  block_dim_limit_z: 65535
  memory_bandwidth: 4800000000000  l2_cache_size: 52428800  device_memory_size: 150754820096
  cuda_compute_capability { major: 9 minor: 0 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 }
runtime_version { major: 12 minor: 9 patch: 0 }
device_description_str: "NVIDIA H200"
"""
HEAD = "| shape | topk | dtype | tile M,N,K,warps,stages | what | kernels | most registers | spilled bytes | |"


def programs(
    backend: PallasGpu, sizes: tuple[int, int, int, int], topk: int, dtype: str
) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The two passes over the experts, w1 and w3 apart, and the shapes of their arguments."""
    tokens, hidden, mlp_dim, experts = sizes
    rows = tokens * topk

    def array(*shape: int, dtype: str = dtype) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype)

    x, ups, down = array(tokens, hidden), (array(experts, hidden, mlp_dim),) * 2, array(experts, mlp_dim, hidden)
    slots = array(rows, dtype="int32"), array(rows, dtype="float32"), array(experts, dtype="int32")
    kept, cotangent = (array(rows, mlp_dim, dtype="float32"),) * 2, array(tokens, hidden, dtype="float32")
    computed = Experts(backend)

    def inputs(x: Any, ups: Any, down: Any, slots: Any) -> GatedInputs:
        token, weight, sizes = slots
        return GatedInputs(x=x, up_weights=ups, down_weights=down, token=token, weight=weight, group_sizes=sizes)

    def forward(*arguments: Any) -> Any:
        return computed.forward(inputs(*arguments), keep=True)

    def backward(kept: Any, cotangent: Any, *arguments: Any) -> Any:
        return computed.backward(inputs(*arguments), kept, cotangent)

    return {"forward": (forward, (x, ups, down, slots)), "backward": (backward, (kept, cotangent, x, ups, down, slots))}


def compiled(
    function: Callable[..., Any], arguments: tuple[Any, ...], sharding: NamedSharding, dump: Path
) -> list[str]:
    """Kernels, most registers, spilled bytes and what failed, of one program, which XLA leaves in the folder `dump`."""
    for path in dump.iterdir():
        path.unlink()
    placed = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), arguments)
    try:
        jax.jit(function).lower(*placed).compile()
    except jax.errors.JaxRuntimeError as error:
        return ["", "", "", " ".join(str(error).split())[:120]]
    # XLA's own kernels have other names.
    texts = {path.read_text(): path for path in dump.glob("*.ptx")}
    verdicts = [_assembled(path) for text, path in texts.items() if ".entry kernel" in text]
    registers = max(int(re.findall(r"Used (\d+) registers", text)[0]) for text in verdicts)
    spilled = sum(int(size) for text in verdicts for size in re.findall(r"(\d+) bytes spill stores", text))
    return [str(len(verdicts)), str(registers), str(spilled), ""]


def _assembled(path: Path) -> str:
    command = [_ptxas(), "-v", "-arch=sm_90a", str(path), "-o", os.devnull]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def _ptxas() -> str:
    """That of the package beside JAX's plug-in, or one on PATH.

    Raises:
        SystemExit: there is none.
    """
    packaged = [found for folder in sys.path for found in Path(folder).glob("nvidia/*/bin/ptxas")]
    found = str(packaged[0]) if packaged else shutil.which("ptxas")
    if found is None:
        raise SystemExit("error: ptxas is not installed; it comes with jax[cuda13], which scripts/bench_gpu installs")
    return found


def blocks_of(text: str) -> Blocks:
    return Blocks(**dict(zip(("m", "n", "k", "warps", "stages"), map(int, text.split(",")), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default=",".join(SHAPES), help="comma-separated")
    parser.add_argument("--topk", type=int, default=8)
    parser.add_argument("--dtypes", default="bfloat16,float32", help="comma-separated")
    parser.add_argument("--blocks", action="append", type=blocks_of, metavar="M,N,K,WARPS,STAGES", help="other tiles")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _table(options, Path(folder))


def _table(options: argparse.Namespace, dump: Path) -> None:
    # Read when JAX starts. The plug-in compares its version with the driver's unless it is told not to.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={dump} --xla_gpu_autotune_level=0"
    try:
        topology = topologies.get_topology_desc("", "cuda", target_config=H200, topology="1x1x1")
    except NotImplementedError as error:
        print(
            f"error: JAX cannot compile for CUDA here: {error}\n"
            "  cause: JAX's plug-in for CUDA is not installed\n"
            "  next: run scripts/bench_gpu, then use .venv-gpu/bin/python",
            file=sys.stderr,
        )
        raise SystemExit(2) from error
    sharding = NamedSharding(Mesh(np.array(topology.devices), ("one",)), PartitionSpec())
    print(f"jax {jax.__version__}, compiled only\n\n{HEAD}\n|{' --- |' * (HEAD.count('|') - 1)}", flush=True)
    for dtype in options.dtypes.split(","):
        for blocks in options.blocks or [None]:
            backend = replace(PallasGpu(interpret=False), blocks=blocks)
            tile = "own" if blocks is None else f"{blocks.m},{blocks.n},{blocks.k},{blocks.warps},{blocks.stages}"
            for shape in options.shapes.split(","):
                for what, (function, arguments) in programs(backend, SHAPES[shape], options.topk, dtype).items():
                    words = [
                        shape,
                        str(options.topk),
                        dtype,
                        tile,
                        what,
                        *compiled(function, arguments, sharding, dump),
                    ]
                    print("| " + " | ".join(words) + " |", flush=True)


if __name__ == "__main__":
    main()
