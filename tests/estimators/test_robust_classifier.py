"""The estimator is one of scikit-learn's: its own checks, frames in, robust rows out."""

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import hammingbox as hb
from hammingbox import InputError, RobustClassifier

EXPECTED_TO_FAIL = {
    "check_do_not_raise_errors_in_init_or_set_params": (
        "the test suite checks the types of arguments at run time; in a process that does not, it passes"
    ),
}
"""Checks of scikit-learn that fail here, with the reason."""


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [RobustClassifier(epochs=6)], expected_failed_checks=lambda _estimator: EXPECTED_TO_FAIL
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def table(rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns that say the class, one of them a number with gaps, and one that says nothing."""
    random = np.random.default_rng(seed)
    fraud = random.random(rows) < 0.4
    amount = np.where(fraud, random.normal(80, 20, rows), random.normal(40, 20, rows))
    amount[random.random(rows) < 0.05] = np.nan
    city = np.where(fraud ^ (random.random(rows) < 0.1), "north", "south")
    frame = pd.DataFrame(
        {"amount": amount, "city": pd.Categorical(city), "day": random.integers(7, size=rows), "new": fraud}
    )
    frame.loc[random.random(rows) < 0.3, "new"] = False
    return frame, np.where(fraud, "fraud", "ok")


@pytest.fixture(scope="module")
def fitted() -> RobustClassifier:
    return RobustClassifier(epochs=8, immutable=["amount"], random_state=0).fit(*table())


def test_frames_in_probabilities_out(fitted: RobustClassifier) -> None:
    frame, y = table(seed=1)
    found = fitted.predict_proba(frame)
    assert found.shape == (400, 2)
    assert found.sum(1) == pytest.approx(np.ones(400))
    assert fitted.classes_.tolist() == ["fraud", "ok"]
    assert fitted.feature_names_in_.tolist() == ["amount", "city", "day", "new"]
    assert fitted.score(frame, y) > 0.85
    assert (fitted.predict(frame) == fitted.classes_[found.argmax(1)]).all()
    same = fitted.predict_proba(pl.from_pandas(frame.assign(city=frame["city"].astype(str))))
    assert np.array_equal(same, found), "polars and pandas are the same table"


def test_it_resists_better_than_a_standard_model() -> None:
    train, test = table(800), table(200, seed=1)
    rates = {}
    for defence in ("standard", "padvt"):
        model = RobustClassifier(defence, epochs=8, immutable=["amount", "day"], random_state=1).fit(*train)
        result = hb.evaluate(model.victim_, model.encode(*test), model.threat_, hb.Auto())
        assert result.accuracy.value == pytest.approx(model.score(*test)), "the attacked rows are the predicted ones"
        assert not (result.rows.adversarial != result.rows.clean)[:, [0, 2]].any(), "immutable columns stay"
        rates[defence] = result.robust_error.value
    assert rates["padvt"] < rates["standard"]


def test_a_rare_class_is_kept_with_balanced_weights() -> None:
    frame, y = table(900)
    rare = (y == "ok") | (np.arange(900) % 12 == 0)
    frame, y = frame[["city", "day"]][rare], y[rare]
    recall = {}
    for weight in (None, "balanced", {"fraud": 30.0, "ok": 1.0}):
        model = RobustClassifier("standard", epochs=4, class_weight=weight, random_state=0).fit(frame, y)
        recall[str(weight)] = float((model.predict(frame)[y == "fraud"] == "fraud").mean())
    assert recall["None"] < 0.5 < recall["balanced"]
    assert recall["{'fraud': 30.0, 'ok': 1.0}"] > 0.5
    with pytest.raises(InputError, match="expected class_weight as None, 'balanced' or a weight"):
        RobustClassifier(class_weight="even").fit(frame, y)


def test_a_number_that_no_training_row_had_is_no_error(fitted: RobustClassifier) -> None:
    frame, _ = table(rows=3, seed=2)
    frame["amount"], frame["day"] = [-1e9, 1e9, np.nan], [-5, 99, 3]
    assert np.isfinite(fitted.predict_proba(frame)).all()


def test_an_unknown_category_is_an_error_unless_told(fitted: RobustClassifier) -> None:
    frame, y = table()
    odd = frame.assign(city="North")
    with pytest.raises(InputError, match=r"column 'city' .* got 'North'. Did you mean 'north'\? .*unknown='commonest'"):
        fitted.predict(odd)
    lenient = clone(fitted).set_params(unknown="commonest", epochs=1).fit(frame, y)
    commonest = frame["city"].astype(str).mode()[0]
    assert np.array_equal(lenient.predict_proba(odd), lenient.predict_proba(frame.assign(city=commonest)))


def test_the_same_seed_gives_the_same_network() -> None:
    frame, y = table()
    a, b = (RobustClassifier(epochs=2, random_state=7).fit(frame, y).predict_proba(frame) for _ in range(2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, RobustClassifier(epochs=2, random_state=8).fit(frame, y).predict_proba(frame))


def test_it_leaves_the_global_generators_alone() -> None:
    state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    RobustClassifier(epochs=1, random_state=0).fit(*table(60))
    assert torch.equal(torch.get_rng_state(), state[0])
    assert np.array_equal(np.random.get_state()[1], state[1])  # noqa: NPY002


def test_pipelines_and_cross_validation() -> None:
    frame, y = table(200)
    pipeline = make_pipeline(FunctionTransformer(), RobustClassifier("standard", epochs=5, random_state=0))
    assert cross_val_score(pipeline, frame, y, cv=2).min() > 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"defence": "padv"}, "Did you mean 'padvt'"),
        ({"model": "mpl"}, "Did you mean 'mlp'"),
        ({"unknown": "ignore"}, "commonest"),
        ({"immutable": ["Amount"]}, "Did you mean 'amount'"),
        ({"budget": -1}, "expected budget as a whole number of at least 0, got -1"),
        ({"bins": 1}, "expected bins as a whole number of at least 2"),
        ({"validation_fraction": 1.0}, "expected validation_fraction between 0 and 1"),
        ({"epochs": 0}, "expected epochs above 0, got 0"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RobustClassifier(**settings).fit(*table(60))


def test_a_missing_scikit_learn_is_named_with_its_extra() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import hammingbox; hammingbox.RobustClassifier"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'hammingbox[sklearn]'" in done.stderr


def test_a_missing_value_cannot_be_written_whatever_else_is_forbidden() -> None:
    """A user's "*" adds to what no attacker may write."""
    rows, labels = table(60)
    model = RobustClassifier("standard", epochs=1, forbidden={"*": ["north"], "city": ["south"]}, random_state=0)
    document = model.fit(rows, labels).threat_.space.to_json()
    assert document["forbidden"] == {"*": ["<missing>", "north"], "city": ["south"]}
