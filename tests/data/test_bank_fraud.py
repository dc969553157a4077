"""bank_fraud: read from a folder, cut into bins, divided by month."""

import os
from pathlib import Path

import pytest
import torch

from hammingbox.data import bank_fraud
from hammingbox.errors import FileError

HEADER = (
    "income,name_email_similarity,foreign_request,device_os,source,email_is_free,zip_count_4w,keep_alive_session,"
    "phone_home_valid,phone_mobile_valid,device_distinct_emails_8w,proposed_credit_limit,employment_status,customer_age,"
    "month,fraud_bool"
)


def row(number: int, month: int, fraud: int) -> str:
    return f"0.{number % 9 + 1},0.{number % 10},0,linux,INTERNET,1,{100 * (number % 11)},1,0,1,{number % 4 - 1},500.0,CA,40,{month},{fraud}"  # noqa: E501


def folder(path: Path, text: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "bank_fraud.csv").write_text(text)
    return path


def test_rows_are_divided_by_month_and_cut_into_bins(tmp_path: Path) -> None:
    lines = [HEADER, *(row(number, number % 8, number % 3 // 2) for number in range(160))]
    splits = bank_fraud.load(data_dir=folder(tmp_path, "\n".join(lines)))
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (105, 15, 40)
    feature = splits.schema.features[splits.schema.feature_index("zip_count_4w")]
    assert feature.categories[0] == "0 to 100"
    assert len(feature.categories) == 10
    ids, _ = splits.train.batch(torch.arange(len(splits.train)))
    assert int(ids[:, splits.schema.feature_index("zip_count_4w")].max()) == 9
    assert splits.schema.features[splits.schema.feature_index("proposed_credit_limit")].kind == "number"
    assert splits.schema.classes == ("legitimate", "fraud")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER, "expected rows"),
        ("a,b\n1,2", "expected the columns"),
        (f"{HEADER}\n1,2", "expected 16 fields in line 2"),
        (f"{HEADER}\n{row(1, 1, 0)}\n{row(2, 7, 2)}", "labels 0 and 1"),
        (f"{HEADER}\n{row(1, 1, 0)}\n{row(2, 2, 1)}", "months before and from 6 on"),
        (f"{HEADER}\n{row(1, 1, 0)}\n{row(2, 7, 1).replace('500.0', 'much')}", "expected numbers"),
    ],
)
def test_another_file_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        bank_fraud.load(data_dir=folder(tmp_path, text))


def test_a_missing_file_says_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"bank_fraud\.csv"):
        bank_fraud.load(data_dir=tmp_path)


@pytest.mark.skipif(
    "HAMMINGBOX_DATA" not in os.environ, reason="HAMMINGBOX_DATA is not set: the real rows are not here"
)
def test_the_published_rows() -> None:
    splits = bank_fraud.load()
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (14_827, 2_119, 5_112)
    labels = splits.test.batch(slice(0, 200))[1].double().mean().item()
    assert 0.3 < labels < 0.8, "the first rows are a fair sample"
