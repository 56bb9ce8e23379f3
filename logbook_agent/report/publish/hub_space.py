"""The files of a report as a static Space of the Hugging Face Hub, through its own client."""

from __future__ import annotations

from pathlib import Path

from logbook_agent.model.errors import RemoteError, UsageError
from logbook_agent.store.folder import Folder

# What the Hub shows of a Space, and reads its kind from.
_CARD_PATH = "README" + ".md"
_CARD = """---
title: {title}
sdk: static
app_file: index.html
pinned: false
---

Pages of a research logbook, as `logbook publish` wrote them.
"""


def upload(folder: Path, space: str, title: str) -> str:
    """Create the Space if it is missing, replace its files by those of a folder and a card, and return its address. The
    client finds the user's token and the endpoint. Raises UsageError without the client, RemoteError with what the Hub
    says."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ModuleNotFoundError as error:
        raise UsageError(
            "huggingface_hub is not installed",
            cause="logbook publishes a Space through it",
            hint="pip install huggingface_hub, then: hf auth login",
        ) from error
    Folder(folder).write(_CARD_PATH, _CARD.format(title=title), durable=False)
    api = HfApi()
    try:
        address = api.create_repo(space, repo_type="space", space_sdk="static", exist_ok=True)
        api.upload_folder(
            repo_id=space,
            repo_type="space",
            folder_path=str(folder),
            delete_patterns="*",
            commit_message="logbook publish",
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise RemoteError(
            f"the Space {space} was not updated", cause=str(error).splitlines()[0], hint="hf auth whoami"
        ) from error
    return str(address)
