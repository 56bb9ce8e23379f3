"""How a case is spread: the mesh that flags ask for, and what is refused."""

from collections.abc import Callable

import pytest

from tests.seams import bench_core as main

SIZES = ["--tokens", "16", "--hidden", "8", "--mlp-dim", "8", "--experts", "4", "--topk", "2"]


BAD = {
    "--ep-impl ring": "--ep-impl changes nothing in --parallel-mode none",
    "--dp-size 2": "--dp-size changes nothing in --parallel-mode none",
    "--dp-impl auto": "--dp-impl changes nothing in --parallel-mode none",
    "--parallel-mode ep --dp-impl auto": "--dp-impl changes nothing in --parallel-mode ep",
    "--parallel-mode dp --dp-impl pmap": "--dp-impl pmap is not known",
    "--parallel-mode dp --dp-impl auto --queue-mode prequeue": (
        "--queue-mode prequeue cannot be combined with --dp-impl auto"
    ),
    "--parallel-mode dp --ep-size 2": "--ep-size changes nothing in --parallel-mode dp",
    "--parallel-mode ep --ep-size 0": "--ep-size 0 is too small",
    "--parallel-mode ep --ep-impl star": "--ep-impl star is not known",
    "--parallel-mode ep --ep-size 3": "4 experts cannot be spread over 3 devices",
    "--parallel-mode dp --devices 9": "--devices 9 asks for more devices than there are",
    "--parallel-mode ep --ep-impl ring --queue-mode prequeue": (
        "--queue-mode prequeue cannot be combined with --ep-impl ring"
    ),
    "--parallel-mode ep --ep-impl all_to_all --capacity-policy pad --capacity-factor 1": (
        "--capacity-policy pad cannot be combined with --ep-impl all_to_all"
    ),
}


@pytest.mark.parametrize("words", BAD)
@pytest.mark.sample(5)
def test_bad_requests_run_nothing(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["hillclimb", *SIZES, *words.split()])
    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (2, "")
    assert err.splitlines()[0] == f"error: {BAD[words]}"
    assert len(err.splitlines()) == 3


def test_a_platform_without_the_operation_refuses_the_form(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--parallel-mode", "ep", "--ep-impl", "ragged_all_to_all", "--devices", "4"]
    with pytest.raises(SystemExit) as exit_:
        main(["hillclimb", *SIZES, *words])
    out, err = capsys.readouterr()
    assert exit_.value.code == 1
    assert "failed (unsupported): --ep-impl ragged_all_to_all cannot run on CPU" in err
    # It is a recorded failure of that form on those devices, and no other one has run.
    assert '"reason": "unsupported"' in out
    assert '"ep_impl": "ragged_all_to_all"' in out
    assert '"used": 4' in out
    assert '"ran"' not in out


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    from bench_core.harness.run import Outcome

    def install(word: str) -> None:
        monkeypatch.setattr("bench_core.harness.run.check_case", lambda case: Outcome(word=word, text=word))

    return install


@pytest.mark.slow
def test_the_table_for_devices(answered: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    answered("passed")
    with pytest.raises(SystemExit) as exit_:
        main(["check", "--backend", "tiled", "--devices", "4"])
    assert not exit_.value.code
    head, *rows, total = capsys.readouterr().out.splitlines()
    assert head == "backend | form | impl | pass | quant | null | capacity | remat | dtype | shape | result"
    assert total == f"{len(rows)} passed, 0 failed, 0 unsupported"


@pytest.mark.parametrize(("count", "message"), [("1", "--devices 1 spreads nothing"), ("64", "--devices 64 asks for")])
def test_a_table_that_is_not_possible(count: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["check", "--devices", count])
    assert exit_.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
