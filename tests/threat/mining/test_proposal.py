"""Rules that are found in data: the ones that were put there, with their support, and few others."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hammingbox.data.dataset import Dataset
from hammingbox.data.infer_schema import infer_schema
from hammingbox.data.read_columns import read_columns
from hammingbox.errors import InputError
from hammingbox.threat.proposal import propose
from hammingbox.threat.threat_file import read_threat


def orders_table(rows: int = 3000, wrong: int = 0) -> pd.DataFrame:
    """Orders with known rules, and columns of noise. In the last `wrong` rows the total is wrong."""
    random = np.random.default_rng(1)
    city = random.integers(0, 40, rows)
    net, tax = random.integers(1, 5000, rows), random.integers(1, 900, rows)
    quantity, price = random.integers(2, 30, rows), random.integers(2, 99, rows)
    ordered = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, rows), unit="D")
    days = random.integers(0, 60, rows)
    paid = random.integers(0, 3, rows)
    model = random.integers(0, 6, rows)
    total = net + tax
    total[rows - wrong :] += 1
    return pd.DataFrame(
        {
            "city": [f"c{i}" for i in city],
            "a country": [f"l{i % 7}" for i in city],
            "net": [f"{n / 100:.2f}" for n in net],
            "tax": [f"{n / 100:.2f}" for n in tax],
            "total": [f"{n / 100:.2f}" for n in total],
            "quantity": quantity,
            "price": price,
            "amount": quantity * price,
            "ordered": ordered.astype(str),
            "shipped": (ordered + pd.to_timedelta(days, unit="D")).astype(str),
            "days": days,
            "month": ordered.month,
            "by_card": (paid == 0).astype(int),
            "by_cash": (paid == 1).astype(int),
            "by_bill": (paid == 2).astype(int),
            "model": [f"m{i}" for i in model],
            "engine": [f"e{i}" for i in (model // 2 + random.integers(0, 2, rows)) % 4],
            "plan": [f"p{(3 * m + 5 * p) % 7}" for m, p in zip(model, paid, strict=True)],
            "payer": [f"w{p}" for p in paid],
            "noise": random.integers(0, 9, rows),
            "value": np.round(random.normal(0, 5, rows), 3),
            "label": random.integers(0, 2, rows),
        }
    )


def rows_of(frame: pd.DataFrame) -> Dataset:
    table = read_columns(frame)
    return infer_schema(table, "label").encode(table, "orders")


@pytest.fixture(scope="module")
def data() -> Dataset:
    return rows_of(orders_table())


def test_what_was_put_into_the_data_is_found(data: Dataset) -> None:
    found = {rule.relation.name: rule for rule in propose(data).rules}
    for name in (
        "city decides a country", "total == net + tax", "amount == quantity * price", "month == month(ordered)",
        "days == days(shipped) - days(ordered)", "ordered <= shipped", "combinations of model, engine",
        "one of by_card, by_cash, by_bill", "model, payer decides plan",
    ):  # fmt: skip
        assert name in found, (name, list(found))
        assert found[name].kept == found[name].rows == 3000, "exact support"
    others = {name for name in found if "noise" in name or "value" in name}
    assert not others, "noise has no rules"
    assert len(found) <= 20, list(found)


def test_a_rule_that_a_few_rows_break_is_found_with_their_number() -> None:
    text = propose(rows_of(orders_table(2000, wrong=15)), least=0.99).text
    place = text.index('# formula = "total == net + tax"')
    assert "kept by 1,985 of 2,000 rows (99.25 %), 15 break it" in text[:place][-300:]
    assert "total == net + tax" not in propose(rows_of(orders_table(2000, wrong=100)), least=0.99).text


def test_nothing_is_active_until_it_is_accepted(data: Dataset, tmp_path: Path) -> None:
    file = tmp_path / "threat.toml"
    file.write_text(propose(data).text)
    assert read_threat(file, data.schema, data).rules.relations == ()


def test_accepted_lines_are_a_valid_file(data: Dataset, tmp_path: Path) -> None:
    """All of them at once, and each of them alone."""
    proposal = propose(data)
    file = tmp_path / "threat.toml"
    accepted = re.sub(r"^# ", "", proposal.text, flags=re.MULTILINE)
    file.write_text(accepted)
    rules = read_threat(file, data.schema, data).rules
    assert [relation.name for relation in rules.relations] == [rule.relation.name for rule in proposal.rules]
    assert rules.hold(data.ids.long(), data.ids.long()).all()
    assert not any(bool(mask.any()) for mask in rules.breaks(data.ids.long()).values())


def test_awkward_names_are_quoted(tmp_path: Path) -> None:
    frame = orders_table(600)[["net", "tax", "total", "city", "a country", "label"]]
    renamed = frame.rename(columns={"net": 'n"e\\t', "tax": "class", "total": "true", "city": "été [x]"})
    data = rows_of(renamed)
    file = tmp_path / "threat.toml"
    file.write_text(re.sub(r"^# ", "", propose(data).text, flags=re.MULTILINE), encoding="utf-8")
    names = [relation.to_json().get("formula", "") for relation in read_threat(file, data.schema, data).rules.relations]
    assert any('col["true"] == col["n' in name for name in names), names


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_small_tables(rows: int) -> None:
    frame = orders_table(rows)
    frame["label"] = [i % 2 for i in range(rows)]
    assert propose(rows_of(frame)).text.startswith("##")


def test_what_propose_refuses(data: Dataset) -> None:
    with pytest.raises(InputError, match="share of the rows"):
        propose(data, least=0.2)
    with pytest.raises(InputError, match="at least two rows"):
        propose(data.take([0]))
