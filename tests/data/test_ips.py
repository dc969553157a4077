"""IPS: its rows come from CSV or from the authors' pickles, which are read but never run."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from hammingbox.data import ips
from hammingbox.errors import FileError
from toys.real_data import DATA, needs

ROWS = np.random.default_rng(0).integers(1, 1067, size=(6, 20))
LABELS = np.array([0, 1, 2, 2, 1, 0])


def test_rows_from_the_pickles_of_the_authors_equal_those_from_csv(tmp_path: Path) -> None:
    folder = tmp_path / "ips"
    folder.mkdir()
    (folder / "mal_test_funccall.pickle").write_bytes(pickle.dumps(ROWS.tolist(), 3))
    with pytest.raises(FileError, match=r"expected a file of ips .* no licence, so it is not downloaded"):
        ips.load(data_dir=tmp_path)
    (folder / "mal_test_label.pickle").write_bytes(pickle.dumps(LABELS, 3))
    from_pickles = ips.load(data_dir=tmp_path).test
    lines = ["row,label," + ",".join(f"f{i}" for i in range(20))]
    lines += [
        f"{i},{label}," + ",".join(map(str, row)) for i, (row, label) in enumerate(zip(ROWS, LABELS, strict=True))
    ]
    (folder / "ips_test.csv").write_text("\n".join(lines))
    from_csv = ips.load(data_dir=folder).test
    assert from_pickles.digest == from_csv.digest
    (folder / "ips_test.csv").write_text("\n".join(lines) + "0" * 30)
    with pytest.raises(FileError, match="expected lines of row, label and 20 events as integers"):
        ips.load(data_dir=tmp_path)
    (folder / "ips_test.csv").write_text("\n".join(lines).replace(",", ",x", 30))
    with pytest.raises(FileError, match="expected lines of row, label and 20 events as integers"):
        ips.load(data_dir=tmp_path)
    (folder / "ips_test.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines))
    with pytest.raises(FileError, match=r"expected rows of 20 events .* got shapes \(6, 19\)"):
        ips.load(data_dir=tmp_path)


def test_only_the_test_part_has_rows(tmp_path: Path) -> None:
    (tmp_path / "mal_test_funccall.pickle").write_bytes(pickle.dumps(ROWS.tolist()))
    (tmp_path / "mal_test_label.pickle").write_bytes(pickle.dumps(LABELS.tolist()))
    splits = ips.load(data_dir=tmp_path)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [0, 0, 6]
    assert splits.test.ids.tolist() == ROWS.tolist()


@needs("ips/ips_test.csv")
def test_the_public_rows() -> None:
    test = ips.load(data_dir=DATA).test
    assert (len(test), torch.bincount(test.labels).tolist()) == (206, [51, 66, 89])
