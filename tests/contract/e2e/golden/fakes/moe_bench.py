"""Stands in for a benchmark: takes its flags, prints made-up but lawful numbers, measures nothing."""

import argparse
import sys

PARSER = argparse.ArgumentParser()
for flag, kind, default in (
    ("--tokens", int, 512),
    ("--hidden", int, 256),
    ("--experts", int, 8),
    ("--topk", int, 2),
    ("--quant-mode", str, "none"),
    ("--dispatch", str, "padded"),
    ("--capacity-factor", float, 1.25),
    ("--dtype", str, "float32"),
    ("--backend", str, "ragged_dot"),
    ("--null-frac", float, 0.0),
):
    PARSER.add_argument(flag, type=kind, default=default)
PARSER.add_argument("--null-sweep", action="store_true")
PARSER.add_argument("--stages", action="store_true")


def rate(args, null=0.0):
    """Tokens per second: fewer with more work, more with more nulls, int8 and dropless dispatch."""
    work = args.hidden * (1 + args.topk * (1 - null)) / 256
    gain = {"none": 1.0, "int8": 1.0 + 0.02 * args.topk}[args.quant_mode]
    gain *= {"padded": 1.0, "dropless": 0.8 + 0.06 * args.topk, "compact": 1.21}[args.dispatch]
    return round(1_000_000 / work * gain * (1 + args.experts / 4000), 1)


def row(args, null=0.0):
    tokens_per_s = rate(args, null)
    flops_per_token = 18 * args.hidden * args.hidden * args.topk * (1 - null)
    return {
        "tokens": args.tokens,
        "hidden": args.hidden,
        "experts": args.experts,
        "topk": args.topk,
        "tflops": f"{tokens_per_s * flops_per_token / 1e12:.4f}",
        "tokens_per_s": tokens_per_s,
    }


def main():
    args = PARSER.parse_args()
    print(f"compiling {args.backend} for {args.tokens}x{args.hidden}", file=sys.stderr)
    if args.backend == "blocked" and args.dtype == "bfloat16":
        print('  File "kernels/blocked.py", line 88, in store', file=sys.stderr)
        sys.exit("ValueError: cannot store float32 accumulators into a bfloat16 block")
    fractions = [n / 10 for n in range(0, 10, 3)] if args.null_sweep else [args.null_frac]
    for null in fractions:
        pairs = {**row(args, null), "quant_mode": args.quant_mode, "dispatch": args.dispatch}
        if args.null_sweep or args.null_frac:
            pairs |= {"null_frac": null, "null_realized": round(null + 0.001, 4)}
        if args.stages:
            pairs |= {"route_pct": 11.5, "expert_pct": 71.0, "combine_pct": 17.5}
        print("RESULT", " ".join(f"{k}={v}" for k, v in pairs.items()), flush=True)


main()
