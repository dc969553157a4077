"""Settings of a training that make no sense are refused."""

from typing import Any

import pytest

from hammingbox.errors import InputError
from hammingbox.training.config import TrainConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "robust"}, "robust_rows above 0"),
        ({"learning_rate": 0.0}, "expected learning_rate above 0"),
        ({"seed": 2**64}, r"expected seed of at most 9,223,372,036,854,775,807"),
        ({"learning_rate": float("inf")}, "expected learning_rate as a finite number, got inf"),
        ({"epochs": 3, "ramp": 4}, r"expected a ramp of at most the 3 epochs, got 4: .* Shorten the ramp"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TrainConfig(**settings)
