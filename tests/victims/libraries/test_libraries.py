"""Models of every library on a real table: the victim answers as the model itself does on the original frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import torch
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hammingbox as hb
from hammingbox.evaluation.diagnose import diagnose_classes
from hammingbox.victims.checkpoint import weights_digest
from hammingbox.victims.frame_model import FrameModel
from victims.tables import Table, as_table

Answers = np.ndarray[Any, Any]


def texts(table: Table) -> list[str]:
    return list(table.features.select_dtypes(exclude="number").columns)


def encoded(table: Table) -> Any:
    return (table.labels == "good").astype(int)


def xgb(table: Table) -> tuple[Any, Answers]:
    model = xgboost.XGBClassifier(n_estimators=8, enable_categorical=True, n_jobs=1)
    model.fit(table.categorised, encoded(table))
    return model, model.predict_proba(table.categorised)


def lgb(table: Table) -> tuple[Any, Answers]:
    model = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1).fit(table.categorised, table.labels)
    return model, np.asarray(model.predict_proba(table.categorised))


def cat(table: Table) -> tuple[Any, Answers]:
    model = catboost.CatBoostClassifier(
        iterations=8, verbose=0, thread_count=1, cat_features=texts(table), allow_writing_files=False
    )
    model.fit(table.features, table.labels)
    return model, model.predict_proba(table.features)


def pipeline(table: Table) -> tuple[Pipeline, Answers]:
    numbers = [name for name in table.features if name not in texts(table)]
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts(table)), (StandardScaler(), numbers)
    )
    model = make_pipeline(prepare, LogisticRegression(max_iter=500)).fit(table.features, table.labels)
    return model, model.predict_proba(table.features)


def saved_xgb(table: Table, folder: Path, suffix: str) -> tuple[Any, Answers]:
    model, answers = xgb(table)
    model.save_model(folder / f"model{suffix}")
    return folder / f"model{suffix}", answers


def saved_lgb(table: Table, folder: Path) -> tuple[Any, Answers]:
    model, answers = lgb(table)
    model.booster_.save_model(folder / "model.txt")
    return folder / "model.txt", answers


def saved_cat(table: Table, folder: Path) -> tuple[Any, Answers]:
    model, answers = cat(table)
    model.save_model(str(folder / "model.cbm"))
    return folder / "model.cbm", answers


def saved_pipeline(table: Table, folder: Path) -> tuple[Any, Answers]:
    model, answers = pipeline(table)
    skops.io.dump(model, folder / "model.skops")
    return folder / "model.skops", answers


def saved_onnx(table: Table, folder: Path) -> tuple[Any, Answers]:
    skl2onnx = pytest.importorskip("skl2onnx")
    model, answers = pipeline(table)
    path = folder / "model.onnx"
    path.write_bytes(skl2onnx.to_onnx(model, table.features[:1]).SerializeToString())
    return path, answers


MODELS: dict[str, Callable[[Table, Path], tuple[Any, Answers]]] = {
    "xgboost": lambda table, _: xgb(table),
    "xgboost booster": lambda table, _: (xgb(table)[0].get_booster(), xgb(table)[1]),
    "xgboost .ubj": lambda table, folder: saved_xgb(table, folder, ".ubj"),
    "xgboost .json": lambda table, folder: saved_xgb(table, folder, ".json"),
    "lightgbm": lambda table, _: lgb(table),
    "lightgbm .txt": saved_lgb,
    "catboost": lambda table, _: cat(table),
    "catboost .cbm": saved_cat,
    "pipeline": lambda table, _: pipeline(table),
    "skops": saved_pipeline,
    "onnx": saved_onnx,
}


def probabilities(victim: hb.Victim, table: Table) -> Answers:
    return victim(table.data.batch(slice(None))[0]).softmax(1).numpy()


@pytest.mark.parametrize("kind", MODELS)
def test_a_victim_answers_as_its_model_does(kind: str, german: Table, tmp_path: Path) -> None:
    model, answers = MODELS[kind](german, tmp_path)
    victim = hb.victim(model, german.schema)
    assert isinstance(victim, FrameModel)
    assert not victim.has_gradient
    np.testing.assert_allclose(probabilities(victim, german), answers, atol=1e-5)
    if isinstance(model, Path):
        again = hb.open_model(str(model), german.schema).victim
        assert weights_digest(again) == weights_digest(victim) == victim.identity != ""
        assert weights_digest(hb.open_model(str(model), german.schema, name="mine").victim) != victim.identity


@pytest.mark.parametrize("kind", ["xgboost .ubj", "lightgbm .txt", "catboost .cbm"])
def test_a_file_that_changes_is_another_model(kind: str, german: Table, tmp_path: Path) -> None:
    path, _ = MODELS[kind](german, tmp_path)
    before = hb.open_model(str(path), german.schema).victim.identity
    other = as_table(german.frame.head(700), "risk", tmp_path / "other.csv")
    MODELS[kind](other, tmp_path)
    assert hb.open_model(str(path), german.schema).victim.identity != before


def test_three_classes_and_missing_values(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"city": draw.choice(["b", "a", "c"], 300), "n": draw.integers(0, 90, 300) / 4})
    frame["class"] = np.where(frame.city == "a", "x", np.where(frame.n > 11, "z", "y"))
    frame.loc[::7, "n"] = np.nan
    frame.loc[::11, "city"] = np.nan
    table = as_table(frame, "class", tmp_path / "three.csv")
    coded = table.labels.map({"x": 0, "y": 1, "z": 2})
    xgb_model = xgboost.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1).fit(table.categorised, coded)
    xgb_model.save_model(tmp_path / "three.ubj")
    lgb_model = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(table.categorised, table.labels)
    lgb_model.booster_.save_model(tmp_path / "three.txt")
    for model, path in ((xgb_model, "three.ubj"), (lgb_model, "three.txt")):
        expected = model.predict_proba(table.categorised)
        for source in (model, tmp_path / path):
            np.testing.assert_allclose(probabilities(hb.victim(source, table.schema), table), expected, atol=1e-5)


def test_classes_are_reordered_and_renamed(german: Table) -> None:
    x, y = german.data.batch(slice(None))
    reverse = german.labels.map({"good": 0, "bad": 1})
    model = DecisionTreeClassifier(max_depth=12).fit(german.features[["age", "amount"]], reverse)
    victim = hb.victim(model, german.schema, classes=["good", "bad"])
    assert (victim(x).argmax(1) == y).float().mean() > 0.65
    backwards = hb.victim(model, german.schema)
    assert (backwards(x).argmax(1) == y).float().mean() < 0.35
    assert "does not name its classes" in " ".join(backwards.notes)
    findings = {finding.check: finding for finding in diagnose_classes(backwards(x), y, german.schema)}
    assert findings["class order"].severity == "error"
    assert "class order" not in {finding.check for finding in diagnose_classes(victim(x), y, german.schema)}


def test_ties_are_decided_as_the_model_decides_them(german: Table) -> None:
    model = DecisionTreeClassifier(max_depth=9, min_samples_leaf=2, random_state=0)
    some = german.features[["age", "rate"]]
    model.fit(some, german.labels)
    answers = model.predict_proba(some)
    assert (answers[:, 0] == answers[:, 1]).sum() > 5, "the tree ties on some rows"
    victim = hb.victim(model, german.schema)
    right = hb.accuracy(victim, german.data)
    assert right == pytest.approx((model.predict(some) == german.labels).mean(), abs=1e-9)
    threat = hb.ThreatModel(hb.FullSpace(german.schema), 1)
    ties = [f for f in hb.diagnose_victim(victim, german.data, threat, rows=1000) if f.check == "ties"]
    assert ties
    assert ties[0].severity == "note"


def test_scores_and_hard_labels(german: Table) -> None:
    numbers = german.features[["age", "amount", "duration"]]
    ridge = RidgeClassifier().fit(numbers, german.labels)
    scores = hb.victim(ridge, german.schema)
    x, _ = german.data.batch(slice(None))
    assert [german.schema.classes[i] for i in scores(x).argmax(1)] == list(ridge.predict(numbers))
    assert any("decision_function" in note for note in scores.notes)

    class Labels:
        classes_ = np.array(["good", "bad"])
        feature_names_in_ = np.array(numbers.columns)
        n_features_in_ = 3

        def predict(self, frame: pd.DataFrame) -> Any:
            return ridge.predict(frame)

    hard = hb.victim(Labels(), german.schema)
    assert torch.equal(hard(x).argmax(1), scores(x).argmax(1))
    assert any("name of a class" in note for note in hard.notes)
    for shape in ((-1,), (-1, 1)):
        function = hb.victim(lambda frame, s=shape: ridge.predict(frame[list(numbers)]).reshape(s), german.schema)
        assert torch.equal(function(x).argmax(1), scores(x).argmax(1))
        assert [note for note in function.notes if "name of a class" in note] == list(function.notes)
    one = hb.victim(lambda frame: (frame["age"] / 200).to_numpy(), german.schema)
    assert any("one number per row: the probability of 'good'" in note for note in one.notes)


def test_functions_get_frames_as_pandas_reads_them(german: Table) -> None:
    seen: list[pd.DataFrame] = []

    def fraud(frame: pd.DataFrame) -> Any:
        seen.append(frame)
        return (frame["age"] > 40).astype(float)

    victim = hb.victim(fraud, german.schema, name="rule")
    ids, _ = german.data.batch(slice(0, 50))
    victim(ids)
    expected = german.features.head(50)
    pd.testing.assert_frame_equal(seen[-1], expected, check_dtype=True)
    assert victim.name == "rule"
    assert any("probability of 'good'" in note for note in victim.notes)
    backwards = hb.victim(fraud, german.schema, classes=["good", "bad"], name="rule")
    assert any("probability of 'bad'" in note for note in backwards.notes), "the model's last class, not the schema's"
    assert torch.equal(backwards(ids).argmax(1), 1 - victim(ids).argmax(1))
    seen[-1].iloc[:, 1] = 0  # what a model writes into its frame is nobody's
    victim(ids)
    pd.testing.assert_frame_equal(seen[-1], expected)


def test_arrays_codes_and_stated_types(german: Table) -> None:
    x, _ = german.data.batch(slice(None))
    some = german.frame[["age", "amount"]].to_numpy()
    forest = RandomForestClassifier(5, random_state=0).fit(german.features[["age", "amount"]].to_numpy(), german.labels)
    with pytest.raises(hb.InputError, match="expected a table of 2 features because the model takes so many, got 20"):
        hb.victim(forest, german.schema)
    two = hb.Schema(tuple(f for f in german.schema.features if f.name in ("age", "amount")), german.schema.classes)
    both = x[:, [4, 12]]
    swapped = forest.predict_proba(some[:, ::-1])
    np.testing.assert_allclose(hb.victim(forest, two)(both).exp().numpy(), swapped, atol=1e-6)
    seen: list[Any] = []
    codes = hb.victim(lambda rows: seen.append(rows) or np.full(len(rows), 0.5), german.schema, takes="codes")
    codes(x[:9])
    assert np.array_equal(seen[-1], x[:9].numpy())
    typed = hb.victim(
        lambda frame: seen.append(frame) or np.full(len(frame), 0.5),
        german.schema,
        like={"age": "float32", "rate": "str", "status": pd.CategoricalDtype(["A14", "A11", "A12", "A13"])},
    )
    typed(x[:9])
    assert str(seen[-1].dtypes["age"]) == "float32"
    assert seen[-1]["rate"].tolist() == german.frame["rate"].head(9).astype(str).tolist()
    assert seen[-1]["status"].cat.categories.tolist() == ["A14", "A11", "A12", "A13"]
    assert seen[-1]["status"].tolist() == german.frame["status"].head(9).tolist()


def test_an_encoder_of_texts_gets_texts(german: Table) -> None:
    """`rate` holds 1 to 4; a pipeline that was trained on texts must not get numbers, which it would ignore."""
    frame = german.features.astype({"rate": str})
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["rate"]), (OrdinalEncoder(), ["status"])
    )
    model = make_pipeline(prepare, DecisionTreeClassifier(random_state=0)).fit(frame, german.labels)
    np.testing.assert_allclose(
        probabilities(hb.victim(model, german.schema), german), model.predict_proba(frame), atol=1e-5
    )


def test_attacks_agree_with_enumeration(german: Table) -> None:
    model, _ = lgb(german)
    columns = ["status", "history", "plans", "housing", "telephone", "duration"]
    space = hb.TableSpace(
        german.schema,
        {"duration": ["6", "24", "48"]},
        immutable=[f.name for f in german.schema.features if f.name not in columns],
    )
    victim, rows = hb.victim(model.booster_, german.schema), german.data.take(slice(0, 12))
    for budget in (1, 2):
        threat = hb.ThreatModel(space, budget)
        best = hb.evaluate(victim, rows, threat, hb.Exhaustive())
        found = hb.evaluate(victim, rows, threat, hb.Auto())
        assert torch.equal(best.rows.success, found.rows.success)
        assert best.rows.success.any()
