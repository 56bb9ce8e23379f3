"""Plans of sweeps as JSON data, and as at most a screen of text."""

from __future__ import annotations

import shlex

from logbook_agent.campaign.recipes.expand import Estimate, PlannedRun, SweepPlan, describe_run
from logbook_agent.campaign.sweep_request import Prepared
from logbook_agent.text.phrases import counted, length

_SHOWN_RUNS = 5


def plan_data(prepared: Prepared) -> dict[str, object]:
    plan, cost = prepared.progress.plan, prepared.cost
    first, last = plan.ends(_SHOWN_RUNS)
    return {
        "recipe": plan.recipe.name,
        "question": plan.recipe.question,
        "scale": prepared.progress.plan.scale,
        "cases": len(plan.cases),
        "controls": sum(case.is_control for case in plan.cases),
        "runs": len(plan),
        "compares": plan.is_comparison,
        "confirm": plan.confirm,
        "order": plan.recipe.order,
        "seed": plan.seed if plan.is_drawn else None,
        "cost": {"seconds": cost.seconds, "seconds_per_run": cost.seconds_per_run, "basis": cost.basis},
        "setup": [list(c.argv) for c in plan.recipe.setup],
        "teardown": [list(c.argv) for c in plan.recipe.teardown],
        "first": [_run_data(run) for run in first],
        "last": [_run_data(run) for run in last],
        "resumes": prepared.progress.entry.id if prepared.progress.entry is not None else None,
        "finished": prepared.is_complete,
    }


def _run_data(run: PlannedRun) -> dict[str, object]:
    return {
        "place": run.place,
        "case": run.case.key,
        "label": run.case.label,
        "control": run.case.is_control,
        "repeat": run.repeat,
        "config": dict(run.config),
        "argv": list(run.argv),
        "env": dict(run.env),
    }


def plan_text(prepared: Prepared) -> str:
    """The plan in at most a screen: counts, cost, one command in full, the first and last runs."""
    plan, recipe = prepared.progress.plan, prepared.progress.plan.recipe
    controls = sum(case.is_control for case in plan.cases)
    first, last = plan.ends(_SHOWN_RUNS)
    counts = f"{len(plan.cases)} cases" + (f", {controls} of them controls" if controls else "")
    counts += f", {recipe.repeats} runs each" if recipe.repeats > 1 else ""
    if plan.confirm:
        counts += f"; then up to {plan.confirm} pairs of the case that gains most and its base"
    lines = [
        f"{recipe.name}: {recipe.question}",
        f"  {counts}; order {recipe.order}" + (f", by seed {plan.seed}" if plan.is_drawn else ""),
        f"  cost: {_cost(prepared.cost)}",
    ]
    lines += [f"  setup: {shlex.join(c.argv)}" for c in recipe.setup]
    lines += [f"  teardown: {shlex.join(c.argv)}" for c in recipe.teardown]
    env = [f"{name}={shlex.quote(value)}" for name, value in first[0].env.items()]
    command = first[0].argv[0] if recipe.shell else shlex.join(first[0].argv)
    lines += [f"  first command: {' '.join([*env, command])}", "runs:"]
    lines += [_run_text(plan, run) for run in first]
    if last:
        hidden = len(plan) - len(first) - len(last)
        lines += [f"  ... {hidden} more" for _ in range(bool(hidden))]
        lines += [_run_text(plan, run) for run in last]
    if prepared.progress.entry is not None:
        lines.append(f"{_begun(prepared, prepared.progress.entry.id)}; --new starts another")
    return "\n".join(lines)


def _begun(prepared: Prepared, entry_id: str) -> str:
    count = prepared.progress.failed
    failed = counted(count, "failed run")
    if prepared.progress.retries:
        return f"resumes {entry_id}, and retries its {failed}"
    if prepared.is_complete:
        return f"finished as {entry_id}" + (f", with {failed}" if count else "")
    return f"resumes {entry_id}, which is unfinished"


def _run_text(plan: SweepPlan, run: PlannedRun) -> str:
    return f"  {run.place:>4}  {describe_run(plan, run)}" + (" (control)" if run.case.is_control else "")


def _cost(cost: Estimate) -> str:
    if cost.seconds is None or cost.seconds_per_run is None:
        return f"unknown, {cost.basis}"
    return f"about {length(cost.seconds)} for {cost.runs} runs at {cost.seconds_per_run:.3g} s ({cost.basis})"
