"""The fused maximum of a convolution equals the two steps it replaces, in value and in every gradient."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from hammingbox.victims.zoo import max_convolution as module
from hammingbox.victims.zoo.max_convolution import max_convolution

CPU = torch.device("cpu")


def two_steps(signal: Tensor, weight: Tensor, bias: Tensor, allowed: Tensor | None) -> Tensor:
    output = functional.conv1d(signal.transpose(1, 2), weight, bias)
    if allowed is not None:
        output = output.masked_fill(~allowed[:, None], -torch.inf)
    return output.amax(2)


def problem(batch: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    random = torch.Generator(CPU).manual_seed(seed)
    signal, weight, bias, upstream = (
        torch.randn(*shape, generator=random, device=CPU, dtype=torch.float64)
        for shape in ((batch, 11, 3), (5, 3, 4), (5,), (batch, 5))
    )
    return signal.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), upstream


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("block", [1, 2**20], ids=["a block per row", "one block"])
def test_values_and_gradients_are_those_of_the_two_steps(
    block: int, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    signal, weight, bias, upstream = problem(7)
    allowed = torch.arange(8, device=CPU)[None] <= torch.arange(7, device=CPU)[:, None] if masked else None
    ours, expected = max_convolution(signal, weight, bias, allowed), two_steps(signal, weight, bias, allowed)
    torch.testing.assert_close(ours, expected)
    for got, wanted in zip(
        torch.autograd.grad(ours, (signal, weight, bias), upstream),
        torch.autograd.grad(expected, (signal, weight, bias), upstream),
        strict=True,
    ):
        torch.testing.assert_close(got, wanted)


def test_without_gradients_the_values_are_the_same_to_the_last_bit() -> None:
    signal, weight, bias, _ = problem(7)
    with torch.no_grad():
        quiet = max_convolution(signal, weight, bias)
    assert torch.equal(quiet, max_convolution(signal, weight, bias))


def test_frozen_filters_get_no_gradient() -> None:
    signal, weight, bias, upstream = problem(4)
    max_convolution(signal, weight.detach(), bias.detach()).backward(upstream)
    assert signal.grad is not None
    assert weight.grad is None


def test_rows_without_an_allowed_window_are_minus_infinity_and_give_no_gradient_after_a_rectifier() -> None:
    signal, weight, bias, _ = problem(3)
    nothing = torch.zeros(3, 8, dtype=torch.bool, device=CPU)
    maxima = max_convolution(signal, weight, bias, nothing)
    assert torch.all(maxima == -torch.inf)
    maxima.relu().sum().backward()
    assert signal.grad is not None
    assert torch.equal(signal.grad, torch.zeros_like(signal))


def test_a_shared_maximum_gives_its_gradient_once() -> None:
    _, weight, bias, _ = problem(1)
    equal = torch.ones(1, 11, 3, dtype=torch.float64, device=CPU, requires_grad=True)
    max_convolution(equal, weight, bias).sum().backward()
    assert equal.grad is not None
    torch.testing.assert_close(equal.grad.sum(), weight.sum())


def test_no_rows_have_no_maxima() -> None:
    signal, weight, bias, _ = problem(0)
    assert max_convolution(signal, weight, bias).shape == (0, 5)
    assert max_convolution(signal.detach(), weight.detach(), bias.detach()).shape == (0, 5)


def test_a_value_that_is_not_a_number_is_not_hidden() -> None:
    signal, weight, bias, _ = problem(2)
    with torch.no_grad():
        signal[1, 5, 0] = torch.nan
        maxima = max_convolution(signal, weight, bias)
    assert maxima[0].isfinite().all()
    assert maxima[1].isnan().all()
