"""Attacks on models of scikit-learn and XGBoost, as black boxes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from hammingbox.attacks import Auto, Exhaustive
from hammingbox.data.dataset import Splits
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.black_box import BlackBox


def sklearn_pipeline(
    rows: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]
) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=200))
    return pipeline.fit(rows, labels).predict_proba


def xgboost_model(
    rows: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]
) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    encoder = OneHotEncoder(handle_unknown="ignore").fit(rows)
    model = XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1).fit(encoder.transform(rows), labels)
    return lambda queried: model.predict_proba(encoder.transform(queried))


@pytest.mark.parametrize("train", [sklearn_pipeline, xgboost_model])
def test_models_of_other_libraries_on_splice(train: Callable[..., Any], splice_splits: Splits) -> None:
    schema, data, test = splice_splits.train.schema, splice_splits.train, splice_splits.test
    words = np.array(
        [[f.categories[i] for f, i in zip(schema.features, row, strict=True)] for row in data.ids.tolist()]
    )
    victim = BlackBox(train(words, data.labels.numpy()), schema=schema)
    right = victim(test.ids).argmax(1) == test.labels
    assert float(right.float().mean()) > 0.9
    x, y = test.ids[right][:30], test.labels[right][:30]
    space = MaskedSpace(schema, forbidden={"*": ["N"]})
    single = Exhaustive()(victim, x, y, ThreatModel(space, 1))
    found = Auto(queries=1000)(victim, x, y, ThreatModel(space, 1))
    assert torch.equal(found.success, single.success), "180 single changes: exact within the queries"
    assert int(found.forward.max()) <= 1000
    rates = [float(Auto(queries=1000)(victim, x, y, ThreatModel(space, b)).success.float().mean()) for b in (2, 3)]
    assert rates[1] >= rates[0] >= float(found.success.float().mean()) > 0
