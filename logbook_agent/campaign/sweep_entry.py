"""The entry of a sweep: what its recipe asks, and the comparison that it states."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from logbook_agent.campaign.ab_prepare import comparison_of, with_budget
from logbook_agent.campaign.recipe_files import Chosen
from logbook_agent.campaign.recipes.expand import PlannedCase, SweepPlan, case_key, describe
from logbook_agent.campaign.sweep_request import SweepRequest, deciding
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
    return comparison_of(
        workspace,
        book.header,
        axis=plan.recipe.compare.axis,
        values=plan.values,
        metrics=tuple(metric.name for metric in plan.recipe.metrics) or None,
        minimum_effect=None,
        budget_pairs=plan.recipe.repeats,
        seed=plan.seed,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSides:
    """Two cases of a plan as sides of a comparison: `values`, the base first, of `axis`; `case` is what they share."""

    axis: str
    values: tuple[str, str]
    case: str


def sides_of(plan: SweepPlan, base: PlannedCase, other: PlannedCase) -> CaseSides:
    """Two cases by the key in which they differ, beside those that the compared key implies; as a whole where they
    differ in several."""
    configs = [plan.config(case) for case in (base, other)]
    differs = [key for key in plan.varied if canonical(configs[0].get(key)) != canonical(configs[1].get(key))]
    keys = [key for key in differs if key not in plan.recipe.implied]
    if len(keys) != 1:
        return CaseSides(axis=CASE_AXIS, values=(describe(plan, base), describe(plan, other)), case="")
    [axis] = keys
    values = [canonical(config.get(axis)) for config in configs]
    shared = [key for key in plan.varied if key not in differs]
    case = case_key(other.values, shared, plan.recipe.fixed) if shared else ""
    return CaseSides(axis=axis, values=(values[0], values[1]), case=case)


def state_comparison(workspace: Workspace, book: Book, entry: Entry, chosen: Chosen, sides: CaseSides) -> Entry:
    """The entry, written with the comparison of its best case with the base, unless it states that already. More pairs
    than it states are added to its budget."""
    recipe = chosen.recipe
    stated = comparison_of(
        workspace,
        book.header,
        axis=sides.axis,
        values=sides.values,
        metrics=tuple(metric.name for metric in recipe.metrics) or None,
        minimum_effect=None,
        budget_pairs=recipe.confirm,
        seed=None,
    )

    def change(now: Entry) -> Entry:
        if now.comparison is None or now.comparison.question.values != stated.question.values:
            return dataclasses.replace(now, comparison=stated)
        return with_budget(now, max(recipe.confirm, now.comparison.design.budget_pairs))

    return book.change_entry(entry.id, change)
