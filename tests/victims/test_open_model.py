"""`--model`: what it opens, and what it says about files that are damaged, foreign, unsafe or made for other rows."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import catboost
import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import hammingbox as hb
from hammingbox.victims.libraries import trial
from victims.tables import Table, as_table


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Table:
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"city": draw.choice(["b", "a", "c"], 200), "n": draw.integers(0, 60, 200)})
    frame["class"] = np.where((frame.city == "a") ^ (frame.n > 30), "fraud", "ok")
    return as_table(frame, "class", tmp_path_factory.mktemp("small") / "small.csv")


@pytest.fixture(scope="module")
def files(small: Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model file of each library."""
    folder = tmp_path_factory.mktemp("models")
    coded = (small.labels == "ok").astype(int)
    model = xgboost.XGBClassifier(n_estimators=3, enable_categorical=True, n_jobs=1).fit(small.categorised, coded)
    model.save_model(folder / "x.ubj")
    model.save_model(folder / "x.json")
    lgb = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(small.categorised, small.labels)
    lgb.booster_.save_model(folder / "l.txt")
    cat = catboost.CatBoostClassifier(iterations=3, verbose=0, cat_features=["city"], allow_writing_files=False)
    cat.fit(small.features, small.labels).save_model(str(folder / "c.cbm"))
    skops.io.dump(DecisionTreeClassifier().fit(small.features[["n"]], small.labels), folder / "s.skops")
    return folder


def opened(path: Path, table: Table) -> hb.Victim:
    return hb.open_model(str(path), table.schema).victim


@pytest.mark.parametrize("name", ["x.json", "x.ubj", "l.txt", "c.cbm", "s.skops"])
def test_truncated_files_are_one_sentence(name: str, files: Path, small: Table, tmp_path: Path) -> None:
    whole = (files / name).read_bytes()
    # CatBoost does without the last bytes of its file.
    for cut in (0, 3, len(whole) // 3, len(whole) // 2, len(whole) - (400 if name == "c.cbm" else 20)):
        path = tmp_path / name
        path.write_bytes(whole[:cut])
        with pytest.raises(hb.FileError, match=r"expected .* got .*Save it again"):
            opened(path, small)


@pytest.mark.trials
def test_a_file_is_tried_in_another_process_once(
    files: Path, small: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever passes the checks of its structure may still end the process that reads it."""
    monkeypatch.setitem(trial.SCRIPTS, "catboost", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(
        hb.FileError, match=r"a whole catboost model .* got a damaged one \(the reader died of signal 11"
    ):
        opened(files / "c.cbm", small)
    monkeypatch.setitem(trial.SCRIPTS, "xgboost", "assert content.startswith(b'{L')")
    first = opened(files / "x.ubj", small)
    monkeypatch.setattr("subprocess.run", None)
    assert opened(files / "x.ubj", small).identity == first.identity


@pytest.mark.trials
def test_a_reader_that_never_ends_is_ended(
    files: Path, small: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAMMINGBOX_CACHE", str(tmp_path))  # another test has tried this file
    monkeypatch.setattr(trial, "_SECONDS_PER_PART", 0)
    monkeypatch.setitem(trial.SCRIPTS, "xgboost", "limit(seconds, size)\nwhile True: pass")
    with pytest.raises(hb.FileError, match=r"got a damaged one \(the reader was killed, .*; try again first\)"):
        opened(files / "x.ubj", small)


@pytest.mark.trials
def test_a_reader_that_asks_for_too_much_memory_is_ended(
    files: Path, small: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAMMINGBOX_CACHE", str(tmp_path))
    monkeypatch.setitem(trial.SCRIPTS, "xgboost", "limit(seconds, size)\nbytearray(2**34)")
    with pytest.raises(hb.FileError, match=r"got a damaged one \(MemoryError"):
        opened(files / "x.ubj", small)


@pytest.mark.trials
@pytest.mark.parametrize("damage", ["child", "column", "loop"])
def test_a_scikit_learn_tree_that_is_none_does_not_end_the_process(damage: str, small: Table, tmp_path: Path) -> None:
    """Its checksums agree, it is read well, and it would end the process when it is asked."""
    model = DecisionTreeClassifier().fit(small.features[["n"]], small.labels)
    state = model.tree_.__getstate__()
    nodes = state["nodes"].copy()
    nodes["feature" if damage == "column" else "left_child"][0] = 0 if damage == "loop" else 10**8
    model.tree_.__setstate__(state | {"nodes": nodes})
    skops.io.dump(model, tmp_path / "s.skops")
    with pytest.raises(hb.FileError, match=r"whole skops model .* got a damaged one .*a tree"):
        opened(tmp_path / "s.skops", small)


def test_whatever_a_library_says_about_a_damaged_model_is_one_sentence(
    files: Path, small: Table, tmp_path: Path
) -> None:
    value = json.loads((files / "x.json").read_bytes())
    value["learner"]["attributes"] = {"best_iteration": "\ud800"}
    (tmp_path / "x.json").write_text(json.dumps(value))
    with pytest.raises(hb.FileError, match="expected"):
        opened(tmp_path / "x.json", small)
    value["learner"]["attributes"] = {"best_iteration": "many"}
    (tmp_path / "x.json").write_text(json.dumps(value))
    with pytest.raises(hb.FileError, match=r"whole XGBoost model in .* got a damaged one \(ValueError\)"):
        opened(tmp_path / "x.json", small)


def test_a_damaged_lightgbm_file_does_not_end_the_process(files: Path, small: Table, tmp_path: Path) -> None:
    text = (files / "l.txt").read_text()
    cut = text[: text.index("leaf_value")]
    unnamed = text.replace("[drop_rate: 0.1]", "[drop_r\\ 0.1]")  # read as text without an end
    leaves, threshold = text.replace("num_leaves=", "num_leaves=9", 1), text.replace("threshold=", "threshold=x", 1)
    for damaged in (cut, leaves, threshold, unnamed):
        assert damaged != text
        (tmp_path / "l.txt").write_text(damaged)
        with pytest.raises(hb.FileError, match=r"LightGBM model in .* got a damaged one"):
            opened(tmp_path / "l.txt", small)


@pytest.mark.parametrize("name", ["left_child", "right_child", "split_feature"])
@pytest.mark.parametrize("number", ["0", "7000", "-7000"])
def test_a_lightgbm_tree_is_walked_before_it_is_opened(
    name: str, number: str, files: Path, small: Table, tmp_path: Path
) -> None:
    if (name, number) == ("split_feature", "0"):
        return
    text = (files / "l.txt").read_text()
    (tmp_path / "l.txt").write_text(re.sub(rf"{name}=-?\d+", f"{name}={number}", text, count=1))
    with pytest.raises(hb.FileError, match=r"LightGBM model in .* got a damaged one"):
        opened(tmp_path / "l.txt", small)


@pytest.mark.parametrize(
    ("source", "suffix", "message"),
    [
        ("l.txt", ".ubj", r"expected XGBoost in .* got a model of LightGBM. Give the file the suffix \.txt"),
        ("x.json", ".txt", r"expected LightGBM in .* got a model of XGBoost"),
        ("x.ubj", ".bin", r"expected a suffix that says the library of .* got a model of XGBoost. .* \.json or \.ubj"),
        ("l.txt", "", r"expected a suffix that says the library of .* got a model of LightGBM. .* \.txt"),
        ("c.cbm", ".onnx", r"expected ONNX in .* got a model of CatBoost"),
        ("s.skops", ".cbm", r"expected CatBoost in .* got a model of skops"),
    ],
)
def test_a_file_of_another_library(
    source: str, suffix: str, message: str, files: Path, small: Table, tmp_path: Path
) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes((files / source).read_bytes())
    with pytest.raises(hb.FileError, match=message):
        opened(path, small)


def test_pickles_are_refused_unread(small: Table, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return Path(tmp_path / "ran").write_text, ("code",)

    for name in ("model.pkl", "model.joblib", "model.skops", "model.pickle"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(Evil()))
        with pytest.raises(hb.FileError, match=r"holds no code, got the pickle .*skops\.io\.dump"):
            opened(path, small)
    joblib.dump(DecisionTreeClassifier(), tmp_path / "compressed.joblib.gz", compress=3)
    with pytest.raises(hb.FileError, match="holds no code"):
        opened(tmp_path / "compressed.joblib.gz", small)
    (tmp_path / "net.pt").write_bytes(b"")
    with pytest.raises(hb.FileError, match=r"torch file .* package\.module:object"):
        opened(tmp_path / "net.pt", small)
    assert not (tmp_path / "ran").exists()


def test_strange_types_in_skops_files_are_named(small: Table, tmp_path: Path) -> None:
    tree = DecisionTreeClassifier().fit(small.features[["n"]], small.labels)
    skops.io.dump(make_pipeline(FunctionTransformer(as_table), tree), tmp_path / "m.skops")
    with pytest.raises(hb.FileError, match=r"only types of scikit-learn and NumPy in .* got .*as_table"):
        opened(tmp_path / "m.skops", small)


def test_models_of_other_tables(files: Path, small: Table, german: Table) -> None:
    with pytest.raises(hb.InputError, match=r"got a table without city, n\. .*Name the table the model was trained on"):
        opened(files / "x.ubj", german)
    three = hb.Schema(small.schema.features, ("fraud", "ok", "unsure"))
    for name in ("x.ubj", "l.txt", "c.cbm", "s.skops"):
        with pytest.raises(hb.HammingboxError, match=r"3 classes .*got 2"):
            hb.open_model(str(files / name), three)
    for name in ("c.cbm", "s.skops"):
        with pytest.raises(hb.InputError, match=r"expected a model of the classes no, yes, got one of fraud, ok"):
            hb.open_model(str(files / name), hb.Schema(small.schema.features, ("no", "yes")))
    renamed = hb.Schema((hb.Feature("City", ("a", "b")), small.schema.features[1]), small.schema.classes)
    with pytest.raises(hb.InputError, match=r"without city\. Did you mean 'City'\?"):
        hb.open_model(str(files / "c.cbm"), renamed)
    strange = hb.Schema((hb.Feature("city", ("Ulm", "Rom")), small.schema.features[1]), small.schema.classes)
    for name in ("x.ubj", "l.txt"):
        with pytest.raises(hb.InputError, match=r"categories of column 'city' that the model knows \(a, b, c"):
            hb.open_model(str(files / name), strange)
    texts = hb.Schema((small.schema.features[0], hb.Feature("n", ("few", "many"))), small.schema.classes)
    for name in ("x.ubj", "l.txt"):
        with pytest.raises(hb.HammingboxError, match=r"'n' because the model takes float(32|64) there, got 'few'"):
            hb.open_model(str(files / name), texts)
    with pytest.raises(
        hb.VictimError, match=r"ValueError: could not convert.* It was given a frame of 1 columns: n \(str"
    ):
        hb.open_model(str(files / "s.skops"), texts)


def test_regressors_and_unfitted_models_are_refused(small: Table, tmp_path: Path) -> None:
    skops.io.dump(LinearRegression().fit(small.features[["n"]], np.arange(200)), tmp_path / "r.skops")
    with pytest.raises(hb.InputError, match="expected a classifier, got the regressor LinearRegression"):
        opened(tmp_path / "r.skops", small)
    with pytest.raises(hb.InputError, match="never fitted"):
        hb.victim(DecisionTreeClassifier(), small.schema)
    xgboost.XGBRegressor(n_estimators=2).fit(small.features[["n"]], np.arange(200)).save_model(tmp_path / "r.ubj")
    with pytest.raises(hb.InputError, match="objective 'reg:squarederror'"):
        opened(tmp_path / "r.ubj", small)
    lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(small.features[["n"]], np.arange(200)).booster_.save_model(
        tmp_path / "r.txt"
    )
    with pytest.raises(hb.InputError, match="objective 'regression'"):
        opened(tmp_path / "r.txt", small)
    for nonsense in (3, None, object(), {"a": 1}):
        with pytest.raises(hb.InputError, match="expected a model"):
            hb.victim(nonsense, small.schema)


@pytest.mark.parametrize("spec", ["nothing.ubj", "no/folder", "model.h5", "", "no.such.module:thing", "os:nothing"])
def test_what_is_not_there(spec: str, small: Table, tmp_path: Path) -> None:
    if spec == "model.h5":
        (tmp_path / spec).write_bytes(b"x")
        spec = str(tmp_path / spec)
    with pytest.raises(hb.HammingboxError, match="expected"):
        hb.open_model(spec, small.schema)


def test_the_columns_file_overrules(small: Table, tmp_path: Path) -> None:
    """A booster trained on codes of its own: without the file its answers are about other cities."""
    order = ["c", "b", "a"]
    own = small.features.assign(city=[order.index(city) for city in small.features["city"]])
    reverse = (small.labels == "fraud").astype(int)
    data = xgboost.DMatrix(own.to_numpy(), reverse, feature_names=["city", "n"], feature_types=["c", "q"])
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3}, data, 5)
    path = tmp_path / "m.ubj"
    booster.save_model(path)
    plain = opened(path, small)
    assert any("does not hold the categories of city" in note for note in plain.notes)
    typed = small.features.assign(city=pd.Categorical(small.features["city"], categories=order))
    assert hb.write_columns(path, typed, classes=["ok", "fraud"]) == tmp_path / "m.ubj.columns.json"
    told = opened(path, small)
    x, _ = small.data.batch(slice(None))
    fraud = small.schema.classes.index("fraud")
    expected = booster.predict(data)  # on its own codes
    np.testing.assert_allclose(told(x).exp()[:, fraud].numpy(), expected, atol=1e-5)
    assert not np.allclose(plain(x).exp()[:, fraud].numpy(), expected, atol=0.1)
    assert told.identity != plain.identity
    for damage, message in (
        ("[]", "expected an object"),
        ('{"colums": {}}', "Did you mean 'columns'"),
        ('{"columns": {"city": 3}}', "got another form"),
        ('{"takes": "soup"}', "known value of 'takes'"),
        ('{"classes": ["yes", "no"]}', "expected the classes of the table"),
        ("{", "expected JSON"),
    ):
        (tmp_path / "m.ubj.columns.json").write_text(damage)
        with pytest.raises(hb.HammingboxError, match=message):
            opened(path, small)


def test_python_objects(small: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_fraud_model.py").write_text(
        "import hammingbox as hb\n"
        "def predict(frame): return (frame['n'] > 30).astype(float)\n"
        "def load(schema): return hb.victim(predict, schema, name='v2')\n"
        "class Holder: inside = staticmethod(predict)\n"
    )
    monkeypatch.chdir(tmp_path)
    for spec in ("my_fraud_model:predict", "my_fraud_model:load", "my_fraud_model:Holder.inside"):
        checkpoint = hb.open_model(spec, small.schema)
        assert 0.3 < hb.accuracy(checkpoint.victim, small.data) < 0.7
        with pytest.raises(hb.FileError, match=r"without running code .* Name it with --model"):
            hb.open_model(spec, small.schema, named_by_user=False)
    assert hb.open_model("my_fraud_model:predict", small.schema).victim.identity
    with pytest.raises(hb.InputError, match="AttributeError"):
        hb.open_model("my_fraud_model:nothing", small.schema)


def test_checkpoints_are_models_too(small: Table, tmp_path: Path) -> None:
    hb.Checkpoint(hb.build("mlp", small.schema), "mlp", {}, small.schema).save(tmp_path)
    assert hb.open_model(str(tmp_path), small.schema).model == "mlp"
    assert hb.open_model(str(tmp_path / "config.json"), small.schema).model == "mlp"
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(hb.InputError, match="expected a data set of texts for a transformers folder"):
        hb.open_model(str(tmp_path), small.schema)
