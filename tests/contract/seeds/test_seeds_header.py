"""What stands above the first entry of the seeds' logbooks, `headers.yaml`: scope, links, baseline, stop criteria,
prefix, matrix, command templates; and what becomes of baseline and criteria as results come in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Cli
from tests.contract.seeds.support import HERE, LINES, add, ok, section

HEADERS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "headers.yaml").read_text(encoding="utf-8"))
TEMPLATES = {
    "null_routed": [
        {"label": label, "command": line.line}
        for label, line in zip(
            ("Baseline", "Null sweep", "All shapes"), (one for one in LINES if one.at == "templates"), strict=True
        )
    ]
}
HEADINGS = {
    "ep_benchmark": ["Experiment Matrix (Initial)"],
    "int8": [],
    "null_routed": ["Experiment Matrix (Initial)", "Command Templates"],
    "grug": [],
}


def start(cli: Cli, folder: Path, doc: str, **more: Any) -> dict[str, Any]:
    """The header of a document, with which its logbook is started."""
    header = {**HEADERS[doc], **more}
    if doc in TEMPLATES:
        header["command_templates"] = TEMPLATES[doc]
    (folder / "header.yaml").write_text(yaml.safe_dump(header, sort_keys=False))
    ok(cli, "start", "--from", "header.yaml")
    return header


def view_of(folder: Path, header: dict[str, Any]) -> str:
    return (folder / f"logbooks/{header['topic']}.md").read_text()


@pytest.mark.parametrize("doc", HEADERS)
def test_the_header_has_the_sections_of_the_document(cli: Cli, folder: Path, doc: str) -> None:
    """All documents, above their log: sections in their order, and every text, address, file and value in its place."""
    header = start(cli, folder, doc)
    view = view_of(folder, header)
    headings = [line[3:] for line in view.splitlines() if line.startswith("## ")]
    stop = ["Stop Criteria"] if "stop_criteria" in header else []
    assert headings == [
        *("Scope", "Links", "Baseline", *stop, "Experiment ID Prefix", *HEADINGS[doc], "Experiment Log")
    ]
    scope = section(view, "## Scope")
    for text in (header["goal"], *header["constraints"], "`tokens_per_s` (tokens/s, higher is better)"):
        assert text in scope
    assert ("tflops_per_device" in scope) == (doc == "ep_benchmark")
    assert section(view, "## Links").split("\n") == [*(f"- {k}: {v}" for k, v in header["links"].items()), ""]
    if stop:
        shown = section(view, "## Stop Criteria").split("\n")
        assert shown == [*(f"- {text}" for text in header["stop_criteria"]), ""]
    assert f"- `{header['prefix']}`" in section(view, "## Experiment ID Prefix")
    for axis in header.get("matrix", []):
        [line] = [x for x in section(view, "## Experiment Matrix").splitlines() if f"`{axis['axis']}`" in x]
        assert axis.get("text", "") in line
        assert all(f"`{value}`" in line for value in axis["values"])
    assert add(cli, "note", "First") == f"{header['prefix']}-000"


@pytest.mark.parametrize("doc", HEADERS)
def test_the_baseline_is_what_was_stated(cli: Cli, folder: Path, doc: str) -> None:
    """All documents, Baseline: date, code refs, case, numbers by top-k, source, confidence."""
    header = start(cli, folder, doc)
    stated = json.loads(json.dumps(header["baseline"], default=str))
    assert ok(cli, "baseline", "--json").data["baseline"] == stated
    shown = section(view_of(folder, header), "## Baseline")
    assert all(f"`{ref}`" in shown for ref in stated["code_refs"])
    assert stated["date"] in shown
    for number in stated.get("numbers", []):
        assert f"{number['metrics']['tflops']:.3f}" in shown
    assert ("Confidence: replicated" in shown) == (doc == "int8")
    for text in (stated.get("source", ""), stated.get("text", "")):
        assert text in shown


def test_command_templates_can_be_copied(cli: Cli, folder: Path) -> None:
    """Null routing, Command Templates: one line, a sweep and loops over shapes stand in the view as they were typed."""
    header = start(cli, folder, "null_routed")
    shown = section(view_of(folder, header), "## Command Templates")
    assert shown.count("```bash") == 3
    unindented = "\n".join(line.removeprefix("  ") for line in shown.splitlines())
    for template in TEMPLATES["null_routed"]:
        assert f"```bash\n{template['command']}\n```" in unindented


def test_a_header_needs_no_file(cli: Cli, folder: Path) -> None:
    """Int8, Scope to Stop Criteria: the same header by options alone gives the same view."""
    header = HEADERS["int8"]
    words = ["start", header["topic"], "--prefix", header["prefix"], "--goal", header["goal"]]
    for option, values in (
        ("--metric", header["metrics"]),
        ("--constraint", header["constraints"]),
        ("--stop", header["stop_criteria"]),
        ("--link", [f"{label}={url}" for label, url in header["links"].items()]),
        ("--baseline", [f"{key}={json.dumps(v).strip(chr(34))}" for key, v in header["baseline"]["config"].items()]),
        ("--matrix", ["quant_mode=none,int8", "topk=1,2,4,6,8"]),
    ):
        words += [word for value in values for word in (option, value)]
    ok(cli, *words, "--baseline", "tflops=239.150", "--baseline-source", header["baseline"]["source"])
    by_options = view_of(folder, header)
    assert ok(cli, "baseline", "--json").data["baseline"]["config"] == header["baseline"]["config"]
    for heading in ("## Links", "## Stop Criteria", "## Experiment ID Prefix"):
        assert section(by_options, heading).strip()
    assert "`1`, `2`, `4`, `6`, `8`" in section(by_options, "## Experiment Matrix")


def test_results_are_told_against_the_baseline(cli: Cli, folder: Path) -> None:
    """Int8 and null routing, primary metrics: deltas against the fixed case; it moves with a reason only."""
    start(cli, folder, "int8", baseline={"config": {"quant_mode": "none"}})
    rows = "for q in none:200 int8:230; do echo RESULT quant_mode=${q%:*} topk=2 tflops=${q#*:}; done"
    entry = add(cli, "run", "--title", "A/B", "--", "bash", "-c", rows)
    table = ok(cli, "table", entry, "--metric", "tflops", "--pivot", "quant_mode", "--delta", "--json").data
    assert table["values"][0][-1] == pytest.approx(0.15)
    move = ("baseline", "--entry", entry, "--config", "quant_mode=none", "--source", "this thread")
    assert cli(*move).code == 2, "a move needs a reason"
    ok(cli, *move, "--reason", "the first was measured elsewhere")
    data = ok(cli, "baseline", "--json").data
    assert (data["baseline"]["entry"], data["baseline"]["source"]) == (entry, "this thread")
    assert [move["reason"] for move in data["moves"]] == ["the first was measured elsewhere"]


# -- stop criteria -----------------------------------------------------------------------------------------

PREDICATES = yaml.safe_load((HERE / "criteria.yaml").read_text(encoding="utf-8"))
TOPKS = [1, 2, 4, 6, 8]


def criterion(cli: Cli) -> dict[str, Any]:
    """The one criterion of the logbook; the exit code says whether it is met."""
    answer = cli("criteria", "--json")
    found: dict[str, Any]
    [found] = answer.data["criteria"]
    assert answer.code == (0 if found["met"] else 1)
    return found


def measure(cli: Cli, folder: Path, rows: list[dict[str, Any]]) -> None:
    """An entry with these cases."""
    printed = [{"config": row, "metrics": {"tflops": 100.0}} for row in rows]
    (folder / "rows").write_text(f"RESULT_JSON {json.dumps(printed)}\n")
    (folder / "bench.sh").write_text("cat rows\n")
    add(cli, "run", "--title", "Measured", "--", "sh", "bench.sh")


SWEEP = [{"quant_mode": mode, "topk": topk} for mode in ("none", "int8") for topk in TOPKS]
EP = [{"parallel_mode": mode, "topk": topk, "devices": n} for mode, n in (("none", 1), ("ep", 4)) for topk in (2, 8)]
NULLS = [
    {"experts": experts, "topk": topk, "null_route_frac": n / 10}
    for experts in (60, 64, 128)
    for topk in (2, 4, 8)
    for n in range(10)
]


@pytest.mark.parametrize(
    ("name", "before", "missing"),
    [
        ("fixed case", [SWEEP[1], SWEEP[5]], [SWEEP[6]]),
        ("top-k sweep", [row for row in SWEEP if row != SWEEP[3]], [SWEEP[3]]),
        ("top-k sweep", [row for row in SWEEP if row != SWEEP[8]], [SWEEP[8]]),
        ("null sweep", NULLS[:44] + NULLS[45:], [NULLS[44]]),
        ("EP tables", EP[:3], EP[3:]),
    ],
    ids=["the other side", "a control", "a point", "one of 90 rows", "EP at one top-k"],
)
def test_a_criterion_is_met_by_what_was_measured(
    cli: Cli, folder: Path, name: str, before: list[dict[str, Any]], missing: list[dict[str, Any]]
) -> None:
    """Int8, Stop Criteria 1 and 2, null routing, 1, EP benchmark, 2: a fixed A/B, a top-k sweep with identical
    controls, all shapes and fractions, EP at each top-k; unmet as long as one case is missing."""
    start(cli, folder, "int8", stop_criteria=[{"text": name, "predicate": PREDICATES[name]}], baseline={})
    assert not criterion(cli)["met"]
    measure(cli, folder, before)
    assert not criterion(cli)["met"]
    measure(cli, folder, missing)
    assert criterion(cli)["met"]


def test_a_criterion_is_judged_with_evidence(cli: Cli, folder: Path) -> None:
    """EP benchmark, Stop Criteria: what only a person can say is met by a judgement, which names an entry and a
    person; until then it is the next action."""
    header = start(cli, folder, "ep_benchmark")
    entry = add(cli, "note", "--title", "Tables", "--result", "EP pays.")
    assert cli("criteria").code == 1
    assert [one["met"] for one in ok(cli, "status", "--json").data["criteria"]] == [False] * 3
    for number in ("1", "2", "3"):
        ok(cli, "criteria", "--met", number, "--evidence", entry, "--by", "Ada")
    data = ok(cli, "criteria", "--json").data
    assert data["met"]
    assert {(one["met"], one["evidence"], one["by"]) for one in data["criteria"]} == {(True, entry, "Ada")}
    shown = section(view_of(folder, header), "## Stop Criteria")
    assert shown.count("[x]") == 3
    assert entry in shown


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "outcome"), [("110", "better"), ("90", "worse"), ("100", "no difference")])
def test_int8_is_better_worse_or_no_different(cli: Cli, folder: Path, speed: str, outcome: str) -> None:
    """Int8, Stop Criteria 3, and recipe, steps 2 and 3: the same line in both modes, in pairs, gives one of three
    answers, which meets the criterion."""
    stop = [{"text": "known", "predicate": PREDICATES["known"]}]
    start(cli, folder, "int8", stop_criteria=stop, metrics=["tflops:max:TF/s"], baseline={})
    (folder / "bench.sh").write_text(
        f"case $2 in none) v=100;; *) v={speed};; esac; echo RESULT topk=2 tflops=$v.$((LOGBOOK_RUN % 3))\n"
    )
    entry = add(cli, "ab", "--axis", "quant_mode=none,int8", "--", "sh", "bench.sh", "--quant-mode", "none")
    [finding] = ok(cli, "show", entry, "--json").data["answer"]["findings"]
    assert (finding["side"], finding["outcome"]) == ("int8", outcome)
    assert criterion(cli)["met"]


@pytest.mark.parametrize(
    ("recipe", "runs", "controls", "axis"),
    [("int8-ab", 2, 0, "quant_mode"), ("int8-topk", 100, 5, "topk"), ("null-routing", 90, 9, "null_route_frac")],
)
def test_a_sweep_of_the_seeds_is_a_plan(cli: Cli, recipe: str, runs: int, controls: int, axis: str) -> None:
    """Recipe, steps 2 to 4, and null routing, matrix: sizes, flags and controls of the sweeps, not run."""
    sets = ("--set", "backend=gmm", "--set", "bench_pass=forward_backward", "--scale", "ep")
    plan = ok(cli, "sweep", recipe, *sets, "--dry-run", "--json").data
    assert (plan["runs"], plan["controls"]) == (runs, controls)
    first = plan["first"][0]
    assert first["config"]["tokens"] in (32768, 65536)
    assert {"parallel_mode": "ep", "impl": "fused_w13", "iters": 3}.items() <= first["config"].items()
    assert axis in first["config"]
    assert first["argv"][:2] == ["bench-core", "hillclimb"]
    assert first["argv"][first["argv"].index("--backend") + 1] == "gmm"
