"""Victims are borrowed: their weights, mode and gradient flags are what they were, or it is said."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from hammingbox import AttackError
from hammingbox.victims.frozen import frozen_eval, unchanged


class Borrowed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 3)
        self.register_buffer("count", torch.zeros(4), persistent=False)
        self.dropout = nn.Dropout()


def set_data(name: str, change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Borrowed], None]:
    def edit(module: Borrowed) -> None:
        tensor = module.get_parameter(name) if name != "count" else module.get_buffer(name)
        tensor.data = change(tensor.data)

    return edit


EDITS: dict[str, Callable[[Borrowed], object]] = {
    "a weight": set_data("linear.weight", lambda old: old + 1e-7),
    "a buffer that no checkpoint holds": set_data("count", lambda old: old + 1),
    "the same numbers in another shape": set_data("linear.weight", lambda old: torch.zeros_like(old).reshape(3, 2).T),
    "the same bytes of another type": set_data("count", lambda old: old.view(torch.int32)),
    "a new buffer": lambda module: module.register_buffer("more", torch.zeros(1)),
    "a buffer less": lambda module: delattr(module, "count"),
    "not a number": set_data("linear.bias", lambda old: old * torch.nan),
    "the sign of a zero": set_data("count", lambda old: -old),
}


@pytest.mark.parametrize("name", [name for name in EDITS if name != "the sign of a zero"])
def test_whatever_changed_is_said(name: str) -> None:
    module = Borrowed()
    with torch.no_grad():
        module.linear.weight.zero_()
    with pytest.raises(AttackError, match="same before and after"), unchanged(module), torch.no_grad():
        EDITS[name](module)


def test_equal_numbers_are_no_change() -> None:
    module = Borrowed()
    with unchanged(module):
        EDITS["the sign of a zero"](module)
    module.linear.bias.data.fill_(torch.nan)
    with unchanged(module):
        module.linear.bias.data = module.linear.bias.data.clone()


def _fail_after(deed: Callable[[], object]) -> None:
    deed()
    raise ValueError("of the block")


def test_weights_are_given_back_even_after_an_error() -> None:
    module = Borrowed()
    before = module.linear.weight.detach().clone()
    with pytest.raises(AttackError, match="same before and after"), unchanged(module):
        _fail_after(lambda: module.linear.weight.data.add_(1))
    assert torch.equal(module.linear.weight, before)


def test_mode_and_flags_are_given_back() -> None:
    module = Borrowed().train()
    module.dropout.eval()
    module.linear.bias.requires_grad_(False)
    seen: list[bool] = []

    def look() -> None:
        seen.extend(part.training for part in module.modules())
        seen.extend(parameter.requires_grad for parameter in module.parameters())

    with pytest.raises(ValueError, match="of the block"), frozen_eval(module):
        _fail_after(look)
    assert not any(seen)
    assert module.training
    assert not module.dropout.training
    assert module.linear.weight.requires_grad
    assert not module.linear.bias.requires_grad
