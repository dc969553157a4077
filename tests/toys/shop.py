"""A small table with a column of every kind."""

import torch
from torch import Tensor

from hammingbox.data.schema import Feature, Schema


def shop() -> Schema:
    """Orders of a shop: a city in a country, amounts that add up, dates in order, and flags."""
    numbers = tuple(str(n) for n in range(8))
    return Schema(
        (
            Feature("city", ("Paris", "Lyon", "Rome", "Milan")),
            Feature("country", ("France", "Italy")),
            Feature("net", (*numbers, "<missing>"), "number"),
            Feature("tax", ("0", "1", "2", "3")),  # few numbers are categories
            Feature("total", (*(str(n) for n in range(11)), "<missing>"), "number"),
            Feature("ordered", ("2020-02-28", "2020-02-29", "2020-03-01", "2020-03-08"), "date"),
            Feature("shipped", ("2020-02-28", "2020-03-01", "2020-03-05", "2020-03-08"), "date"),
            Feature("card", ("false", "true"), "boolean"),
            Feature("size", ("small", "medium", "large", "<missing>")),
        ),
        ("ok", "fraud"),
    )


def rows(*wanted: dict[str, str]) -> Tensor:
    """Rows of the shop; a column that is not named has its first value that keeps all rules."""
    schema = shop()
    usual = {"city": "Paris", "country": "France", "net": "2", "tax": "1", "total": "3", "ordered": "2020-02-29",
             "shipped": "2020-03-01", "card": "true", "size": "medium"}  # fmt: skip
    return torch.tensor(
        [[schema.category_id(i, (usual | row)[f.name]) for i, f in enumerate(schema.features)] for row in wanted]
    )


def every_pair(size: int) -> tuple[Tensor, Tensor]:
    """All (from, to) of a column."""
    return torch.arange(size)[:, None].expand(size, size), torch.arange(size).expand(size, size)
