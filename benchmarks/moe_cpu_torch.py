"""The torch forms of the block, for `moe_cpu.py` and `moe_gpu.py`. torch is no dependency: see scripts/bench_torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from moe_cpu_cells import Arrays, Program, compared_part
from moe_cpu_peers import Peer

from bench_core.routing.topk import Routing
from bench_core.shapes import BenchPass

THREADS = 2
NAMES = ("torch loop", "torch grouped_mm")
Tensors = dict[str, Any]


def load() -> tuple[Any, str | None]:
    """The module torch with its threads set, or why there is none."""
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError:
        return None, "torch is not installed here: scripts/bench_torch makes .venv-torch, which has it"
    torch.set_num_threads(THREADS)
    return torch, None


def _loop(torch: Any, program: Program) -> Callable[[Tensors, Any, Any], Any]:
    """Expert after expert: its tokens by index, the gated expert, index_add into the output."""

    def forward(a: Tensors, experts: Any, weights: Any) -> Any:
        output = torch.zeros_like(a["x"])
        matrices = zip(a["w1"].unbind(0), a["w3"].unbind(0), a["w2"].unbind(0), strict=True)
        for number, (w1, w3, w2) in enumerate(matrices):
            token, slot = torch.where(experts == number)
            rows = a["x"][token]
            result = (torch.nn.functional.silu(rows @ w1) * (rows @ w3)) @ w2
            output.index_add_(0, token, result * weights[token, slot, None])
        return output

    return forward


def _grouped(torch: Any, program: Program) -> Callable[[Tensors, Any, Any], Any]:
    """Assignments sorted by expert, two grouped matmuls, back by the inverse permutation, sum over a token's slots.

    These are the steps of the grouped_mm experts in transformers.
    """
    functional = torch.nn.functional
    grouped_mm = functional.grouped_mm if hasattr(functional, "grouped_mm") else torch._grouped_mm

    def forward(a: Tensors, experts: Any, weights: Any) -> Any:
        flat = experts.reshape(-1)
        order = torch.argsort(flat)
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(order.numel(), device=order.device)
        ends = torch.cumsum(torch.bincount(flat, minlength=program.experts), 0).to(torch.int32)
        rows = a["x"][order // program.topk]
        gate, up = grouped_mm(rows, a["w13"], offs=ends).chunk(2, dim=-1)
        result = grouped_mm(functional.silu(gate) * up, a["w2"], offs=ends)
        weighted = result * weights.reshape(-1)[order][:, None]
        return weighted[inverse].view(-1, program.topk, weighted.shape[-1]).sum(dim=1)

    return forward


FORMS = {"torch loop": (_loop, ("x", "w1", "w3", "w2")), "torch grouped_mm": (_grouped, ("x", "w13", "w2"))}


def torch_peer(
    torch: Any,
    name: str,
    program: Program,
    inputs: dict[str, jax.Array],
    routings: dict[str, Routing],
    device: str = "cpu",
) -> Peer:
    """One form, eager, with the numbers of `inputs`.

    Raises:
        RuntimeError: torch has no such operation for the dtype on the device.
    """
    make, names = FORMS[name]
    forward = make(torch, program)
    dtype = getattr(torch, program.dtype.value)
    training = program.bench_pass is BenchPass.FORWARD_BACKWARD

    def tensor(array: Any) -> Any:
        # Through float32, which holds every bfloat16: NumPy has no such type for torch to read.
        return torch.from_numpy(np.array(array, np.float32)).to(device, dtype)

    whole = {key: tensor(array) for key, array in inputs.items()}
    if "w13" in names:
        whole["w13"] = torch.cat([whole["w1"], whole["w3"]], dim=-1)
    leaves = {key: whole[key].requires_grad_(training) for key in names}
    chosen = {
        sizes: (torch.from_numpy(np.array(routing.experts, np.int64)).to(device), tensor(routing.weights))
        for sizes, routing in routings.items()
    }

    def start(sizes: str) -> Tensors:
        if not training:
            with torch.no_grad():
                return {"output": forward(leaves, *chosen[sizes])}
        output = forward(leaves, *chosen[sizes])
        gradients = torch.autograd.grad(output.float().square().mean(), list(leaves.values()))
        return {"output": output.detach(), **{f"grad_{key}": g for key, g in zip(leaves, gradients, strict=True)}}

    def wait(outputs: Tensors) -> Tensors:
        if device != "cpu":
            torch.cuda.synchronize()
        return outputs

    def arrays(outputs: Tensors) -> Arrays:
        named = dict(outputs)
        if "grad_w13" in named:
            named["grad_w1"], named["grad_w3"] = named.pop("grad_w13").chunk(2, dim=-1)
        return {key: compared_part(key, value).float().cpu().numpy() for key, value in named.items()}

    peer = Peer(start=start, wait=wait, arrays=arrays)
    peer.run(next(iter(routings)))
    return peer
