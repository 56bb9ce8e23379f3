"""Model FLOPs and compulsory memory traffic of a gated MoE block, and rates."""

from dataclasses import dataclass

from bench_core.shapes import BenchPass, DType, MoeShape


def count_flops(shape: MoeShape, bench_pass: BenchPass, *, assignments: int | None = None) -> int:
    """Model FLOPs of one call. A multiply and an add count as two.

    forward = 6 * hidden * (assignments * mlp_dim + tokens * shared_expert_dim): three matmuls (w1, w3, w2)
    of 2 * hidden * width FLOPs for each row. The backward pass has two matmuls (operand gradients) for each
    matmul of the forward pass, hence forward_backward = 3 * forward. `train` has a router, too, of
    6 * tokens * hidden * experts. This reproduces the dense (TF/s, tokens/s) pairs of the published MoE logbooks.

    Elementwise work, routing, quantisation and recomputation are not model FLOPs and are left out, so
    that TF/s of two implementations of one case differ by their time alone.

    Args:
        shape: sizes of the block.
        bench_pass: what one call computes.
        assignments: rows that the experts really compute; default tokens * topk. Under null routing and
            `--capacity-policy drop` the rows that are left, under `pad` experts * capacity.
    """
    rows = shape.assignments if assignments is None else assignments
    router = 2 * shape.tokens * shape.experts if bench_pass is BenchPass.TRAIN else 0
    forward = shape.hidden * (6 * (rows * shape.mlp_dim + shape.tokens * shape.shared_expert_dim) + router)
    return 3 * forward if bench_pass.backward else forward


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Rates over all devices used: 1e12 model FLOPs per second, and tokens per second."""

    tflops: float
    tokens_per_s: float


def throughput(*, flops: int, tokens: int, time_s: float) -> Throughput:
    """Rates of one call of `flops` model FLOPs over `tokens` tokens that took `time_s` seconds.

    Raises:
        ValueError: `time_s` is not positive (a clock that stood still measures nothing).
    """
    if time_s <= 0:
        raise ValueError(f"a duration of {time_s} s has no throughput")
    return Throughput(tflops=flops / time_s / 1e12, tokens_per_s=tokens / time_s)


ITEM_BYTES = {DType.FLOAT32: 4, DType.BFLOAT16: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteTerms:
    """Bytes of one call: weights of the routed experts, weights of a shared expert and a router, and of every matmul
    the left operand and the result, `rows`.

    A lower bound for a block whose matmuls are separate programs: every array is moved once, in the case's dtype. w1
    and w3 count as one matmul, which reads its rows once, also where an implementation multiplies twice (`baseline`).
    Routing, the copies of dispatch and combine, and whatever an implementation keeps in float32 are not in it.
    """

    routed: int
    shared: int
    rows: int

    @property
    def total(self) -> int:
        return self.routed + self.shared + self.rows

    def per_device(self, *, ep: int, devices: int) -> float:
        """Those of one of `devices` that share the work evenly, of which `ep` share the experts: it reads its own
        experts' weights, a shared expert's whole ones, and its part of the rows."""
        return self.routed / ep + self.shared + self.rows / devices


def count_bytes(shape: MoeShape, dtype: DType, bench_pass: BenchPass, *, assignments: int | None = None) -> ByteTerms:
    """Bytes of one call.

    A matmul [m, k] @ [k, n] moves m k + k n + m n elements. Its two backward matmuls move three arrays of the
    same sizes each, hence forward_backward = 3 * forward, as with FLOPs. Weights of experts that cannot have
    a row (fewer assignments than experts) are not moved.

    Args:
        shape: sizes of the block.
        dtype: of activations and weights.
        bench_pass: what one call computes.
        assignments: rows that the experts really compute; default tokens * topk.
    """
    rows = shape.assignments if assignments is None else assignments
    unit = ITEM_BYTES[dtype] * (3 if bench_pass.backward else 1)
    hidden, experts = shape.hidden, shape.experts if bench_pass is BenchPass.TRAIN else 0
    shared_rows = shape.tokens if shape.shared_expert_dim else 0
    # Up reads hidden and writes two widths, down reads one and writes hidden; a router reads hidden.
    moved = rows * (2 * hidden + 3 * shape.mlp_dim) + shared_rows * (2 * hidden + 3 * shape.shared_expert_dim)
    moved += shape.tokens * (hidden + experts) if experts else 0
    return ByteTerms(
        routed=unit * 3 * hidden * shape.mlp_dim * min(shape.experts, rows),
        shared=unit * hidden * (3 * shape.shared_expert_dim + experts),
        rows=unit * moved,
    )


def size(count: float) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit, word in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {word}"
    return f"{count:.4g} bytes"
