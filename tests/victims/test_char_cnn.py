"""The character CNN over AG's News: shapes, blanks and sizes."""

import pytest
import torch

from hammingbox.data import ag_news
from hammingbox.errors import InputError
from hammingbox.victims.zoo.registry import build


@pytest.mark.parametrize(
    ("model", "length", "parameters"), [("char_cnn", 256, None), ("char_cnn_paper", 1014, 11_339_780)]
)
def test_the_character_cnn(model: str, length: int, parameters: int | None) -> None:
    victim = build(model, ag_news.schema(length)).eval()
    x = torch.randint(70, (2, length), generator=torch.Generator().manual_seed(0))
    x[:, -1] = 0
    assert victim(x).shape == (2, 4)
    assert bool((victim.embed(x)[:, -1] == 0).all()), "a blank is a vector of zeros"
    trained = sum(p.numel() for p in victim.parameters() if p.requires_grad)
    assert parameters is None or trained == parameters


def test_short_rows_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected longer rows .* got 100 features of 1 alphabets"):
        build("char_cnn_paper", ag_news.schema(100))
