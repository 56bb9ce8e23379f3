"""The evaluator of an A/B of code: what measures, which is the base's on both sides."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from logbook_agent.campaign.ab_request import NONE, AbRequest
from logbook_agent.model.comparison import Comparison, Evaluator
from logbook_agent.model.errors import UsageError
from logbook_agent.running.provenance.named_files import files_named, input_file
from logbook_agent.running.provenance.worktrees import Checkout, bring


def shared_evaluator(
    checkout: Checkout, request: AbRequest, tops: Sequence[Path], stated: Comparison | None
) -> tuple[Evaluator, ...]:
    """The evaluator of the base, which is the first of these working trees, after it was brought into the others.
    Raises UsageError for a path that the base does not have."""
    base, *others = tops
    found = []
    for path in _evaluator_paths(checkout, request, tops, stated):
        if not (base / path).exists():
            raise UsageError(
                f"--evaluator {path}: not in {(request.codes or ('',))[0]}",
                cause="the base's own files measure both sides",
                hint=f"commit it there, or let each side be measured by its own: --evaluator {NONE}",
            )
        digest = input_file(path, base / path).sha256
        places = [top / path for top in others]
        unlike = [at for at in places if not at.exists() or input_file(path, at).sha256 != digest]
        for at in unlike:
            bring(base / path, at)
        found.append(Evaluator(path=path, sha256=digest, differed=bool(unlike)))
    return tuple(found)


def _evaluator_paths(
    checkout: Checkout, request: AbRequest, tops: Sequence[Path], stated: Comparison | None
) -> list[str]:
    """Paths from the top of the repository."""
    here, given = checkout.top / checkout.inside, request.evaluator
    if stated is not None:
        return [one.path for one in stated.evaluator]
    if given == (NONE,) and not (here / NONE).exists():
        return []
    if given:
        return [os.path.relpath(here / path, checkout.top) for path in given]
    named = [path for path in files_named(request.run.argv, here).read if path.is_relative_to(checkout.top)]
    paths = [str(path.relative_to(checkout.top)) for path in named]
    return [path for path in paths if all((top / path).is_file() for top in tops)]
