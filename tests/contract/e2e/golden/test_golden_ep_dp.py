"""Expert against data parallelism on a remote slice: a configured launcher that passes variables, rows with
meshes and devices of the far side, a negative result and a decision. How to rewrite the document: see
golden_support."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.e2e.golden.golden_support import Story, check, ids
from tests.contract.running.executors.conftest import settings

LAUNCHER = """\
[launchers.slice]
template = "python launch.py --host {name} execute {env} -- {command}"
target = "slice-a"
"""


@pytest.mark.slow
def test_ep_against_dp_story(story: Story) -> None:
    settings().write_text(LAUNCHER)
    (story.folder / ".gitignore").write_text("logbooks/*/.lock\n")
    story.repository("launch.py", "impl_compare.py")
    stated = story.folder.parent / "header.yaml"
    stated.write_text("baseline: {code_refs: [impl_compare.py]}\n")
    story(
        "start", "ep_or_dp", "--prefix", "EPDP", "--title", "EP or DP on One Slice",
        "--goal", "say for which batches expert parallelism beats data parallelism.",
        "--metric", "tokens_per_s:max:tokens/s", "--constraint", "one slice, through the launcher alone.",
        "--link", "Related issue=https://github.com/example/moe/issues/71",
        "--baseline", "batch=64", "--baseline", "impl=dp", "--from", str(stated),
        "--matrix", "impl=dp,dp_ep", "--matrix", "topk=2,8", "--zone", "Europe/Berlin",
    )  # fmt: skip
    _out_of_memory(story)
    _small_batch(story)
    _large_batch(story)
    _decision(story)
    check(story, "ep_dp", ids("EPDP", 5, footer=True))
    assert_facts_are_those_of_the_far_side(story.folder)


def _out_of_memory(story: Story) -> None:
    story(
        "run", "--title", "Batch 640", "--on", "slice", "--hypothesis", "it fits.",
        "--env", "BENCH_BATCH=640", "--", "python", "impl_compare.py", code=1,
    )  # fmt: skip
    story(
        "edit", "EPDP-000", "--interpretation", "the scoped memory is too small for this batch.",
        "--field", "Negative result=without a larger scoped memory, batch 640 ends in `RESOURCE_EXHAUSTED`.",
        "--next", "raise the limit.",
    )  # fmt: skip


def _small_batch(story: Story) -> None:
    story(
        "run", "--title", "Batch 64, both meshes", "--on", "slice",
        "--env", "XLA_FLAGS=--xla_vmem_limit_kib=65536 --xla_dump_to=", "--env", "BENCH_BATCH=64",
        "--", "python", "impl_compare.py",
    )  # fmt: skip
    story(
        "edit", "EPDP-001", "--interpretation", "- Memory is no limit here.\n- EP wins at both `topk`.",
        "--next", "ten times the batch.",
    )  # fmt: skip


def _large_batch(story: Story) -> None:
    story(
        "run", "--title", "Ten times the batch", "--label", "expert axis 2", "--on", "slice:slice-b",
        "--hypothesis", "with many tokens per expert, communication costs more than it saves.",
        "--continues", "EPDP-000", "--env", "XLA_FLAGS=--xla_vmem_limit_kib=65536", "--env", "BENCH_BATCH=640",
        "--", "python", "impl_compare.py",
    )  # fmt: skip
    story(
        "run", "--id", "EPDP-002", "--label", "expert axis 4", "--on", "slice:slice-b",
        "--env", "XLA_FLAGS=--xla_vmem_limit_kib=65536", "--env", "BENCH_BATCH=640", "--env", "BENCH_EXPERT_AXIS=4",
        "--", "python", "impl_compare.py",
    )  # fmt: skip
    story(
        "edit", "EPDP-002", "--interpretation", "DP wins, and the size of the expert axis does not matter.",
        "--field", "Negative result=EP loses to DP from batch 640 on, at every expert axis.",
    )  # fmt: skip


def _decision(story: Story) -> None:
    story(
        "note", "--title", "EP stays the default below batch 256", "--kind", "decision",
        "--field", "Decision=choose the mesh by batch: EP below 256, DP from there on.",
        "--field", "Why=EPDP-001 and EPDP-002; nothing in between was measured.",
    )  # fmt: skip
    story("note", "--title", "Report", "--field", "Status=written up in the issue; the snapshot is tagged.")


def assert_facts_are_those_of_the_far_side(folder: Path) -> None:
    text = (folder / "logbooks/ep_or_dp.md").read_text()
    assert "4 × tpu (TPU v5p); host slice-w0" in text
    assert "jax 0.7.1" in text
