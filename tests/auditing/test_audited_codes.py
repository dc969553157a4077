"""An audit says that an attacker may write codes for missing values, and how many rows fall to them."""

from typing import Any

import numpy as np
import pandas as pd

import hammingbox as hb
from hammingbox.data.column_rules import ColumnRules
from hammingbox.data.table_schema import TableSchema


def table() -> pd.DataFrame:
    """Incomes, thirty of them not known; old people and those who hide their income are bad risks."""
    income, age = np.arange(200) * 10 + 1000, 20 + np.arange(200) % 50
    income[:30] = -999
    return pd.DataFrame({"income": income, "age": age, "risk": np.where((income < 0) | (age >= 60), "bad", "good")})


def model(frame: pd.DataFrame) -> np.ndarray:
    """It is right on every row of the table."""
    bad = ((frame["income"] < 0) | (frame["age"] >= 60)).to_numpy()
    return np.stack([bad, ~bad], 1).astype(float)


def audited(**more: Any) -> hb.Audit:
    return hb.audit(model, table(), label="risk", name="toy", budgets=[1], rows_per_class=20, what_if=0, **more)


def found(**more: Any) -> dict[str, hb.Finding]:
    return {finding.slug: finding for finding in audited(**more).findings}


def test_an_audit_counts_the_rows_that_fall_to_a_code() -> None:
    """A young person with an income falls to nothing but the code."""
    result = audited(immutable=["age"])
    (seen,) = [finding for finding in result.findings if finding.slug == "missing-value-codes"]
    (good,) = [line for line in result.classes[1].lines if line.name == "good"]
    assert good.broken == 20
    assert "'income' -999 (written in 20 broken rows)" in seen.seen
    assert "age" not in seen.seen
    assert seen.severity == "warning"


def test_a_declared_or_frozen_code_is_not_named() -> None:
    assert "missing-value-codes" not in found(immutable=["income"])
    rules = (
        ColumnRules("income", kind="number", candidates="quantiles:10", sentinels=("-999",)),
        ColumnRules("age", kind="number", candidates="quantiles:10"),
    )
    assert "missing-value-codes" not in found(schema=TableSchema(label="risk", columns=rules))
