"""Whether the code of a command is the same at two times: the one comparison of a run's start and end, and of the runs
of an A/B."""

from __future__ import annotations

from pathlib import Path

from logbook_agent.model.run import Problem, noted, withheld
from logbook_agent.running.provenance.git import CodeFacts
from logbook_agent.text.phrases import listed

_SHOWN = 5


def changed_files(before: CodeFacts, after: CodeFacts) -> tuple[list[str], list[str]]:
    """The files of code that changed between two looks at the code of one command, and the other files that did. Where
    the first are none, it is the same code.

    A file that git did not track at the first look changes nothing by being added to git, nor does one that the command
    names and that was not there.
    """
    fresh = after.files.keys() - before.files.keys() - {file.path for file in after.code.untracked}
    known = before.files.keys() | {path for path in fresh if _is_younger(after.top / path, before.looked)}
    if None in (before.code.identity, after.code.identity):
        # Of git's files only one of the two knows.
        known = before.files.keys() & after.files.keys()
    changed = [path for path in sorted(known) if before.files.get(path) != after.files.get(path)]
    sources = before.sources | after.sources
    return [p for p in changed if p in sources], [p for p in changed if p not in sources]


def _is_younger(path: Path, moment: float) -> bool:
    try:
        return path.lstat().st_ctime >= moment
    except OSError:
        return True


def change_problems(before: CodeFacts, after: CodeFacts) -> tuple[Problem, ...]:
    """What is wrong with a run whose code was looked at before and after it."""
    code, others = changed_files(before, after)
    return (
        *(withheld(f"code changed during the run: {listed(code, _SHOWN)}") if code else ()),
        *(noted(f"other files changed during the run: {listed(others, _SHOWN)}") if others else ()),
        *noted(*(f"after the run: {text}" for text in after.problems if text not in before.problems)),
    )
