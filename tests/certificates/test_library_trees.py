"""Models of tree libraries, as users hand them over, are certified by their trees: numbers and categories together."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import hammingbox as hb
from hammingbox.attacks import Exhaustive
from hammingbox.certificates import Exact, TreeSearch
from hammingbox.errors import InputError
from toys.program import call_program

ROWS = 12


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    size = 240
    table = pd.DataFrame(
        {
            "colour": random.choice(["red", "blue", "green", "violet"], size),
            "size": random.integers(1, 9, size),
            "price": np.round(random.uniform(0, 4, size), 1),
            "shop": random.choice(["x", "y", "z"], size),
        }
    )
    score = (table["colour"] == "red") * 2.0 + table["size"] * 0.4 - table["price"] + (table["shop"] == "z")
    noise = random.normal(0, 0.7, size)
    table["label"] = np.where(score + noise > 2.6, "yes", np.where(score + noise > 1.0, "maybe", "no"))
    return table


def _features(frame: pd.DataFrame, *, categories: bool) -> pd.DataFrame:
    features = frame.drop(columns="label")
    return features.astype({"colour": "category", "shop": "category"}) if categories else features


def _xgboost(frame: pd.DataFrame) -> Any:
    import xgboost

    codes = frame["label"].map({"maybe": 0, "no": 1, "yes": 2})
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True, n_jobs=1)
    return model.fit(_features(frame, categories=True), codes)


def _lightgbm(frame: pd.DataFrame) -> Any:
    import lightgbm

    model = lightgbm.LGBMClassifier(
        n_estimators=8, num_leaves=6, min_child_samples=5, n_jobs=1, verbose=-1, deterministic=True
    )
    return model.fit(_features(frame, categories=True), frame["label"])


def _histogram(frame: pd.DataFrame) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(max_iter=8, max_depth=3, categorical_features="from_dtype", random_state=0)
    return model.fit(_features(frame, categories=True), frame["label"])


def _pipeline(frame: pd.DataFrame) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = ColumnTransformer(
        [("texts", OneHotEncoder(handle_unknown="ignore"), ["colour", "shop"])], remainder="passthrough"
    )
    model = make_pipeline(encoder, RandomForestClassifier(9, max_depth=4, random_state=0, n_jobs=1))
    return model.fit(_features(frame, categories=False), frame["label"])


MODELS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "histogram": _histogram,
    "pipeline": _pipeline,
}


def _task(frame: pd.DataFrame) -> tuple[hb.Splits, hb.Space]:
    splits = hb.load_table(frame, label="label").splits
    prices = splits.schema.features[splits.schema.feature_index("price")].categories
    return splits, hb.TableSpace(splits.schema, {"price": [prices[0], prices[20], prices[-1]]})


@pytest.mark.parametrize("library", MODELS)
def test_auto_hands_the_trees_of_a_model_to_the_search_and_equals_enumeration(
    library: str, frame: pd.DataFrame
) -> None:
    splits, space = _task(frame)
    victim = hb.victim(MODELS[library](frame), splits.schema)
    rows = splits.test.take(slice(0, ROWS))
    threat = hb.ThreatModel(space, 2)
    assert TreeSearch().applies_to(victim, space) is None
    found = hb.certify(victim, rows, threat)
    assert "unknown" not in found.status
    # All rows were decided by the trees: the model itself saw the clean rows and the witnesses only.
    assert int(found.result.forward.max()) <= 4
    x, y = rows.batch(slice(None))
    for budget in (1, 2):
        broken = Exhaustive(max_passes=10**6)(victim, x, y, hb.ThreatModel(space, budget)).success
        assert torch.equal(found.correct & (found.radius < budget), found.correct & broken)
    logits = victim(found.witness)
    assert bool((logits.argmax(1) != y)[found.result.broken].all())


def test_a_model_file_is_certified_recorded_and_verified(frame: pd.DataFrame, tmp_path: Path) -> None:
    table, model = tmp_path / "shop.csv", tmp_path / "model.json"
    frame.to_csv(table, index=False)
    _xgboost(frame).save_model(model)
    arguments = ("certify", table, "--label", "label", "--model", model, "--budgets", "1-2", "--rows", ROWS)
    facts = json.loads(call_program(*arguments, "--out", tmp_path / "runs", "--json"))
    assert [line["unknown"] for line in facts["by_budget"]] == [0, 0]
    assert facts["forward"] <= 2 * 4 * ROWS
    assert "2 verified" in call_program("verify", tmp_path / "runs")


def test_trees_that_do_not_answer_as_their_library_are_not_used(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    splits, space = _task(frame)
    victim = hb.victim(_pipeline(frame), splits.schema)
    plain = victim.forward
    monkeypatch.setattr(victim, "forward", lambda ids: plain(ids).flip(1))
    reason = TreeSearch().applies_to(victim, space)
    assert reason is not None
    assert "answer as" in reason
    with pytest.raises(InputError, match="exact"):
        hb.certify(victim, splits.test, hb.ThreatModel(space, 1), TreeSearch())
    assert Exact().applies_to(victim, space) is None
