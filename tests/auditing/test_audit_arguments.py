"""What a user passes to `hb.audit` as it is: labels of any type, a model without a name."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hammingbox as hb


def table(labels: Any) -> pd.DataFrame:
    rows = np.arange(40)
    return pd.DataFrame({"a": rows % 4, "b": rows % 3, "label": np.array(labels)[(rows % 4 < 2).astype(int)]})


class Model:
    """A classifier that no library saved."""

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        low = (frame["a"] < 2).to_numpy().astype(float)
        return np.stack([1 - low, low], 1)


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([False, True], True),
        ([False, True], np.True_),
        ([0, 1], 1),
        ([0, 1], np.int64(1)),
        ([0.0, 1.0], 1.0),
        ([0.0, 1.0], np.float64(1)),
        ([0.5, 1.5], 1.5),
        (["no", "yes"], "yes"),
    ],
    ids=repr,
)
def test_the_positive_class_is_a_value_of_the_label(labels: list[Any], positive: Any) -> None:
    found = hb.audit(Model(), table(labels), label="label", positive=positive, budgets=[1], rows_per_class=5, what_if=0)
    rates = found.classes[1]
    assert rates.of_positive is not None
    assert rates.of_positive.correct == 5


def test_the_positive_class_of_a_file_is_as_the_file_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    table([0.0, 1.0]).to_csv(path, index=False)
    found = hb.audit(Model(), path, label="label", positive=1.0, budgets=[1], rows_per_class=5, what_if=0)
    assert found.classes[1].positive == "1.0"


def test_a_folder_needs_the_name_of_a_model_that_nothing_else_identifies(tmp_path: Path) -> None:
    def loose(frame: pd.DataFrame) -> np.ndarray:
        return Model().predict_proba(frame)

    given: dict[str, Any] = {"label": "label", "budgets": [1], "rows_per_class": 5, "what_if": 0, "folder": tmp_path}
    with pytest.raises(
        hb.InputError, match=r"expected a name for a function.* Pass name=\.\.\. to hb\.audit"
    ) as caught:
        hb.audit(loose, table(["no", "yes"]), **given)
    assert "BlackBox" not in str(caught.value)
    page = (hb.audit(loose, table(["no", "yes"]), name="loose, 3 May", **given).folder / "report.html").read_text()
    assert "made in Python from an object or a frame: call hb.audit again" in page
    assert "--victim &#39;&#39;" not in page
