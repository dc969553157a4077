"""Windows that share scores along a sequence: a table like any other, made of fewer free parts."""

import pytest
import torch

from hammingbox import InputError, build
from hammingbox.victims.zoo.smooth_windows import SmoothWindows
from toys import toy_schema

SCHEMA = toy_schema((3,) * 7)


def _random(width: int, spread: float = 1.5) -> SmoothWindows:
    victim = build("smooth_windows", SCHEMA, width=width, spread=spread)
    assert isinstance(victim, SmoothWindows)
    generator = torch.Generator().manual_seed(width)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return victim.eval()


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_row_has_the_scores_of_its_features_and_of_its_windows(width: int) -> None:
    victim = _random(width)
    x = torch.randint(3, (5, 7), generator=torch.Generator().manual_seed(0))
    windows = 7 - width + 1

    def bell(positions: int, own: int) -> torch.Tensor:
        weight = torch.tensor([2.718281828 ** (-((other - own) ** 2) / 4.5) for other in range(positions)])
        weight = weight / weight.sum()
        weight[own] += 1
        return weight

    for row, found in zip(x.tolist(), victim(x), strict=True):
        wanted = victim.bias.clone()
        for place, category in enumerate(row):
            wanted += bell(7, place) @ victim.singles[:, category]
        table = victim.scores.weight.view(windows, *(3,) * width, -1)
        for window in range(windows):
            wanted += 0.3 * bell(windows, window) @ table[(slice(None), *row[window : window + width])]
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(victim.head(victim.embed(x), x), victim(x), atol=1e-4, rtol=1e-4)


def test_what_is_learned_at_one_position_is_known_at_the_next() -> None:
    victim = _random(2, spread=2.0)
    with torch.no_grad():
        for parameter in victim.parameters():
            parameter.zero_()
        victim.singles[3, 1, 0] = 1.0
    x = torch.zeros(7, 7, dtype=torch.int64)
    x.fill_diagonal_(1)
    scores = victim(x)[:, 0].detach()
    assert scores.argmax() == 3
    assert 0 < float(scores[2]) < 0.3
    assert float(scores[6]) < float(scores[5]) < float(scores[4])


def test_features_that_are_no_sequence_and_impossible_spreads_are_refused() -> None:
    with pytest.raises(InputError, match=r"same number of categories .* got features of 2 to 7. Use windows"):
        build("smooth_windows", toy_schema((4, 2, 7)))
    with pytest.raises(InputError, match="a spread above 0"):
        build("smooth_windows", SCHEMA, spread=0.0)
