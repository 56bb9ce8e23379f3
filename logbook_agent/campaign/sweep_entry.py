"""The entry of a sweep: what its recipe asks, and the comparison that it states."""

from __future__ import annotations

import dataclasses

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_question import comparison_of, with_budget
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.recipe_files import Chosen
from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, case_key, describe
from logbook_agent.campaign.recipes.recipe import Recipe
from logbook_agent.campaign.sweep_progress import deciding
from logbook_agent.campaign.sweep_request import SweepRequest
from logbook_agent.entries.drafts import Prose, create_entry, draft_entry
from logbook_agent.model.comparison import CASE_AXIS, Comparison
from logbook_agent.model.entry import Entry, Field, RecipeUse
from logbook_agent.model.values import canonical
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def new_entry(workspace: Workspace, book: Book, request: SweepRequest, chosen: Chosen) -> Entry:
    """The entry of a sweep says what the recipe asks; its rows will answer."""
    recipe, metric = chosen.recipe, deciding(chosen, book)
    texts = {
        "Question": recipe.question,
        "Method": recipe.method,
        "Criteria": "\n".join(f"- {criterion.text}" for criterion in recipe.criteria),
    }
    by_path = request.recipe is not None and ("/" in request.recipe or request.recipe.endswith((".yaml", ".yml")))
    above, path = workspace.root.parent, chosen.file.path
    use = RecipeUse(
        name=recipe.name,
        file=(path.relative_to(above).as_posix() if path.is_relative_to(above) else str(path)) if by_path else None,
        scale=chosen.scale,
        sets=chosen.sets,
        on=request.on,
        digest=chosen.plan.digest,
        runs=len(chosen.plan),
        seed=chosen.plan.seed if chosen.plan.is_drawn else None,
        metric=metric.name if metric is not None else None,
    )
    title = f"Sweep {recipe.name}" + (f" ({chosen.scale})" if chosen.scale else "")
    draft = dataclasses.replace(
        draft_entry(workspace, Prose(), title=title),
        recipe=use,
        comparison=_stated(workspace, book, chosen),
        gates=chosen.recipe.gates,
        fields=tuple(Field(label=label, text=text) for label, text in texts.items() if text),
        plots=recipe.plots,
    )
    return create_entry(workspace, book, draft)


def _stated(workspace: Workspace, book: Book, chosen: Chosen) -> Comparison | None:
    """What the runs of the plan compare; None where they explore."""
    plan = chosen.plan
    if not plan.is_comparison or plan.recipe.compare is None:
        return None
    axis = AbAxis(name=plan.recipe.compare.axis, values=plan.values)
    asked = comparing(plan.recipe, axis)
    request = dataclasses.replace(asked, max_pairs=None, fixed=plan.recipe.repeats, seed=plan.seed)
    return comparison_of(workspace, book.header, request, axis)


def comparing(recipe: Recipe, axis: AbAxis) -> AbRequest:
    """What a recipe asks of an axis: the pairs of its best case."""
    metrics = tuple(metric.name for metric in recipe.metrics)
    return AbRequest(axis=axis.name, metrics=metrics, max_pairs=recipe.confirm)


def sides_of(plan: SweepPlan, base: PlannedCase, other: PlannedCase) -> tuple[AbAxis, str]:
    """Two cases as an axis, and what they share: by the key in which they differ, beside those that the compared key
    implies; as a whole where they differ in several."""
    configs = [case.values for case in (base, other)]
    differs = [key for key in plan.varied if canonical(configs[0].get(key)) != canonical(configs[1].get(key))]
    keys = [key for key in differs if key not in plan.recipe.implied]
    shared = [key for key in plan.varied if key not in differs]
    name, case = CASE_AXIS, ""
    values = (describe(plan, base), describe(plan, other))
    if len(keys) == 1:
        name, case = keys[0], case_key(other.values, shared) if shared else ""
        values = (canonical(configs[0].get(name)), canonical(configs[1].get(name)))
    runs = [plan.run(planned, repeat=1, place=0) for planned in (base, other)]
    return AbAxis(name=name, values=values, configs=dict(zip(values, (run.config for run in runs), strict=True))), case


def state_comparison(workspace: Workspace, book: Book, entry: Entry, request: AbRequest, axis: AbAxis) -> Entry:
    """The entry, written with the comparison of its best case with the base, unless it states that already. More pairs
    than it states are added to its budget."""
    stated = comparison_of(workspace, book.header, request, axis)

    def change(now: Entry) -> Entry:
        if now.comparison is None or now.comparison.question.values != stated.question.values:
            return dataclasses.replace(now, comparison=stated)
        return with_budget(now, max(request.pairs, now.comparison.design.budget_pairs))

    return book.change_entry(entry.id, change)
