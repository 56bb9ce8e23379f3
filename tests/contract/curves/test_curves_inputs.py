"""What other libraries write: TensorBoard's event files, and the callbacks that the documents show."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import REPOSITORY, Cli

HERE = Path(__file__).parent
PAGE = (REPOSITORY / "docs/reference/results.md").read_text()


def test_a_run_that_writes_event_files(cli: Cli, folder: Path) -> None:
    cli("start", "moe", "--prefix", "MOE", "--metric", "train/loss:min")
    cli("run", "--", "sh", "-c", f"cp -r {HERE}/events $LOGBOOK_RESULT_FILE")
    [run] = cli("show", "MOE-000", "--json").data["runs"]
    assert run["problems"] == []
    assert [(c["name"], c["count"]) for c in run["curves"]] == [("train/loss", 10), ("validation/loss", 10)]
    assert run["rows"][0]["metrics"]["train/loss"]["n"] == 1


def test_event_files_of_tensors(cli: Cli, folder: Path) -> None:
    """By TensorBoard's own writer, in the form of TensorFlow 2."""
    cli("start", "moe", "--prefix", "MOE", "--metric", "epoch_loss:max")
    cli("run", "--", "sh", "-c", f"cp -r {HERE}/events_of_tensors $LOGBOOK_RESULT_FILE")
    [run] = cli("show", "MOE-000", "--json").data["runs"]
    [curve] = run["curves"]
    assert (curve["name"], curve["count"], curve["last"]) == ("epoch_loss", 3, 0.5)


def defined(title: str, monkeypatch: pytest.MonkeyPatch, **modules: dict[str, Any]) -> dict[str, Any]:
    """The names that a program in the documents defines, beside modules that stand for libraries."""
    [code] = re.findall(rf"```python title={re.escape(title)}\n(.*?)```", PAGE, re.DOTALL)
    for name, values in modules.items():
        module = types.ModuleType(name.replace("__", "."))
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the documents are ours
    return names


def test_the_callback_for_hugging_face(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As `CallbackHandler.call_event` of transformers calls it; the library itself is not installed here."""
    names = defined("trainer_callback.py", monkeypatch, transformers={"TrainerCallback": object})
    state = SimpleNamespace(is_world_process_zero=True, global_step=20)
    logs = {"loss": 2.5, "learning_rate": 5e-05, "epoch": 0.5, "text": "x"}
    names["LogbookCallback"]().on_log(None, state, None, model=None, optimizer=None, logs=logs)
    assert capsys.readouterr().out == "RESULT step=20 loss=2.5 learning_rate=5e-05 epoch=0.5\n"


def test_the_logger_for_lightning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As the logger connector of Lightning calls it; the library itself is not installed here."""
    names = defined(
        "lightning_logger.py",
        monkeypatch,
        lightning={},
        lightning__pytorch={},
        lightning__pytorch__loggers={"Logger": object},
        lightning__pytorch__utilities={"rank_zero_only": lambda method: method},
    )
    names["LogbookLogger"]().log_metrics(metrics={"loss": 2.5, "epoch": 1}, step=20)
    assert capsys.readouterr().out == "RESULT step=20 loss=2.5 epoch=1.0\n"
