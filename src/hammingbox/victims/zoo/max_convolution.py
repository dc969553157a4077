"""The maximum of a convolution over all positions, as text CNNs take it: on a CPU much faster than in two steps.

Two things cost time in `conv1d(...).amax(2)`. Its output, a number per position and channel, is written to memory and
read again: here blocks of rows stay in the cache. And the backward pass multiplies the gradients of all positions,
although all but one per channel are zero: here only the windows that hold a maximum are looked at.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

Signal = Float[Tensor, "batch steps size"]
Filters = Float[Tensor, "channels size width"]
Maxima = Float[Tensor, "batch channels"]
Places = Int64[Tensor, "batch channels"]
Allowed = Bool[Tensor, "batch positions"]

_BLOCK = 2**20
"""Numbers of a block of the convolution's output: 4 MiB, which a core keeps near."""


def weights_of(convolution: nn.Module) -> tuple[Float[Tensor, "channels dim width"], Float[Tensor, "channels"]]:
    """Weight and bias of a convolution of a list, whose members have no type of their own."""
    if not isinstance(convolution, nn.Conv1d) or convolution.bias is None:
        raise TypeError(f"expected a convolution with a bias, got {type(convolution).__name__}.")
    return convolution.weight, convolution.bias


def max_convolution(
    signal: Signal, weight: Filters, bias: Float[Tensor, "channels"], allowed: Allowed | None = None
) -> Maxima:
    """The largest output of each filter over the windows of a row.

    Where several windows share the maximum, all of its gradient goes to one of them.

    Args:
        signal: a vector for each step.
        weight: filters, as of `nn.Conv1d`.
        bias: of the filters.
        allowed: windows, by their first step, that may hold the maximum; all by default. Without any the result is
            minus infinity.
    """
    if signal.device.type != "cpu":
        output = functional.conv1d(signal.transpose(1, 2), weight, bias)
        return (output if allowed is None else output.masked_fill(~allowed[:, None], -torch.inf)).amax(2)
    if torch.is_grad_enabled() and any(part.requires_grad for part in (signal, weight, bias)):
        found: Maxima = _MaxConvolution.apply(signal, weight, bias, allowed)  # type: ignore[no-untyped-call]
        return found
    return torch.cat([output.amax(2) for output in _blocks(signal, weight, bias, allowed)])


def _blocks(
    signal: Signal, weight: Filters, bias: Float[Tensor, "channels"], allowed: Allowed | None
) -> Iterator[Float[Tensor, "block channels positions"]]:
    """The convolution's output, one block of rows after the other. Channels are innermost in memory, the fast order."""
    filters = weight[:, :, None].contiguous(memory_format=torch.channels_last)
    rows = max(1, _BLOCK // (signal.shape[1] * len(weight)))
    for begin in range(0, max(len(signal), 1), rows):
        here = slice(begin, begin + rows)
        output = functional.conv2d(signal[here].transpose(1, 2)[:, :, None], filters, bias)[:, :, 0]
        if allowed is not None:
            output.masked_fill_(~allowed[here, None], -torch.inf)  # a copy costs more than the maximum
        yield output


class _MaxConvolution(torch.autograd.Function):
    """Remembers where the maxima are; its backward pass reads those windows only."""

    @staticmethod
    def forward(
        ctx: Any, signal: Signal, weight: Filters, bias: Float[Tensor, "channels"], allowed: Allowed | None
    ) -> Maxima:
        found = [output.max(2) for output in _blocks(signal, weight, bias, allowed)]
        ctx.save_for_backward(signal, weight, torch.cat([block.indices for block in found]))
        return torch.cat([block.values for block in found])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Maxima) -> tuple[Signal | None, Filters | None, Tensor | None, None]:
        signal, weight, places = ctx.saved_tensors
        of_signal, of_weight, of_bias, _ = ctx.needs_input_grad
        return (
            _gradient_of_signal(signal, weight, places, gradient) if of_signal else None,
            _gradient_of_weight(signal, weight, places, gradient) if of_weight else None,
            gradient.sum(0) if of_bias else None,
            None,
        )


def _gradient_of_weight(signal: Signal, weight: Filters, places: Places, gradient: Maxima) -> Filters:
    """Each filter's gradients times the windows that hold its maxima."""
    (batch, steps, size), (channels, _, width) = signal.shape, weight.shape
    offsets = torch.arange(width, device=signal.device)
    rows = torch.arange(0, batch * steps, steps, device=signal.device)
    chosen = (rows[:, None, None] + places[:, :, None] + offsets).flatten()
    windows = signal.reshape(batch * steps, size).index_select(0, chosen).view(batch, channels, width, size)
    return torch.einsum("bc,bcws->csw", gradient, windows)


def _gradient_of_signal(signal: Signal, weight: Filters, places: Places, gradient: Maxima) -> Signal:
    """Adds each filter, times its gradient, to the window that holds its maximum.

    Step by step of the window, so that each addition is of one vector per row and filter: six to eleven times faster
    than a product with a sparse matrix, whose result has all windows.
    """
    (batch, steps, size), channels = signal.shape, len(weight)
    rows = torch.arange(0, batch * steps, steps, device=signal.device)
    first = (rows[:, None] + places).flatten()
    result = torch.zeros(batch * steps, size, dtype=signal.dtype, device=signal.device)
    for offset, filters in enumerate(weight.permute(2, 0, 1).contiguous()):
        vectors = gradient[:, :, None] * filters
        result.index_add_(0, first + offset, vectors.view(batch * channels, size))
    return result.view_as(signal)
