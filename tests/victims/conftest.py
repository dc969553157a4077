"""A real table, read once."""

import pytest

from victims.tables import Table, german_credit


@pytest.fixture(scope="session")
def german(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return german_credit(tmp_path_factory.mktemp("german"))


@pytest.fixture(autouse=True)
def no_trials(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are not tried in another process first, unless a test is about that: it takes a second each."""
    if "trials" not in request.keywords:
        for library in ("xgboost", "lightgbm", "catboost", "onnx", "skops"):
            monkeypatch.setattr(f"hammingbox.victims.libraries.{library}_models.check_opens", lambda *_: None)
