"""Splice with the paper's test rows: nothing that is tested on is trained on."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox.data import splice, splice_paper
from hammingbox.data.dataset import Dataset, Splits
from hammingbox.errors import FileError
from hammingbox.running.tasks import Task
from hammingbox.threat.space import FullSpace
from toys.real_data import DATA, needs

SHIPPED = splice.all_rows()
TEST = torch.tensor([0, 5, 2000, 3000])


def write_csv(folder: Path, rows: Dataset) -> list[str]:
    lines = ["row,label,class,sequence"] + [
        f"{row},{label},{splice.SCHEMA.classes[label]},{''.join('AGTCN'[base] for base in ids)}"
        for row, (ids, label) in enumerate(zip(rows.ids.tolist(), rows.labels.tolist(), strict=True))
    ]
    (folder / "splice_test.csv").write_text("\n".join(lines))
    return lines


def sequences(part: Dataset) -> set[tuple[int, ...]]:
    return {tuple(row) for row in part.ids.tolist()}


def check_parts(splits: Splits) -> None:
    """Every shipped row is in one part at most, and those that are missing are test sequences."""
    train, validation, test = (sequences(part) for part in (splits.train, splits.validation, splits.test))
    assert not train & validation
    assert not test & (train | validation)
    left = [tuple(row) not in test for row in SHIPPED.ids.tolist()]
    rest = Dataset.join([splits.train, splits.validation])
    assert len(rest) == sum(left)
    assert torch.equal(SHIPPED.ids[rest.numbers], rest.ids)
    assert torch.equal(SHIPPED.labels[rest.numbers], rest.labels)
    assert len(train) / len(train | validation) == pytest.approx(7 / 8, abs=1e-3)
    assert min(Counter(splits.validation.labels[:100].tolist()).values()) > 10, "the first rows are a fair sample"


def test_test_sequences_are_taken_out_of_the_shipped_rows(tmp_path: Path) -> None:
    write_csv(tmp_path, SHIPPED.take(TEST))
    splits = splice_paper.load(data_dir=tmp_path)
    assert torch.equal(splits.test.ids, SHIPPED.ids[TEST])
    assert torch.equal(splits.test.labels, SHIPPED.labels[TEST])
    assert {part.name for part in (splits.train, splits.validation, splits.test)} == {"splice_paper"}
    check_parts(splits)


def test_rows_from_the_pickles_of_the_authors_equal_those_from_csv(tmp_path: Path) -> None:
    folder = tmp_path / "splice"
    folder.mkdir()
    with pytest.raises(FileError, match=r"expected a file of splice .* so they are not downloaded"):
        splice_paper.load(data_dir=tmp_path)
    rows = SHIPPED.take(TEST)
    (folder / "gene_test_funccall.pickle").write_bytes(pickle.dumps(rows.ids.tolist(), 3))
    (folder / "gene_test_label.pickle").write_bytes(pickle.dumps(rows.labels.numpy().astype(object), 3))
    from_pickles = splice_paper.load(data_dir=tmp_path)
    write_csv(folder, rows)
    from_csv = splice_paper.load(data_dir=tmp_path)
    for part in ("train", "validation", "test"):
        assert getattr(from_pickles, part).digest == getattr(from_csv, part).digest


def test_other_files_are_refused(tmp_path: Path) -> None:
    lines = write_csv(tmp_path, SHIPPED.take(TEST))
    path = tmp_path / "splice_test.csv"
    for content, message in (
        ("row,sequence\n0,AGT", "expected a line of column names with label and sequence"),
        ("\n".join(line[:-1] for line in lines), r"expected a line of column names with label and sequence"),
        ("\n".join([lines[0], *(line[:-1] for line in lines[1:])]), r"rows of 60 bases .* got shapes \(4, 59\)"),
        ("\n".join([*lines[:3], lines[3][:-1]]), "expected a line of column names"),
        (lines[0], r"rows of 60 bases with one label each"),
        ("\n".join(lines).replace("0,2,EI", "0,3,EI"), r"expected bases 0\.\.4 and labels 0\.\.2"),
    ):
        path.write_text(content)
        with pytest.raises(FileError, match=message):
            splice_paper.load(data_dir=tmp_path)
    path.unlink()
    (tmp_path / "gene_test_funccall.pickle").write_bytes(pickle.dumps(np.full((2, 60), 5)))
    (tmp_path / "gene_test_label.pickle").write_bytes(pickle.dumps([0, 1]))
    with pytest.raises(FileError, match=r"expected bases 0\.\.4"):
        splice_paper.load(data_dir=tmp_path)


def test_all_five_letters_may_be_written(tmp_path: Path) -> None:
    write_csv(tmp_path, SHIPPED.take(TEST))
    assert isinstance(Task.of("splice_paper", data_dir=tmp_path).space(), FullSpace)


@needs("splice/splice_test.csv")
def test_the_papers_rows() -> None:
    splits = splice_paper.load(data_dir=DATA)
    assert (len(splits.test), torch.bincount(splits.test.labels).tolist()) == (319, [81, 158, 80])
    check_parts(splits)
    shipped = Counter(zip(map(tuple, SHIPPED.ids.tolist()), SHIPPED.labels.tolist(), strict=True))
    assert all(
        row in shipped for row in zip(map(tuple, splits.test.ids.tolist()), splits.test.labels.tolist(), strict=True)
    )
