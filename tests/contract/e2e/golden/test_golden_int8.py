"""Int8 against none on one host: kickoff, smoke tests with a negative control, a launcher that does not work
yet, and the planned A/B. How to rewrite the document: see golden_support."""

from __future__ import annotations

import pytest

from tests.contract.e2e.golden.golden_support import Story, check, ids

TINY = ("--tokens", "64", "--hidden", "32", "--experts", "4", "--topk", "2")
BENCH = ("python", "moe_bench.py", *TINY)
AB = "python launch.py --host pod-a execute -- python moe_bench.py --tokens 8192 --hidden 1024 --experts 32 --topk 4"


@pytest.mark.slow
def test_int8_story(story: Story) -> None:
    story.repository("moe_bench.py", "launch.py")
    _start(story)
    _kickoff(story)
    _smoke(story)
    _launcher_check(story)
    _plan(story)
    check(story, "int8", ids("W8", 4))


def _start(story: Story) -> None:
    stated = story.folder.parent / "header.yaml"
    stated.write_text("baseline: {code_refs: [moe_bench.py], confidence: replicated}\n")
    story(
        "start", "int8_experts", "--prefix", "W8", "--title", "Int8 Expert Weights",
        "--goal", "find out whether int8 expert matmuls pay for their quantisation in a training step.",
        "--metric", "tflops:max:TF/s", "--metric", "tokens_per_s",
        "--constraint", "one shape, backend and host for both sides of a comparison.",
        "--constraint", "numbers from this host are smoke only.",
        "--link", "Experiment issue=https://github.com/example/moe/issues/41",
        "--link", "Harness=https://github.com/example/moe/blob/main/moe_bench.py",
        "--baseline", "tokens=8192", "--baseline", "hidden=1024", "--baseline", "topk=4",
        "--baseline", "quant_mode=none", "--baseline", "tflops=18.204",
        "--baseline-source", "the harness thread, three runs", "--from", str(stated),
        "--stop", "Int8 against none is measured at one fixed shape, each side three times.",
        "--stop", "The sign of the difference is known for `topk` 1, 2 and 4.",
    )  # fmt: skip


def _kickoff(story: Story) -> None:
    story(
        "note", "--title", "Kickoff", "--kind", "experiment",
        "--hypothesis", "weights in int8 halve the traffic of the expert matmuls, which a step waits for.",
        "--field", "Config=- branch: `int8-experts`\n- harness: new flag `--quant-mode {none,int8}`",
        "--result", "- The flag reaches both expert matmuls; the router stays in float32.\n- Nothing is measured yet.",
        "--interpretation", "ready for smoke tests.",
        "--next", "run both modes at a tiny shape.",
    )  # fmt: skip


def _smoke(story: Story) -> None:
    story(
        "run", "--title", "Smoke tests on this host", "--label", "ragged_dot",
        "--hypothesis", "int8 runs end to end on both backends.",
        "--", *BENCH, "--quant-mode", "int8",
    )  # fmt: skip
    story("run", "--id", "W8-001", "--label", "blocked", "--", *BENCH, "--quant-mode", "int8", "--backend", "blocked")
    story(
        "run", "--id", "W8-001", "--label", "Negative control",
        "--", *BENCH, "--quant-mode", "int8", "--backend", "blocked", "--dtype", "bfloat16", code=1,
    )  # fmt: skip
    story(
        "edit", "W8-001",
        "--interpretation", "- Both backends work in float32.\n- bfloat16 fails in the `blocked` kernel, as it did"
        " before int8: a known limit, and no result of this change.",
        "--next", "check the launcher, then measure where the numbers count.",
    )  # fmt: skip


def _launcher_check(story: Story) -> None:
    story(
        "run", "--title", "Is the launcher ready?", "--hypothesis", "pod-a takes commands from this checkout.",
        "--", "FAKE_HOST_DOWN=1", "python", "launch.py", "--host", "pod-a", "execute", "--", "hostname", code=1,
    )  # fmt: skip
    story(
        "edit", "W8-002", "--interpretation", "no measurement: the host cannot be reached.",
        "--next", "renew the lease of pod-a and try again.", "--state", "blocked",
    )  # fmt: skip


def _plan(story: Story) -> None:
    story(
        "note", "--plan", "--title", "First A/B at the baseline shape",
        "--hypothesis", "int8 gains at least 5% at `topk=4`.",
        "--command", f"Baseline: {AB} --quant-mode none",
        "--command", f"Int8: {AB} --quant-mode int8",
        "--field", "Config=one shape, `ragged_dot`, three runs each",
        "--interpretation", "the smallest comparison that a first statement can stand on.",
        "--next", "execute it once W8-002 is unblocked.",
        "--continues", "W8-001",
    )  # fmt: skip
