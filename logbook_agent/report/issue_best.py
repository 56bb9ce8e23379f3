"""The best results so far: against the baseline where the case is its own, and apart from it where it is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from logbook_agent.markdown import text as md
from logbook_agent.model.header import Header, Metric
from logbook_agent.report.issue_texts import counted, escape, number, words
from logbook_agent.report.measured import baseline_cases, unit_of
from logbook_agent.results.values import canonical
from logbook_agent.units import format_delta

# By entry and run: in what its rows differ from those of the baseline beyond what may differ; empty where in nothing,
# and where the baseline has no rows.
Unlike: TypeAlias = Callable[[str, int], str]

_DIFFERS_BYTES = 300
_BETTER = {"max": "higher is better", "min": "lower is better"}


def best_lines(
    header: Header,
    summaries: Sequence[Mapping[str, Any]],
    id_link: Callable[[str], str],
    case_bytes: int,
    unlike: Unlike,
) -> list[dict[str, Any]]:
    """By primary metric with a direction: `against` the baseline (one for each of its cases that was measured)
    and `other`, the best of all where it is of another case, with `why` it is not compared."""
    found = []
    for metric in (m for m in header.metrics if m.primary and m.direction is not None):
        entries = [s for s in summaries if "best" in s["measured"].get(metric.name, {})]
        if not entries:
            continue
        against = [
            _against(header, metric, place, entries, id_link, case_bytes, unlike)
            for place in range(len(baseline_cases(header)))
        ]
        top = _best(metric, [(s["measured"][metric.name]["best"], s) for s in entries])
        other = None
        if top is not None and not top[0]["of_baseline"]:
            differing = _differing(header, top[0])
            other = {
                **_told(metric, *top, id_link, case_bytes),
                "why": _why_apart(header, top[0], differing),
                "case": words(case_text(top[0], first=differing), case_bytes),
            }
        lines = [a for a in against if a is not None]
        if lines or other is not None:
            found.append(
                {
                    "metric": md.inline_code(metric.name),
                    "better": _BETTER[str(metric.direction)],
                    "against": lines,
                    "other": other,
                }
            )
    return found


def headline(
    header: Header, summaries: Sequence[Mapping[str, Any]], id_link: Callable[[str], str], unlike: Unlike
) -> list[str]:
    """The first primary metric that says anything, in one sentence."""
    for best in best_lines(header, summaries, id_link, 200, unlike):
        for told in sorted(best["against"], key=lambda t: t["delta"] is None):
            start = f"Best {best['metric']} at the baseline's case: {told['value']} in {_entry(told)}"
            if told["delta"] is None:
                return [f"{start} ({told['why']}; {told['evidence']})."]
            return [f"{start}, {told['delta']} against {told['baseline']} ({best['better']}; {told['evidence']})."]
        told = best["other"]
        return [f"Best {best['metric']}: {told['value']} in {_entry(told)} ({told['why']}; {told['evidence']})."]
    return []


def _entry(told: Mapping[str, Any]) -> str:
    return str(told["entry"]) + (f", {told['state']}" if told["state"] else "")


def deltas(
    header: Header, entry_id: str, measured: Mapping[str, Any], case_bytes: int, unlike: Unlike
) -> list[dict[str, Any]]:
    """What one entry measured at the baseline's cases, where the baseline has a number to compare with."""
    found = []
    for metric in (m for m in header.metrics if m.primary and m.direction is not None):
        for place, best in enumerate(measured.get(metric.name, {}).get("against", ())):
            stated = _stated(header, metric, place)
            if best is None or stated is None or not _comparable(metric, best):
                continue
            found.append(
                {
                    "metric": md.inline_code(metric.name),
                    "better": _BETTER[str(metric.direction)],
                    "value": number(metric.name, best["value"], best["unit"] or unit_of(metric)),
                    **_change(metric, stated, best),
                    "case": words(case_text(best), case_bytes),
                    "evidence": _evidence(metric, best) + _apart(unlike(entry_id, best["run"])),
                }
            )
    return found


def _apart(differs: str) -> str:
    return f"; it differs from the baseline in {escape(words(differs, _DIFFERS_BYTES))}" if differs else ""


def _against(
    header: Header,
    metric: Metric,
    place: int,
    entries: Sequence[Mapping[str, Any]],
    id_link: Callable[[str], str],
    case_bytes: int,
    unlike: Unlike,
) -> dict[str, Any] | None:
    """The best row of one of the baseline's cases, but for those of the entry that the baseline itself is."""
    own = header.baseline.entry if header.baseline is not None else None
    rows = [(s["measured"][metric.name]["against"][place], s) for s in entries if s["id"] != own]
    top = _best(metric, [(best, s) for best, s in rows if best is not None])
    if top is None:
        return None
    beyond = case_text(top[0], without=baseline_cases(header)[place])
    told = {**_told(metric, *top, id_link, case_bytes), "case": words(beyond, case_bytes)}
    stated = _stated(header, metric, place)
    if stated is None:
        return {**told, "why": "the baseline states no number"}
    if not _comparable(metric, top[0]):
        return {**told, "why": f"not compared: the baseline's number is in {escape(unit_of(metric) or '?')}"}
    evidence = told["evidence"] + _apart(unlike(top[1]["id"], top[0]["run"]))
    return {**told, **_change(metric, stated, top[0]), "evidence": evidence}


def _change(metric: Metric, stated: float, best: Mapping[str, Any]) -> dict[str, Any]:
    """Against the baseline's number, as far as it can be said: of nothing, or less, there is no percentage."""
    baseline = number(metric.name, stated, unit_of(metric))
    if stated <= 0:
        return {"baseline": baseline, "delta": None, "why": f"the baseline is {baseline}, so there is no percentage"}
    return {"baseline": baseline, "delta": format_delta(stated, best["value"]), "why": ""}


def _best(
    metric: Metric, found: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The best of several entries, the first of equal ones; of those in the metric's unit when they come in
    several, and None when it has none."""
    wanted = unit_of(metric)
    if len({unit for best, _ in found if (unit := best["unit"] or wanted) is not None}) > 1:
        found = [f for f in found if wanted is not None and f[0]["unit"] in (None, wanted)]
    if not found:
        return None
    return (max if metric.direction == "max" else min)(found, key=lambda f: f[0]["value"])


def _why_apart(header: Header, best: Mapping[str, Any], differing: Sequence[str]) -> str:
    if header.baseline is None:
        return "there is no baseline"
    if not any(baseline_cases(header)):
        return "the baseline names no case, so this is not compared"
    named = words(" ".join(f"{name}={best['config'].get(name, '?')}" for name in differing), 200)
    return f"another case than the baseline's ({md.inline_code(named)}), so not compared"


def _stated(header: Header, metric: Metric, place: int) -> float | None:
    numbers = header.baseline.numbers if header.baseline is not None else ()
    return numbers[place].metrics.get(metric.name) if place < len(numbers) else None


def _comparable(metric: Metric, best: Mapping[str, Any]) -> bool:
    """Whether a measured value and a stated one are in one unit, as far as they say."""
    return None in (best["unit"], unit_of(metric)) or best["unit"] == unit_of(metric)


def _told(
    metric: Metric,
    best: Mapping[str, Any],
    summary: Mapping[str, Any],
    id_link: Callable[[str], str],
    case_bytes: int,
) -> dict[str, Any]:
    return {
        "value": number(metric.name, best["value"], best["unit"] or unit_of(metric)),
        "entry": id_link(summary["id"]),
        "state": "" if summary["state"] in ("finished", "noted") else summary["state"],
        "confidence": summary["confidence"] or "",
        "case": words(case_text(best), case_bytes),
        "evidence": _evidence(metric, best),
        "baseline": None,
        "delta": None,
        "why": "",
    }


def case_text(best: Mapping[str, Any], *, first: Collection[str] = (), without: Collection[str] = ()) -> str:
    """Label, config and whatever else tells a case apart: the keys of `first` ahead of the others, and none of
    those in `without`."""
    config = best["config"]
    order = sorted(config, key=lambda name: name not in first)
    found = [f"{name}={config[name]}" for name in order if name not in without]
    found += [f"{name}={text}" for name, text in best["apart"].items()]
    if best["config_left_out"]:
        found.append(f"and {counted(best['config_left_out'], 'more key')}")
    return ", ".join(t for t in (best["label"], " ".join(found)) if t)


def _differing(header: Header, best: Mapping[str, Any]) -> list[str]:
    """The keys in which a case differs from that of the baseline that is the nearest."""
    config = best["config"]
    found = [
        [k for k, v in case.items() if canonical(config.get(k)) != canonical(v)]
        for case in baseline_cases(header)
        if case
    ]
    return min(found, key=len, default=[])


def _evidence(metric: Metric, best: Mapping[str, Any]) -> str:
    run = "run" if best["in_sweep"] is None else "fresh run"
    if best["runs"] == 1:
        return f"a single {run}, no noise estimate"
    low, high = (number(metric.name, best[key], None) for key in ("low", "high"))
    return f"median of {counted(best['runs'], run)} [{low}, {high}]"
