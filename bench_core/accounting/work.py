"""Model FLOPs and compulsory memory traffic of a gated MoE block, by named term, and rates."""

from dataclasses import dataclass, fields

from bench_core.shapes import BenchPass, DType, MoeShape


@dataclass(frozen=True, slots=True, kw_only=True)
class FlopTerms:
    """FLOPs of one call, by matmul. A multiply and an add count as two.

    Elementwise work, routing, quantisation and recomputation are not model FLOPs and are left out, so
    that TF/s of two implementations of one case differ by their time alone.
    """

    routed_up: int
    routed_down: int
    shared_up: int
    shared_down: int
    router: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


def count_flops(shape: MoeShape, bench_pass: BenchPass, *, assignments: int | None = None) -> FlopTerms:
    """Model FLOPs of one call.

    forward = 6 * hidden * (assignments * mlp_dim + tokens * shared_expert_dim): three matmuls (w1, w3, w2)
    of 2 * hidden * width FLOPs for each row. The backward pass has two matmuls (operand gradients) for each
    matmul of the forward pass, hence forward_backward = 3 * forward. `train` has a router, too, of
    6 * tokens * hidden * experts. This reproduces the dense (TF/s,
    tokens/s) pairs of the published MoE logbooks.

    Args:
        shape: sizes of the block.
        bench_pass: what one call computes.
        assignments: rows that the experts really compute; default tokens * topk. Under null routing and
            `--capacity-policy drop` the rows that are left, under `pad` experts * capacity.
    """
    rows = shape.assignments if assignments is None else assignments
    passes = 3 if bench_pass.backward else 1
    router = passes * 2 * shape.tokens * shape.hidden * shape.experts if bench_pass is BenchPass.TRAIN else 0
    routed = passes * 2 * shape.hidden * shape.mlp_dim * rows
    shared = passes * 2 * shape.hidden * shape.shared_expert_dim * shape.tokens
    return FlopTerms(routed_up=2 * routed, routed_down=routed, shared_up=2 * shared, shared_down=shared, router=router)


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
    """Bytes of one call, by matmul and by what is moved.

    `*_weights` are the weights of that matmul, `*_rows` its left operand and its result. A lower bound for a
    block whose matmuls are separate programs: every array is moved once, in the case's dtype. w1 and w3 count as one
    matmul, which reads its rows once, also where an implementation multiplies twice (`baseline`). Routing, the
    copies of dispatch and combine, and whatever an implementation keeps in float32 are not in it.
    """

    routed_up_weights: int
    routed_up_rows: int
    routed_down_weights: int
    routed_down_rows: int
    shared_up_weights: int
    shared_up_rows: int
    shared_down_weights: int
    shared_down_rows: int
    router_weights: int = 0
    router_rows: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


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
    router = unit if bench_pass is BenchPass.TRAIN else 0
    active = min(shape.experts, rows)
    routed = unit * shape.hidden * shape.mlp_dim * active
    shared = unit * shape.hidden * shape.shared_expert_dim
    has_shared = shape.shared_expert_dim > 0
    shared_rows = shape.tokens if has_shared else 0
    return ByteTerms(
        routed_up_weights=2 * routed,
        routed_up_rows=unit * rows * (shape.hidden + 2 * shape.mlp_dim),
        routed_down_weights=routed,
        routed_down_rows=unit * rows * (shape.mlp_dim + shape.hidden),
        shared_up_weights=2 * shared,
        shared_up_rows=unit * shared_rows * (shape.hidden + 2 * shape.shared_expert_dim),
        shared_down_weights=shared,
        shared_down_rows=unit * shared_rows * (shape.shared_expert_dim + shape.hidden),
        router_weights=router * shape.hidden * shape.experts,
        router_rows=router * shape.tokens * (shape.hidden + shape.experts),
    )


def size(count: float) -> str:
    """A number of bytes, in the unit that suits it."""
    for unit, word in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.4g} {word}"
    return f"{count:.4g} bytes"
