"""Where the files of a logbook can be read by others: addresses at a pushed commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Addresses with the full SHA of a pushed commit; None where what stands here now has not been pushed.

    `view` is the rendered logbook at `commit`. `entries` has, by ID, where the entry starts in that view; an entry
    whose file differs from the pushed one is left out. `plots` has, by the name of its file without `.svg`, where
    the picture of a plot is served, if the pushed file is the one that is here; and `files`, by their path in the
    folder of the logbook, where the files that runs left are. `why` says in a few words why there is
    no commit.
    """

    commit: str | None = None
    view: str | None = None
    entries: Mapping[str, str] = field(default_factory=dict)
    plots: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    why: str = "not pushed"

    def entry(self, entry_id: str) -> str | None:
        return self.entries.get(entry_id)
