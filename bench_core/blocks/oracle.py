"""The float64 oracle: every expert on every token, masked, with hand-derived gradients. NumPy only.

Its semantics are those of the block's definition, not of any implementation: there is no sorting, no
grouping and no fusion in it. Operands are rounded to the case's dtype at the block's declared points
(matmul operands, cotangents of matmuls, the output), because that rounding is what the dtype means; all
else is float64. Quantisation is that of `quant.py`, gradients straight-through.

Each result carries a bound on what a correct program may differ by (see `bounded`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench_core.arrays import Bool, Float32, Int, Int32, Shaped
from bench_core.blocks.bounded import Bounded, BoundedMath
from bench_core.blocks.modes import ALONE, Sends, added
from bench_core.shapes import BenchPass, QuantMode

INPUT_GRADIENT_ROUNDINGS = 5
"""Most roundings to the case's dtype of one term of grad_x: result of its matmul, sum of the w1 and w3 paths,
sum over a token's assignments, and two additions where routed and shared paths meet. Implementations differ
in which of them they have, hence a bound and no mirrored rounding."""

INTEGER_SUM_ROUNDINGS = 3


@dataclass(frozen=True, kw_only=True)
class OracleInputs:
    """A case's inputs as the program got them, on the host. Weights by their unfused names."""

    x: Shaped[np.ndarray, "tokens hidden"]
    weights: Mapping[str, Shaped[np.ndarray, "group rows columns"]]
    experts: Int32[np.ndarray, "tokens topk"]
    """A number past the last expert is a null slot."""
    routing_weights: Float32[np.ndarray, "tokens topk"]
    capacity: int | None = None
    """Slots that a bucket may have; those of later tokens are dropped."""
    buckets: Int[np.ndarray, "tokens topk"] | None = None
    """The bucket of each slot; None: its expert."""
    logits: Float32[np.ndarray, "tokens all_experts"] | None = None
    """Of which the program itself makes the routing weights, where it does: then these are no shared numbers."""

    @cached_property
    def kept(self) -> Bool[np.ndarray, "tokens topk"]:
        """Which slots are not dropped."""
        buckets = self.experts if self.buckets is None else self.buckets
        kept = np.ones(buckets.shape, np.bool_)
        if self.capacity is not None:
            for bucket in np.unique(buckets):
                own = buckets == bucket
                kept &= ~own | (np.cumsum(own.reshape(-1)).reshape(own.shape) <= self.capacity)
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expert:
    """One expert on every token: the operands of its backward matmuls, and what else that pass needs again.

    They are in the case's dtype; rounding what was rounded already changes nothing.
    """

    rows: Bounded
    w1: Bounded
    w3: Bounded
    w2: Bounded
    gate: Bounded
    activated: Bounded
    up: Bounded
    hidden: Bounded
    output: Bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """Computes what a pass must give. `math` knows dtype and arithmetic; `sends` are the roundings of what devices send
    to each other."""

    math: BoundedMath
    quant_mode: QuantMode
    sends: Sends = ALONE

    def expected(self, inputs: OracleInputs, bench_pass: BenchPass) -> dict[str, Bounded]:
        """Every output of the pass by its unfused name (see `blocks.program`)."""
        experts = inputs.weights["w2"].shape[0]
        weights = self._routing_weights(inputs)
        shares = [_share(inputs, weights, index) for index in range(experts)]
        rows = self._operand(Bounded.exact(inputs.x), axis=-1)
        routed = [self._forward(rows, inputs.weights, index) for index in range(experts)]
        parts = [self.math.multiply(share, expert.output) for share, expert in zip(shares, routed, strict=True)]
        shared = None
        if "shared_w1" in inputs.weights:
            shared = self._forward(rows, inputs.weights, 0, prefix="shared_")
            parts.append(shared.output)
        terms = inputs.experts.shape[1] + (shared is not None)
        roundoff = self.math.sent(self.sends.output)
        output = self.math.rounded(self.math.sum(parts, terms=terms, roundoff=roundoff))
        if bench_pass is BenchPass.FORWARD:
            return {"output": output}
        size = output.value.size
        # The factor 2 / size is itself rounded, and 1 / size may be a factor of its own.
        factor = Bounded.exact(np.full_like(output.value, 2.0 / size))
        cotangent = self.math.rounded(self.math.multiply(output, factor, roundings=4))
        gradients, input_terms = self._gradients(cotangent, routed, shares, shared)
        if bench_pass is BenchPass.TRAIN:
            gradients["grad_router"], term = self._router_gradient(inputs, weights, cotangent, routed)
            input_terms.append(term)
        roundoff = INPUT_GRADIENT_ROUNDINGS * self.math.dtype_roundoff + self.math.sent(self.sends.input_gradient)
        gradients["grad_x"] = self.math.sum(input_terms, roundoff=roundoff)
        return {"output": output, "loss": self._loss(output)} | gradients

    def _routing_weights(self, inputs: OracleInputs) -> Bounded:
        """Those that the program was given, or makes of logits and of x @ router."""
        if inputs.logits is None:
            return Bounded.exact(inputs.routing_weights)
        logits = Bounded.exact(np.take_along_axis(inputs.logits, inputs.experts, axis=1))
        if "router" in inputs.weights:
            learned = self.math.matmul(Bounded.exact(inputs.x), Bounded.exact(inputs.weights["router"][0]))
            own = (np.take_along_axis(part, inputs.experts, axis=1) for part in (learned.value, learned.error))
            value, error = own
            logits = self.math.sum([logits, Bounded(value=value, error=error)])
        return self.math.softmax(logits)

    def _operand(self, x: Bounded, *, axis: int) -> Bounded:
        """An operand as it enters a forward matmul: quantised, and rounded unless it is a code with a scale."""
        if self.quant_mode is QuantMode.NONE:
            return self.math.rounded(x)
        quantised = self.math.fake_quantised(x, axis=axis)
        return quantised if self.quant_mode is QuantMode.INT8_REAL else self.math.rounded(quantised)

    def _matmul(self, left: Bounded, right: Bounded) -> Bounded:
        """A forward matmul. Sums of codes are exact: what int8_real rounds is the sum's conversion to float32
        and its two scalings."""
        terms = INTEGER_SUM_ROUNDINGS if self.quant_mode is QuantMode.INT8_REAL else None
        return self.math.matmul(left, right, terms=terms)

    def _forward(
        self,
        rows: Bounded,
        weights: Mapping[str, np.ndarray],
        index: int,
        *,
        prefix: str = "",
    ) -> _Expert:
        """`rows`: of x, an operand."""
        w1, w3, w2 = (
            self._operand(Bounded.exact(weights[f"{prefix}{name}"][index]), axis=-2) for name in ("w1", "w3", "w2")
        )
        gate, up = self._matmul(rows, w1), self._matmul(rows, w3)
        activated = self.math.silu(gate)
        hidden = self._operand(self.math.multiply(activated, up), axis=-1)
        return _Expert(
            rows=self.math.rounded(rows) if self.quant_mode is QuantMode.INT8_REAL else rows,
            w1=self.math.rounded(w1),
            w3=self.math.rounded(w3),
            w2=self.math.rounded(w2),
            gate=gate,
            activated=activated,
            up=up,
            hidden=self.math.rounded(hidden),
            output=self._matmul(hidden, w2),
        )

    def _loss(self, output: Bounded) -> Bounded:
        """Mean of squares over all elements."""
        square = self.math.multiply(output, output)
        gamma = self.math.arithmetic.gamma(output.value.size + 1)
        error = square.error.mean() + gamma * square.magnitude.mean()
        return Bounded(value=np.array(square.value.mean()), error=np.array(error))

    def _gradients(
        self, cotangent: Bounded, routed: list[_Expert], shares: list[Bounded], shared: _Expert | None
    ) -> tuple[dict[str, Bounded], list[Bounded]]:
        """The gradients of the experts' weights, and the terms of that of x."""
        gradients: dict[str, list[Bounded]] = {"w1": [], "w3": [], "w2": []}
        input_terms: list[Bounded] = []
        for expert, share in zip(routed, shares, strict=True):
            rows = int(np.count_nonzero(share.value.any(axis=1)))
            own = self.math.rounded(self.math.multiply(share, cotangent))
            by_name, terms = self._backward(expert, own, rows, parts=self.sends.weight_parts)
            for name, gradient in by_name.items():
                gradients[name].append(gradient)
            input_terms += terms
        named = {f"grad_{name}": _stacked(parts) for name, parts in gradients.items()}
        if shared is not None:
            by_name, terms = self._backward(shared, cotangent, cotangent.value.shape[0], parts=self.sends.shared_parts)
            named |= {f"grad_shared_{name}": _stacked([part]) for name, part in by_name.items()}
            input_terms += terms
        return named, input_terms

    def _router_gradient(
        self, inputs: OracleInputs, weights: Bounded, cotangent: Bounded, routed: list[_Expert]
    ) -> tuple[Bounded, Bounded]:
        """The gradient of the router, and its term of the gradient of x.

        With p = softmax(z) over a token's k logits and y = sum of p_i e_i: dp_i = dy . e_i where the slot is not
        dropped, dz = p (dp - sum of p dp), and dz rounded to the dtype is the cotangent of x @ router. Every device
        may have a part of dz, and rounds what it makes of it.
        """
        math, (tokens, experts) = self.math, (inputs.x.shape[0], len(routed))
        value, error = (np.zeros(inputs.experts.shape) for _ in range(2))
        for index, expert in enumerate(routed):
            own = (inputs.experts == index) & inputs.kept
            dot = math.dots(cotangent, expert.output)
            value += np.where(own, dot.value[:, None], 0.0)
            error += np.where(own, dot.error[:, None], 0.0)
        roundings = (1 + INPUT_GRADIENT_ROUNDINGS) * math.dtype_roundoff + math.sent(self.sends.input_gradient)
        roundings += math.sent(added(self.sends.shared_parts, tokens)) + math.arithmetic.gamma(max(tokens, experts))
        chosen = math.softmax_gradient(weights, Bounded(value=value, error=error), roundoff=roundings)
        logits = Bounded(value=np.zeros((tokens, experts)), error=np.zeros((tokens, experts)))
        for whole, part in ((logits.value, chosen.value), (logits.error, chosen.error)):
            np.put_along_axis(whole, inputs.experts, part, axis=1)
        x, router = Bounded.exact(inputs.x), Bounded.exact(inputs.weights["router"][0])
        gradient = math.rounded(math.matmul(x.transposed, logits))
        return _stacked([gradient]), math.matmul(logits, router.transposed)

    def _backward(
        self, expert: _Expert, cotangent: Bounded, rows: int, *, parts: int = 1
    ) -> tuple[dict[str, Bounded], list[Bounded]]:
        """Gradients of one expert's weights, and its two terms of the gradient of x.

        With s = silu(g), h = s u: dh = dz w2', dg = dh u silu'(g), du = dh s, and of each matmul the usual
        two gradients. `rows` is the number of tokens that have the expert; for all others the cotangent is zero.
        `parts`: of how many devices' sums the weights' gradients are made.
        """
        math = self.math
        roundoff = math.sent(added(parts, rows))
        hidden = math.rounded(math.matmul(cotangent, expert.w2.transposed))
        slope = math.multiply(expert.up, math.silu_derivative(expert.gate))
        gate = math.rounded(math.multiply(hidden, slope, roundings=2))
        up = math.rounded(math.multiply(hidden, expert.activated))
        weights = {
            "w1": math.matmul(expert.rows.transposed, gate, terms=rows, roundoff=roundoff),
            "w3": math.matmul(expert.rows.transposed, up, terms=rows, roundoff=roundoff),
            "w2": math.matmul(expert.hidden.transposed, cotangent, terms=rows, roundoff=roundoff),
        }
        inputs = [math.matmul(gate, expert.w1.transposed), math.matmul(up, expert.w3.transposed)]
        return {name: math.rounded(gradient) for name, gradient in weights.items()}, inputs


def _share(inputs: OracleInputs, weights: Bounded, index: int) -> Bounded:
    """The routing weight of one expert for every token, [tokens, 1]; 0 where it was not chosen, or dropped. A token
    chooses an expert once."""
    own: Bool[np.ndarray, "tokens topk"] = (inputs.experts == index) & inputs.kept
    value, error = (np.where(own, part, 0.0).sum(axis=1, keepdims=True) for part in (weights.value, weights.error))
    return Bounded(value=value, error=error)


def _stacked(parts: list[Bounded]) -> Bounded:
    return Bounded(value=np.stack([part.value for part in parts]), error=np.stack([part.error for part in parts]))
