"""The entry of a sweep: what its recipe asks, and the comparison that it states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, structs, to_builtins

from logbook_agent.campaign.ab_axis import AbAxis
from logbook_agent.campaign.ab_question import comparison_of
from logbook_agent.campaign.ab_request import AbRequest
from logbook_agent.campaign.recipes.expand import PlannedRun, SweepPlan, case_key, describe, describe_run
from logbook_agent.campaign.recipes.recipe import Recipe
from logbook_agent.campaign.series import RunSeries
from logbook_agent.campaign.sweep_progress import Best, Progress, Tally, deciding
from logbook_agent.campaign.sweep_request import SweepRequest
from logbook_agent.entries.new_entry import Prose, create_entry, draft_entry
from logbook_agent.findings.attempts import how_it_failed
from logbook_agent.findings.cases import cases
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.answer_lines import data as answer_data
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.model.comparison import CASE_AXIS, Comparison
from logbook_agent.model.entry import Entry, Field, RecipeUse
from logbook_agent.model.record import SETUP, TEARDOWN, has_failed, is_made, is_own
from logbook_agent.model.run import Failure, Row, Run
from logbook_agent.model.values import Scalar, canonical
from logbook_agent.running.order import check_budget
from logbook_agent.store.book import Book
from logbook_agent.store.names import SWEEP_CSV
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import counted


def new_entry(workspace: Workspace, book: Book, request: SweepRequest, plan: SweepPlan) -> Entry:
    """The entry of a sweep says what the recipe asks; its rows will answer."""
    check_budget(workspace, book)
    recipe, metric = plan.recipe, deciding(plan, book)
    texts = {
        "Question": recipe.question,
        "Method": recipe.method,
        "Criteria": "\n".join(f"- {criterion.text}" for criterion in recipe.criteria),
    }
    by_path = request.recipe is not None and ("/" in request.recipe or request.recipe.endswith((".yaml", ".yml")))
    above, path = workspace.root.parent, Path(plan.file)
    use = RecipeUse(
        name=recipe.name,
        file=(path.relative_to(above).as_posix() if path.is_relative_to(above) else str(path)) if by_path else None,
        scale=plan.scale,
        sets=plan.sets,
        on=request.on,
        digest=plan.digest,
        runs=len(plan),
        seed=plan.seed if plan.is_drawn else None,
        metric=metric.name if metric is not None else None,
    )
    title = f"Sweep {recipe.name}" + (f" ({plan.scale})" if plan.scale else "")
    draft = structs.replace(
        draft_entry(workspace, Prose(), title=title),
        recipe=use,
        comparison=_stated(workspace, book, plan),
        gates=plan.recipe.gates,
        fields=tuple(Field(label=label, text=text) for label, text in texts.items() if text),
        plots=recipe.plots,
    )
    return create_entry(workspace, book, draft)


def _stated(workspace: Workspace, book: Book, plan: SweepPlan) -> Comparison | None:
    """What the runs of the plan compare; None where they explore."""
    if not plan.is_comparison or plan.recipe.compare is None:
        return None
    axis = AbAxis(name=plan.recipe.compare.axis, values=plan.values)
    request = structs.replace(comparing(plan.recipe), max_pairs=None, fixed=plan.recipe.repeats, seed=plan.seed)
    return comparison_of(workspace, book.header, request, axis)


def comparing(recipe: Recipe) -> AbRequest:
    """What a recipe asks of an axis: the pairs of its best case."""
    return AbRequest(metrics=tuple(metric.name for metric in recipe.metrics), max_pairs=recipe.confirm)


def sides_of(plan: SweepPlan, *sides: PlannedRun) -> tuple[AbAxis, str]:
    """Runs of two cases as an axis, the base first, and what they share: by the key in which they differ, beside those
    that the compared key implies; as a whole where they differ in several."""
    values = {key: tuple(canonical(side.config.get(key)) for side in sides) for key in plan.varied}
    shared = [key for key, of_key in values.items() if len({*of_key}) == 1]
    keys = [key for key in plan.varied if key not in (*shared, *plan.recipe.implied)]
    name, names, case = CASE_AXIS, tuple(describe(plan, side.case) for side in sides), ""
    if len(keys) == 1:
        name, names = keys[0], values[keys[0]]
        case = case_key(sides[0].case.values, shared) if shared else ""
    return AbAxis(name=name, values=names), case


def state_comparison(series: RunSeries, request: AbRequest, axis: AbAxis) -> Entry:
    """The entry, written with the comparison of its best case with the base, unless it states that already."""
    stated = comparison_of(series.workspace, series.book.header, request, axis)

    def change(now: Entry) -> Entry:
        is_other = now.comparison is None or now.comparison.question.values != stated.question.values
        return structs.replace(now, comparison=stated) if is_other else now

    return series.book.change_entry(series.entry.id, change)


# -- its result ---------------------------------------------------------------------------------------

_NO_RESULT = (
    "the command printed no result: no RESULT, METRIC or RESULT_JSON line, no `NAME: value` of a declared metric"
)


def with_failed_row(run: Run) -> Run:
    """A run that ended without a row, with one that says why, so that its case is not lost."""
    ended = run.exit
    if run.rows or ended is None or ended.is_cut_off:
        return run
    tail = (run.output.error_tail or run.output.tail if run.output is not None else ())[-3:]
    reason = "stalled" if ended.stalled else "timeout" if ended.timeout else ended.signal or f"exit code {ended.code}"
    failure = Failure(reason=reason, message="\n".join(tail))
    if ended.code == 0 and not ended.timeout:
        failure = Failure(reason="no result", message=_NO_RESULT)
    return structs.replace(run, rows=(Row(config=dict(run.config), failed=failure),))


class SweepResult(Struct, frozen=True, kw_only=True):
    """The runs just made, and how far the plan is afterwards, with its number of `rows`. `answer`: that to the entry's
    comparison, and why it made no further pair (`stopped`). `problems`: what does not hold."""

    series: RunSeries
    progress: Progress
    rows: int
    answer: Answer | None
    stopped: str
    csv: Path
    problems: tuple[str, ...]

    @property
    def best(self) -> Best | None:
        """The case that came out best, of a plan that explores."""
        return self.progress.tally.best() if self.progress.plan.confirm and not self.progress.todo else None

    @property
    def exit_status(self) -> int:
        if self.series.is_interrupted or self.series.refused is not None:
            return self.series.exit_status
        return int(bool(self.problems or self.progress.failed))

    def data(self) -> dict[str, object]:
        entry, runs, best = self.series.entry, self.series.runs, self.best
        return {
            "id": entry.id,
            "title": entry.title,
            "exit_status": self.exit_status,
            "planned": len(self.progress.plan),
            "rows": self.rows,
            "failed": self.progress.failed,
            "ran": sum(is_made(run) and not is_own(run, SETUP, TEARDOWN) for run in runs),
            "interrupted": self.series.is_interrupted,
            "best": to_builtins(best) if best is not None else None,
            "answer": answer_data(self.answer) if self.answer is not None else None,
            "stopped": self.stopped or None,
            "problems": list(self.problems),
            "csv": str(self.csv),
            "view": str(self.series.book.view_path),
        }


def row_problems(progress: Progress) -> tuple[int, list[str]]:
    """How many rows the plan's runs have, and where that is not one row of its case for each."""
    count, problems = 0, list[str]()
    for planned in progress.plan:
        name = describe_run(progress.plan, planned)
        rows = [row for run in progress.made_of(planned) for row in run.rows]
        count += len(rows)
        if len(rows) != 1:
            problems.append(f"{name}: {len(rows) or 'no'} rows, but the plan has one")
        config = progress.workspace.redacted_config(planned.config)
        problems += [f"{name}: {text}" for row in rows for text in _other_config(progress.plan.varied, config, row)]
    return count, problems


def _other_config(varied: Iterable[str], config: Mapping[str, Scalar], row: Row) -> Iterator[str]:
    for key in varied:
        if key in row.config and canonical(row.config[key]) != canonical(config[key]):
            yield f"the row has {key}={canonical(row.config[key])}, but the plan {canonical(config[key])}"


def write_csv(book: Book, entry_id: str, runs: Iterable[Run]) -> Path:
    """Every row of the plan's runs beside their records, in the order they were run."""
    numbers = {run.run for run in runs}
    rows = [case for case in cases(book.record(entry_id)) if case.run in numbers]
    path = book.entry_runs_folder(entry_id) / SWEEP_CSV
    book.files.write(path, to_csv(rows).encode())
    return path


# Of what a run measured, in the line that follows it.
_LINE_CHARS = 160


def measured_text(tally: Tally, run: Run) -> str:
    """What a run measured, or how it failed, in a few words."""
    failed = next((row.failed for row in run.rows if row.failed is not None), None)
    if failed is not None:
        # Of several lines the last one: a traceback ends with what went wrong.
        why = failed.message.strip().splitlines()[-1:] if failed.message else []
        return cut_line(": ".join(["failed", failed.reason, *why]), _LINE_CHARS)
    if run.exit is not None and has_failed(run):
        return f"failed: {how_it_failed(run)}"
    found, metric = tally.measured(run), tally.metric
    if metric is None or not found:
        return counted(len(run.rows), "row")
    value, unit = found[0]
    return f"{metric.name} {value:.6g}" + (f" {unit}" if unit else "")
