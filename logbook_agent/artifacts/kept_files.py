"""The files that a command left, when its run is taken in: their copies without what patterns find, each under its
digest and an ending that suits it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from msgspec import structs

from logbook_agent.artifacts.matching import patterns_in as patterns_in
from logbook_agent.artifacts.media import HEAD_BYTES, ending, media_type
from logbook_agent.model.errors import StoreError
from logbook_agent.model.worker_report import Artifact
from logbook_agent.store.folder import Folder
from logbook_agent.store.run_files import ARTIFACTS, MOST_KEPT_BYTES, SAFE_ARTIFACTS
from logbook_agent.text.redaction.known_values import HoldsSecret
from logbook_agent.text.redaction.redactor import Redactor

_DIGEST_CHARS = 16


def kept(left: Sequence[Artifact], work: Folder, redactor: Redactor) -> tuple[tuple[Artifact, ...], tuple[str, ...]]:
    """The files that a worker left in the folder `work`, as the record has them, and problems. Their copies are written
    to a folder beside the worker's, which is moved to the record."""
    found: list[Artifact] = []
    problems: list[str] = []
    for artifact in left:
        if artifact.kept is None:
            found.append(artifact)
            continue
        try:
            data = work.read(artifact.kept, limit=MOST_KEPT_BYTES)
        except StoreError:
            data = None
        if data is None or hashlib.sha256(data).hexdigest() != artifact.sha256:
            problems.append(f"the copy of {artifact.name} is missing or was changed: its digest differs")
            found.append(structs.replace(artifact, kept=None))
            continue
        try:
            safe = redactor.file(data)
        except HoldsSecret as error:
            problems.append(f"not kept: {artifact.name}: {error}")
            continue
        if safe != data:
            problems.append(f"secrets were taken out of the copy of {artifact.name}")
        found.append(_written(artifact, safe, work))
    return tuple(found), tuple(problems)


def _written(artifact: Artifact, data: bytes, work: Folder) -> Artifact:
    digest, kind = hashlib.sha256(data).hexdigest(), media_type(data[:HEAD_BYTES])
    name = f"{digest[:_DIGEST_CHARS]}{ending(artifact.name, kind)}"
    work.make(SAFE_ARTIFACTS)
    work.write(f"{SAFE_ARTIFACTS}/{name}", data, durable=False)
    return structs.replace(artifact, sha256=digest, bytes=len(data), media_type=kind, kept=f"{ARTIFACTS}/{name}")
