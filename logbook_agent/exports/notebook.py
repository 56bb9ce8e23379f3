"""What a notebook shows of a logbook and an entry: the answers of `status` and `show` as a short piece of HTML.

Every text is escaped, and nothing in it is live: no script, no style sheet, no link. Marks that turn the direction of
text are shown as `\\u202e`.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logbook_agent.findings.queries import BriefMetric
from logbook_agent.findings.status import StatusAnswer
from logbook_agent.model.units import format_value, known
from logbook_agent.model.values import spelt
from logbook_agent.text.as_html import visible
from logbook_agent.text.markdown import without_controls

_SHOWN_ROWS = 20
_SHOWN_CHARACTERS = 600


def logbook_html(data: StatusAnswer) -> str:
    """The data of `logbook status --json` as HTML."""
    logbook = data["logbook"]
    counts = ", ".join(f"{n} {state}" for state, n in data["entries"].items() if state != "total")
    facts = [
        ("Asked", data["asked"]),
        *(("Found", _answer(one)) for one in data["answers"] if one["settled"]),
        ("Not settled", data.get("not_settled")),
        *(("Open", _answer(one)) for one in data["answers"] if not one["settled"]),
        *((f"{one['kind'].capitalize()} of {one['id']}", one["text"]) for one in data.get("in_words", ())),
        *(("Failed", f"{one['id']} {one['title']}: {one['text']}") for one in data["failed"]),
        *(("Next", ": ".join([*([one["id"]] if "id" in one else []), one["next"]])) for one in data["next_actions"]),
        *([("Closed", data["closed"]["conclusion"])] if "closed" in data else []),
        ("Summary", data.get("summary")),
        ("Entries", f"{data['entries']['total']} ({counts})" if counts else "none"),
        *(("Best", best["text"]) for best in data["best"]),
        *(("Criterion", f"{'met' if c['met'] else 'not met'}: {c['text']}") for c in data["criteria"]),
    ]
    head = f"{logbook['title']} ({logbook['topic']}, {logbook['prefix']})"
    return _block(head, _list(facts))


def entry_html(data: Mapping[str, Any]) -> str:
    """The data of `logbook show ID --json` as HTML."""
    facts = [
        ("State", ", ".join(filter(None, [data["kind"], data["state"], data["confidence_text"]]))),
        ("Result", data["result"]),
        *((name.replace("_", " "), ", ".join(data[name])) for name in ("superseded_by", "completed_by")),
        *((name, data[name]) for name in ("continues", "completes", "supersedes")),
        *((field["label"], field["text"]) for field in data["fields"]),
    ]
    rows = [(run, row) for run in data["runs"] for row in run["rows"]]
    config = list(dict.fromkeys(name for _, row in rows for name in row["config"]))
    metrics = list(dict.fromkeys(name for _, row in rows for name in row.get("metrics", {})))
    lines = [
        [
            run["run"],
            run["label"],
            f"{run['state']}, warm-up" if run["discarded"] else run["state"],
            *(spelt(row["config"][name]) if name in row["config"] else None for name in config),
            *(_measured(name, row.get("metrics", {}).get(name)) for name in metrics),
        ]
        for run, row in rows
    ]
    head = ["Run", "Label", "State", *config, *metrics]
    return _block(f"{data['id']}: {data['title']}", _list(facts), _table(head, lines, "rows"))


def _answer(one: Mapping[str, Any]) -> str:
    notes = filter(None, [f"{one['id']} {one['title']}", one.get("why")])
    return f"{one['answer']} ({'; '.join(notes)})"


def _measured(name: str, found: BriefMetric | None) -> str | None:
    if found is None:
        return None
    value = format_value(found["median"], decimals=known(name).decimals)
    return " ".join(filter(None, [value, found["unit"], f"(n={found['n']})" if found["n"] > 1 else None]))


def _block(head: str, *parts: str) -> str:
    return f"<div><strong>{_text(head)}</strong>{''.join(parts)}</div>"


def _list(facts: Iterable[tuple[str, Any]]) -> str:
    said = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts if value)
    return f"<table><tbody>{said}</tbody></table>" if said else ""


def _table(head: Sequence[str], lines: Sequence[Sequence[Any]], what: str) -> str:
    if not lines:
        return ""
    names = "".join(f"<th>{_text(name)}</th>" for name in head)
    shown = lines[:_SHOWN_ROWS]
    body = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in line) + "</tr>" for line in shown)
    more = f"<p>and {len(lines) - len(shown):,} more {what}</p>" if len(lines) > len(shown) else ""
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    """A value as text that is only text, at most so long."""
    text = "" if value is None else str(value)
    text = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return html.escape(visible(without_controls(text)), quote=True)
