"""Every reader against the library's own predictions, on real tables and on rows nobody has seen."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import torch
import xgboost
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError, VictimError
from hammingbox.victims.trees.columns import Column, codes, encoded, one_hot, probed
from hammingbox.victims.trees.read_model import read_model
from hammingbox.victims.trees.tree_victim import check_agreement, tree_victim
from toys.public_tables import german, nursery, values_of

ROWS = 3000


@pytest.fixture(scope="module")
def table() -> Dataset:
    return nursery()


@pytest.fixture(scope="module")
def credit() -> Dataset:
    return german()


def random_rows(schema: Schema, rows: int = ROWS) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.stack([torch.randint(0, d, (rows,), generator=generator) for d in schema.cardinalities], 1)


def frame(schema: Schema, ids: torch.Tensor) -> pd.DataFrame:
    return pd.DataFrame(
        {
            f.name: pd.Categorical.from_codes(ids[:, i].numpy(), categories=list(f.categories))
            for i, f in enumerate(schema.features)
        }
    )


SCIKIT = {
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(20, max_depth=6, random_state=0),
    "full forest": RandomForestClassifier(10, random_state=0),
    "extra": ExtraTreesClassifier(10, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "boosting from zero": GradientBoostingClassifier(n_estimators=4, init="zero", random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "histogram of categories": HistGradientBoostingClassifier(
        max_iter=8, categorical_features=[1, 3, 7], random_state=0
    ),
    "xgboost": xgboost.XGBClassifier(n_estimators=8, max_depth=4, n_jobs=1),
    "xgboost of categories": xgboost.XGBClassifier(
        n_estimators=8, n_jobs=1, enable_categorical=True, feature_types=["c"] * 8, max_cat_to_onehot=1
    ),
    "dart": xgboost.XGBClassifier(booster="dart", n_estimators=8, rate_drop=0.5, n_jobs=1),
    "parallel": xgboost.XGBClassifier(n_estimators=3, num_parallel_tree=3, subsample=0.5, n_jobs=1),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
    "lightgbm forest": lightgbm.LGBMClassifier(
        boosting_type="rf", n_estimators=8, subsample=0.6, subsample_freq=1, verbose=-1, n_jobs=1
    ),
}


@pytest.mark.parametrize("name", SCIKIT)
@pytest.mark.parametrize("binary", [False, True])
def test_models_of_codes_answer_as_their_library(name: str, binary: bool, table: Dataset) -> None:
    labels = (table.labels > 1).long() if binary else table.labels
    schema = Schema(table.schema.features, ("low", "high")) if binary else table.schema
    model = clone(SCIKIT[name]).fit(table.ids[::4].numpy(), labels[::4].numpy())
    rows = random_rows(schema)
    victim = tree_victim(model, schema)
    check_agreement(victim, rows, model.predict_proba(rows.numpy()), tolerance=2e-6)
    assert (victim(rows).argmax(1).numpy() == model.predict(rows.numpy())).mean() > 0.999


@pytest.mark.parametrize("name", ["forest", "boosting", "xgboost", "lightgbm"])
def test_models_of_one_hot_rows_answer_as_their_library(name: str, table: Dataset) -> None:
    columns = one_hot(table.schema)
    model = clone(SCIKIT[name]).fit(encoded(columns, table.ids[::4].numpy()), table.labels[::4].numpy())
    rows = random_rows(table.schema)
    check_agreement(
        tree_victim(model, table.schema), rows, model.predict_proba(encoded(columns, rows.numpy())), tolerance=2e-6
    )


@pytest.mark.parametrize("name", ["xgboost of categories", "lightgbm", "histogram"])
def test_frames_with_categories_answer_as_their_library(name: str, table: Dataset) -> None:
    """The model orders categories as its frame does, which is not the order of the schema."""
    schema, rows = table.schema, random_rows(table.schema)
    model = {
        "xgboost of categories": xgboost.XGBClassifier(
            n_estimators=8, n_jobs=1, enable_categorical=True, max_cat_to_onehot=1
        ),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1, min_data_per_group=1, cat_smooth=1),
        "histogram": HistGradientBoostingClassifier(max_iter=8, random_state=0),
    }[name]

    def theirs(ids: torch.Tensor) -> pd.DataFrame:
        made = frame(schema, ids)
        return made.assign(**{c: made[c].cat.reorder_categories(made[c].cat.categories[::-1]) for c in made})

    model.fit(theirs(table.ids[::4]), table.labels[::4].numpy())
    check_agreement(tree_victim(model, schema), rows, model.predict_proba(theirs(rows)), tolerance=2e-6)


@pytest.mark.parametrize("missing", ["nan", "zero"])
@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "histogram", "tree", "forest"])
def test_numbers_and_missing_cells(name: str, missing: str, credit: Dataset) -> None:
    """Numbers with their thresholds; each column's most frequent value is missing, or counts as zero."""
    schema = credit.schema
    columns = []
    for i, feature in enumerate(schema.features):
        values = values_of(feature) * 0.1
        values[int(credit.ids[:, i].mode().values)] = np.nan if missing == "nan" else 0.0
        columns.append(Column(i, values))
    model: Any = clone(SCIKIT[name])
    if name == "lightgbm":
        model = lightgbm.LGBMClassifier(n_estimators=8, zero_as_missing=missing == "zero", verbose=-1, n_jobs=1)
    model.fit(encoded(columns, credit.ids.numpy()), credit.labels.numpy())
    rows = random_rows(schema)
    victim = tree_victim(model, schema, columns=columns)
    check_agreement(victim, rows, model.predict_proba(encoded(columns, rows.numpy())), tolerance=2e-6)


def test_thresholds_are_compared_in_float32() -> None:
    """0.1 rounds up in float32 and 0.3 down; a threshold between the two forms shows which one is compared."""
    schema = Schema.sequence(2, [str(i) for i in range(40)], ["a", "b"])
    generator = np.random.default_rng(0)
    values = np.sort(generator.normal(size=40)) + np.linspace(0, 1e-9, 40)
    columns = [Column(0, values), Column(1, values[::-1].copy())]
    rows = random_rows(schema)
    labels = (values[rows[:, 0].numpy()] > 0.3) ^ (values[rows[:, 1].numpy()] > -0.2)
    for model in (xgboost.XGBClassifier(n_estimators=5, n_jobs=1), DecisionTreeClassifier()):
        model.fit(encoded(columns, rows.numpy()), labels)
        victim = tree_victim(model, schema, columns=columns)
        check_agreement(victim, rows, model.predict_proba(encoded(columns, rows.numpy())), tolerance=1e-6)


def test_files_and_early_stopping(table: Dataset, tmp_path: Path) -> None:
    x, y, rows = table.ids.numpy(), table.labels.numpy(), random_rows(table.schema)
    model = xgboost.XGBClassifier(n_estimators=30, learning_rate=1.5, early_stopping_rounds=2, n_jobs=1)
    model.fit(x[::5], y[::5], eval_set=[(x[1::5], y[1::5])], verbose=False)
    assert model.best_iteration + 1 < len(model.get_booster().get_dump()) // 4
    check_agreement(tree_victim(model, table.schema), rows, model.predict_proba(rows.numpy()), tolerance=2e-6)
    whole = model.get_booster().predict(xgboost.DMatrix(rows.numpy()))
    for suffix in (".json", ".ubj"):
        model.get_booster().save_model(tmp_path / f"model{suffix}")
        check_agreement(tree_victim(tmp_path / f"model{suffix}", table.schema), rows, whole, tolerance=2e-6)
    light = lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(x[::5], y[::5])
    light.booster_.save_model(tmp_path / "model.txt")
    victim = tree_victim(tmp_path / "model.txt", table.schema)
    check_agreement(victim, rows, light.predict_proba(rows.numpy()), tolerance=2e-6)


def test_probed_columns(table: Dataset) -> None:
    columns = probed(table.schema, lambda ids: encoded(one_hot(table.schema), ids))
    assert [c.feature for c in columns] == [c.feature for c in one_hot(table.schema)]
    rows = random_rows(table.schema).numpy()
    assert np.array_equal(encoded(columns, rows), encoded(one_hot(table.schema), rows))
    with pytest.raises(InputError, match="depends on several"):
        probed(table.schema, lambda ids: ids[:, :1] + ids[:, 1:2])
    with pytest.raises(InputError, match="combinations"):
        probed(table.schema, lambda ids: np.concatenate([ids, ids[:, :1] * ids[:, 1:2]], 1))
    with pytest.raises(VictimError, match="shape"):
        probed(table.schema, lambda ids: ids[0])


def test_a_wrong_encoding_is_noticed(table: Dataset) -> None:
    model = clone(SCIKIT["xgboost"]).fit(table.ids.numpy()[::8], table.labels.numpy()[::8])
    rows = random_rows(table.schema)
    turned = [Column(c.feature, c.values[::-1].copy()) for c in codes(table.schema)]
    with pytest.raises(VictimError, match="differ by"):
        check_agreement(tree_victim(model, table.schema, columns=turned), rows, model.predict_proba(rows.numpy()))


def test_hostile_input(table: Dataset, tmp_path: Path) -> None:
    schema, x, y = table.schema, table.ids.numpy()[::20], table.labels.numpy()[::20]
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(x, y)
    with pytest.raises(InputError, match="classes"):
        read_model(model, Schema(schema.features, ("a", "b")))
    with pytest.raises(InputError, match="columns"):
        read_model(model, Schema(schema.features[:-1], schema.classes))
    with pytest.raises(InputError, match="objective"):
        read_model(xgboost.XGBRegressor(n_estimators=2, n_jobs=1).fit(x, y), schema)
    with pytest.raises(InputError, match="booster of trees"):
        read_model(xgboost.XGBClassifier(booster="gblinear", n_estimators=2, n_jobs=1).fit(x, y), schema)
    with pytest.raises(InputError, match="dict"):
        read_model({}, schema)
    with pytest.raises(InputError, match="not fitted"):
        read_model(RandomForestClassifier(), schema)
    with pytest.raises(FileError, match="got:"):
        read_model(tmp_path / "absent.json", schema)
    good = bytes(model.get_booster().save_raw("json"))
    for damaged in (
        good[:-50],
        b"{}",
        b"[1]",
        good.replace(b'"left_children":[1', b'"left_children":[99999'),
        b"[" * 9999,
    ):
        (tmp_path / "model.json").write_bytes(damaged)
        with pytest.raises((FileError, InputError)):
            read_model(tmp_path / "model.json", schema)
    (tmp_path / "model.ubj").write_bytes(b"junk" * 10)
    with pytest.raises(FileError):
        read_model(tmp_path / "model.ubj", schema)
    (tmp_path / "model.txt").write_text("junk")
    with pytest.raises(FileError):
        read_model(tmp_path / "model.txt", schema)
