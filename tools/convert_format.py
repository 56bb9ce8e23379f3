"""`python -m tools.convert_format ROOT` converts the logbooks of a root from format 1 to format 2.

Entries and runs get whole names, and nothing inside their files repeats them. The five characters follow from what a
record says, so that two clones convert alike. What is converted already stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from logbook_agent.model.entry import bare_id
from logbook_agent.model.values import UID_CHARS, run_number
from logbook_agent.store.names import renamed
from logbook_agent.store.parse import dump_yaml
from logbook_agent.store.records import FORMAT

# What the place of a file says.
_REPEATED = ("format", "id", "entry", "run", "aliases")


def main() -> None:
    for header in sorted(Path(sys.argv[1]).glob("*/logbook.yaml")):
        print(f"{header.parent.name}: {_convert(header.parent)} entries")


def _convert(folder: Path) -> int:
    """Convert one logbook; how many entries it has."""
    entries = {path.stem: yaml.safe_load(path.read_text()) for path in sorted((folder / "entries").glob("*.yaml"))}
    names = {bare_id(name): _entry_name(folder.name, name, data) for name, data in entries.items()}
    former = {alias: names[bare_id(name)] for name, data in entries.items() for alias in data.get("aliases", ())}
    runs = {names[bare_id(name)]: _run_names(folder, name) for name in entries}

    def whole(name: str) -> str:
        return names.get(name) or former.get(name) or name

    for name, data in entries.items():
        new = names[bare_id(name)]
        data["accepted"] = [{**one, "runs": _whole_runs(runs[new], one["runs"])} for one in data.get("accepted", ())]
        _rewrite(folder / "entries" / f"{name}.yaml", data, whole).rename(folder / "entries" / f"{new}.yaml")
        if (folder / "runs" / name).is_dir():
            _convert_runs(folder / "runs" / name, runs[new])
            (folder / "runs" / name).rename(folder / "runs" / new)
    header = yaml.safe_load((folder / "logbook.yaml").read_text())
    base = header.get("baseline") or {}
    if base.get("entry") and base.get("runs"):
        base["runs"] = _whole_runs(runs.get(whole(base["entry"]), {}), base["runs"])
    _rewrite(folder / "logbook.yaml", header, whole)
    return len(entries)


def _entry_name(topic: str, name: str, data: dict[str, Any]) -> str:
    return name if "." in name else f"{name}.{_uid(topic, name, str(data['opened']))}"


def _run_names(folder: Path, entry: str) -> dict[int, str]:
    """What the folders of an entry's runs are to be called."""
    found = {}
    for record in (folder / "runs" / entry).glob("*/run.json"):
        name, number = record.parent.name, run_number(record.parent.name)
        if number is not None:
            started = json.loads(record.read_text())["started"]
            found[number] = name if "." in name else f"{name}.{_uid(folder.name, bare_id(entry), name, started)}"
    return found


def _uid(*parts: str) -> str:
    digest = hashlib.sha256("\n".join(parts).encode()).digest()
    return "".join(UID_CHARS[byte % len(UID_CHARS)] for byte in digest[:5])


def _convert_runs(folder: Path, names: dict[int, str]) -> None:
    for path in sorted(folder.iterdir()):
        number = run_number(path.name)
        if number in names:
            _rewrite(path / "run.json", json.loads((path / "run.json").read_text()), str)
            path.rename(folder / names[number])


def _whole_runs(names: dict[int, str], runs: list[Any]) -> list[Any]:
    """Runs as files name them: `2.p2m4a`."""
    return [re.sub("^0+", "", names[run]) if run in names else run for run in runs]


def _rewrite(path: Path, data: dict[str, Any], whole: Callable[[str], str]) -> Path:
    """Write a record of format 2 in the form of its file; its path."""
    kept = {key: value for key, value in data.items() if key not in _REPEATED and value != []}
    new = {"format": FORMAT, **renamed(kept, whole)}
    is_json = path.suffix == ".json"
    path.write_text(json.dumps(new, ensure_ascii=False, indent=1) + "\n" if is_json else dump_yaml(new))
    return path


if __name__ == "__main__":
    main()
