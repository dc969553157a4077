"""A summary, compared with what its rows add up to."""

from collections.abc import Mapping
from typing import Any


def disagreements(said: Mapping[str, Any], true: Mapping[str, Any]) -> list[str]:
    """One sentence for every figure of a summary that is not the true one. What it does not say is not compared."""
    return [
        f"expected {name} {_shown(said[name])} as in the summary, got {_shown(value)} from the rows"
        for name, value in true.items()
        if name in said and not _agree(said[name], value)
    ]


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _agree(said: Any, true: Any) -> bool:
    if true is None:  # of no rows; earlier versions wrote 0, and [0, 1] for an interval
        return said is None or said in (0.0, [0.0, 1.0])
    if isinstance(true, list):
        return isinstance(said, list) and len(said) == len(true) and all(map(_agree, said, true))
    if isinstance(said, bool) or not isinstance(said, int | float):
        return False
    return said == true if isinstance(true, int) else abs(said - true) <= 1e-9
