"""The example for a user's own texts runs, on its generated reviews and on a file."""

from pathlib import Path
from types import ModuleType

import pytest
import torch

from toys.examples import load_example
from toys.texts import small_reviews


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("own_text")


def test_generated_reviews(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    example.main([])
    torch.set_num_threads(threads)
    first, *changed = capsys.readouterr().out.splitlines()
    assert first.startswith("32 of 32 right")
    assert changed, "some review falls"
    assert all(" -> " in line for line in changed)


def test_own_file(example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reviews.csv"
    lines = [f'"{review.text}",{("bad", "good")[review.label]}' for review in small_reviews(60)]
    path.write_text("\n".join(["text,label", *lines]))
    example.main([str(path)])
    assert " of 15 right" in capsys.readouterr().out
