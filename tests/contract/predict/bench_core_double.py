"""A stand-in for `bench-core` with the same words and lines, and no compiler: `predict` and `hillclimb` know the time
of a case from its flags. It is run as a program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

KIND = "TPU v5"
# Milliseconds of a call by `ep_impl`; null: the program is refused.
TIMES: dict[str, float | None] = {"psum": 8.0, "ring": 7.5, "all_to_all": 12.0, "ragged": None}
# How much longer a measurement takes than the prediction says.
SLOWER = 1.05


def flags(words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = [at for at, word in enumerate(words) if word.startswith("--")]
    for at, end in zip(names, [*names[1:], len(words)], strict=True):
        name = words[at][2:].replace("-", "_")
        value = words[at + 1] if at + 1 < end else "true"
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def seconds(config: dict[str, Any]) -> float | None:
    base = TIMES.get(str(config.get("ep_impl", "psum")))
    return None if base is None else base * 1e-3 * config.get("topk", 2) / 2


def prediction(config: dict[str, Any], target: str, calibration: str | None) -> dict[str, Any]:
    time = seconds(config)
    return {
        "target": target,
        "device_kind": KIND,
        "devices": config.get("devices", 4),
        "libtpu": "0.0.42.1",
        "model": 1,
        "calibration": calibration or "seeds",
        "estimate": time,
        "low": None if time is None else 0.8 * time,
        "high": None if time is None else 1.3 * time,
        "bound": None if time is None else 0.4 * time,
        "terms": {} if time is None else {"matmul": 0.0, "grouped_matmul": 0.7 * time, "send": 0.3 * time},
        "fits": config.get("tokens", 0) < 10**6,
        "vmem": "not checked",
        "program": f"{config.get('topk', 2)} {config.get('ep_impl')}",
        "unknown": [],
        "cautions": ["nothing was run", *(["it sends to all"] if config.get("ep_impl") == "all_to_all" else [])],
        "refused": "unsupported: ragged is not compiled here" if time is None else None,
    }


def report(row: dict[str, Any]) -> None:
    print("RESULT " + " ".join(f"{k}={v}" for k, v in row["config"].items()))
    print("RESULT_JSON " + json.dumps(row))


def predict(words: list[str]) -> int:
    at = words.index("--") if "--" in words else len(words)
    common = flags(words[:at])
    target, calibration = common.pop("aot"), common.pop("calibration", None)
    sides = [common] if at == len(words) else [common, {**common, **flags(words[at + 1 :])}]
    for name, given in zip("AB", sides, strict=False):
        config = {"aot": target, **{k: v for k, v in given.items() if k not in ("iters", "warmup")}}
        labels = {"side": name} if len(sides) > 1 else {}
        known = calibration if calibration is None else Path(str(calibration)).stem
        report({"config": config, "labels": labels, "prediction": prediction(config, target, known)})
    return 0


def work(devices: int) -> dict[str, float]:
    """FLOPs and bytes of a call, and how long they take at least on v5p devices: 459 TF/s and 2,765 GB/s each."""
    flops, moved = 1.2e12, 5.2e9
    return {
        "flops": flops * devices,
        "model_bytes_per_device": moved,
        "roofline_mxu_s": flops / 459e12,
        "roofline_hbm_s": moved / 2765e9,
    }


def hillclimb(words: list[str]) -> int:
    config = flags(words)
    time = seconds(config)
    if time is None:
        print("refused", file=sys.stderr)
        return 1
    samples = [SLOWER * time * (1 + 0.001 * n) for n in range(3)]
    metrics = {"time_s": {"samples": samples, "unit": "s"}, "tflops": {"samples": [1 / s for s in samples]}}
    used = config.get("devices", 4)
    report(
        {
            "config": config,
            "metrics": metrics,
            **({"observations": work(used)} if "DOUBLE_WORK" in os.environ else {}),
            "devices": [{"platform": "tpu", "kind": KIND, "count": max(4, used), "used": used}],
            "software": {"libtpu": "0.0.42.1"},
        }
    )
    return 0


if __name__ == "__main__":
    sys.exit({"predict": predict, "hillclimb": hillclimb}[sys.argv[1]](sys.argv[2:]))
