"""Sound data that uses more of each form than the stores of the tests do."""

from __future__ import annotations

from typing import Any

from tools.fuzz import mutations

RICH_ENTRY: dict[str, Any] = {
    "format": 2,
    "title": "A title",
    "opened": "2026-02-10T10:57:00+00:00",
    "kind": "experiment",
    "state": "blocked",
    "confidence": "stable",
    "continues": "MOE-000",
    "supersedes": "MOE-001",
    "completes": "MOE-000",
    "commands": [{"label": "Baseline", "argv": ["bench", "--api-key", mutations.SECRET]}],
    "fields": [{"label": "Hypothesis", "text": "a\nb"}, {"label": "Result", "text": "```\nx\n```"}],
    "comparisons": [{"references": ["MOE-002"], "axis": "quant_mode", "metrics": ["tflops"]}],
}
RICH_HEADER: dict[str, Any] = {
    "zone": "Europe/Berlin",
    "scope": ["a", "b"],
    "goal": f"find out {mutations.SECRET}",
    "issue": {"url": "https://github.com/acme/moe/issues/1"},
    "links": [{"label": "Prior", "url": "https://github.com/acme/moe/issues/2"}],
    "stop_criteria": [
        {
            "text": "a",
            "predicate": {
                "sweep": {
                    "axis": "topk",
                    "values": [1, 2],
                    "where": {"quant_mode": "int8"},
                    "controls": {"quant_mode": "none"},
                }
            },
        },
        {
            "text": "b",
            "predicate": {"compared": {"axis": "quant_mode", "values": ["none", "int8"], "metric": "tflops"}},
        },
        {"text": "c", "predicate": {"all": [{"compared": {"axis": "quant_mode", "values": ["none", "int8"]}}]}},
    ],
}
SETTINGS: dict[str, Any] = {
    "root": "logbooks",
    "logbook": "moe",
    "templates": "templates",
    "require": ["title"],
    "env": ["NCCL_*", "XLA_FLAGS"],
    "secrets": ["MY_PIN"],
    "secret_rules": [{"id": "acme-token", "regex": "acme_([a-z0-9]{32})", "keywords": ["acme_"]}],
    "packages": ["numpy"],
    "log_bytes": 1000000,
    "github": {
        "repository": "acme/moe",
        "host": "https://ghe.example.org",
        "remote": "origin",
        "labels": ["experiment"],
    },
}
USER_SETTINGS: dict[str, Any] = {
    "launchers": {"tpu": {"template": "env {env} {command}", "env_template": "{key}={value}", "target": "t"}},
    "executors": {"box": {"kind": "ssh", "host": "127.0.0.1"}},
}
RESULT_ROW: dict[str, Any] = {
    "config": {"quant_mode": "none", "topk": 2, "api_key": mutations.SECRET},
    "metrics": {"tflops": {"samples": [1.5, 1.6], "unit": "TF/s"}, "ms": 3.5},
    "observations": {"null_realized": 0.1},
    "labels": {"a": "b"},
    "devices": [{"platform": "cpu", "kind": "x", "count": 1}],
}
RESULT_LINES = (
    "RESULT quant_mode=none topk=2 tflops=119.5 note='two words'",
    "(pid=1, ip=10.0.0.1) RESULT quant_mode=int8 tflops=1e3",
    "METRIC tflops=12.5 TF/s",
    "METRIC loss=nan",
    "RESULT",
    "RESULT a=b a=c",
    "RESULT tflops=1_0",
    f"RESULT password={mutations.SECRET} tflops=1",
    "METRIC x=1 " + "u" * 300,
    "plain",
)

RECIPE: dict[str, Any] = {
    "name": "fuzz",
    "question": "q",
    "command": ["bench", "--lr={lr}", {"flags": ["topk", "mode"]}],
    "fixed": {"mode": "none"},
    "axes": {
        "lr": {"from": 0.1, "to": 0.9, "step": 0.1},
        "topk": {"from": 1, "to": 8, "count": 8},
        "pair": [{"name": "A", "a": 1, "b": "x"}, {"name": "B", "a": 2, "b": "y"}],
    },
    "timeout_s": 60,
    "cost": {"seconds_per_run": 6, "source": "a guess"},
    "metrics": ["tflops"],
    "scale": {"tiny": {"axes": {"lr": {"from": 1, "to": 2, "count": 2}}, "timeout_s": 1.5}},
}
