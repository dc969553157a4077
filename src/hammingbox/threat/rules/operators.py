"""What formulas compute with: operators and functions, on tensors of numbers."""

import ast
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hammingbox.threat.rules.readings import same

ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: torch.floor(a / b),
    ast.Mod: lambda a, b: a - b * torch.floor(a / b),
}
COMPARISONS: dict[type, Callable[[Tensor, Tensor], Tensor]] = {
    ast.Eq: same,
    ast.NotEq: lambda a, b: ~same(a, b),
    ast.LtE: lambda a, b: (a <= b) | same(a, b),
    ast.GtE: lambda a, b: (a >= b) | same(a, b),
    ast.Lt: lambda a, b: (a < b) & ~same(a, b),
    ast.Gt: lambda a, b: (a > b) & ~same(a, b),
}
MIRRORED: dict[type, type] = {
    ast.Eq: ast.Eq, ast.NotEq: ast.NotEq, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.Gt: ast.Lt,
}  # fmt: skip
OF_ONE: dict[str, Callable[[Tensor], Tensor]] = {"abs": torch.abs, "round": torch.round, "floor": torch.floor}
OF_MANY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"min": torch.minimum, "max": torch.maximum}
