"""The best results so far: against the baseline where the case is its own, and apart from it where it is not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from logbook_agent.findings.best import CaseBest, MetricBest, bests
from logbook_agent.findings.measured import baseline_cases, unit_of
from logbook_agent.findings.thread import Thread
from logbook_agent.issue.told.texts import counted, entry_link, escape, number, words
from logbook_agent.model.header import Header, Metric
from logbook_agent.model.units import format_delta
from logbook_agent.model.values import canonical
from logbook_agent.text import markdown as md
from logbook_agent.text.links import Links

# By entry and run: in what its rows differ from those of the baseline beyond what may differ; empty where in nothing,
# and where the baseline has no rows.
Unlike: TypeAlias = Callable[[str, int], str]

_DIFFERS_BYTES = 300
_CASE_BYTES = 300
# Of those that measured one case.
_MOST_ENTRIES = 4
_BETTER = {"max": "higher is better", "min": "lower is better"}


def best_lines(thread: Thread, links: Links, unlike: Unlike) -> list[dict[str, Any]]:
    """By primary metric with a direction: `against` the baseline (one for each of its cases that was measured)
    and `other`, the best of all where it is of another case, with `why` it is not compared."""
    found = []
    for best in bests(thread):
        # Where the best is what the baseline itself measured, nothing was gained: further runs of it are its noise, and
        # its drift.
        gains = {
            at: top for at, top in best.of_baseline.items() if not (top["is_baseline"] and len(top["entries"]) == 1)
        }
        against = [_against(thread, best.metric, at, top, links, unlike) for at, top in gains.items()]
        other = _other(thread, best, best.other, links) if best.other is not None else None
        if against or other is not None:
            found.append({**_named(best.metric), "against": against, "other": other})
    return found


def _named(metric: Metric) -> dict[str, str]:
    return {"metric": md.inline_code(metric.name), "better": _BETTER[str(metric.direction)]}


def headline(best_lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first primary metric that says anything, in one sentence."""
    for best in best_lines:
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


def deltas(header: Header, entry_id: str, measured: Mapping[str, Any], unlike: Unlike) -> list[dict[str, Any]]:
    """What one entry measured at the baseline's cases, where the baseline has a number to compare with."""
    found = []
    for metric in (m for m in header.metrics if m.primary and m.direction is not None):
        for place, best in enumerate(measured.get(metric.name, {}).get("against", ())):
            stated = _stated(header, metric, place)
            if best is None or stated is None or not _comparable(metric, best):
                continue
            found.append(
                {
                    **_named(metric),
                    "value": _value(metric, best),
                    **_change(metric, stated, best),
                    "case": words(case_text(best), _CASE_BYTES),
                    "evidence": _evidence(metric, best) + _apart(unlike(entry_id, best["run"])),
                }
            )
    return found


def _value(metric: Metric, best: Mapping[str, Any]) -> str:
    return number(metric.name, best["value"], best["unit"] or unit_of(metric), best["high"] - best["low"])


def _apart(differs: str) -> str:
    return f"; it differs from the baseline in {escape(words(differs, _DIFFERS_BYTES))}" if differs else ""


def _against(thread: Thread, metric: Metric, place: int, top: CaseBest, links: Links, unlike: Unlike) -> dict[str, Any]:
    beyond = case_text(top, without=baseline_cases(thread.header)[place])
    told = {**_told(thread, metric, top, links), "case": words(beyond, _CASE_BYTES)}
    stated = _stated(thread.header, metric, place)
    if stated is None:
        return {**told, "why": "the baseline states no number"}
    if not _comparable(metric, top):
        return {**told, "why": f"not compared: the baseline's number is in {escape(unit_of(metric) or '?')}"}
    if top["is_baseline"]:
        baseline = number(metric.name, stated, unit_of(metric))
        return {**told, "why": f"the baseline itself, measured again; its number is {baseline}"}
    evidence = told["evidence"] + _apart(unlike(top["entry"], top["run"]))
    return {**told, **_change(metric, stated, top), "evidence": evidence}


def _other(thread: Thread, of: MetricBest, top: CaseBest, links: Links) -> dict[str, Any]:
    """The best of all, of a case that the baseline does not have."""
    differing = _differing(thread.header, top)
    told = _told(thread, of.metric, top, links)
    # One of these may have a better number.
    are = "is" if of.unranked == 1 else "are"
    left = (
        f"; {counted(of.unranked, 'case')} of sweeps {are} not ranked, for want of a fresh run" if of.unranked else ""
    )
    return {
        **told,
        "evidence": told["evidence"] + left,
        "why": _why_apart(thread.header, top, differing),
        "case": words(case_text(top, first=differing), _CASE_BYTES),
    }


def _change(metric: Metric, stated: float, best: Mapping[str, Any]) -> dict[str, Any]:
    """Against the baseline's number, as far as it can be said: of nothing, or less, there is no percentage."""
    baseline = number(metric.name, stated, unit_of(metric))
    if stated <= 0:
        return {"baseline": baseline, "delta": None, "why": f"the baseline is {baseline}, so there is no percentage"}
    return {"baseline": baseline, "delta": format_delta(stated, best["value"]), "why": ""}


def _why_apart(header: Header, best: Mapping[str, Any], differing: Sequence[str]) -> str:
    if header.baseline is None:
        return "there is no baseline"
    if not any(baseline_cases(header)):
        return "the baseline names no case, so this is not compared"
    named = words(" ".join(f"{name}={best['config'].get(name, '?')}" for name in differing), 200)
    return f"not the baseline's case ({md.inline_code(named)}), so not compared"


def _stated(header: Header, metric: Metric, place: int) -> float | None:
    numbers = header.baseline.numbers if header.baseline is not None else ()
    return numbers[place].metrics.get(metric.name) if place < len(numbers) else None


def _comparable(metric: Metric, best: Mapping[str, Any]) -> bool:
    """Whether a measured value and a stated one are in one unit, as far as they say."""
    return None in (best["unit"], unit_of(metric)) or best["unit"] == unit_of(metric)


def _told(thread: Thread, metric: Metric, best: CaseBest, links: Links) -> dict[str, Any]:
    entries = best["entries"]
    shown = [entry_link(links, i) for i in entries[:_MOST_ENTRIES]]
    more = [f"{len(entries) - len(shown)} more"] if len(entries) > len(shown) else []
    summary = thread.by_id[best["entry"]]
    # What is the median of several entries is in the state of none of them, and no surer than each.
    one = len(entries) == 1
    return {
        "value": _value(metric, best),
        "entry": ", ".join([*shown, *more]),
        "state": summary["state"] if one and summary["state"] not in ("finished", "noted") else "",
        "confidence": (summary["confidence"] or "") if one else "",
        "case": words(case_text(best), _CASE_BYTES),
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
    run = "fresh run" if best.get("fresh") or best.get("in_sweep") is not None else "run"
    if best["runs"] == 1:
        return f"a single {run}, no noise estimate"
    low, high = (number(metric.name, best[key], None, best["high"] - best["low"]) for key in ("low", "high"))
    entries = f" in {len(best['entries'])} entries" if len(best.get("entries", ())) > 1 else ""
    return f"median of {counted(best['runs'], run)}{entries} [{low}, {high}]"
