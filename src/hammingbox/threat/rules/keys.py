"""Finds tuples of ids in a table of tuples, for any number of columns, without a Python loop over points."""

import torch
from jaxtyping import Int64
from torch import Tensor


class TupleIndex:
    """A table of distinct tuples of ids.

    A tuple is looked up column by column: what was found so far and the next id make a number, which is searched among
    the numbers that the table has. With tuples (0, 1), (0, 2), (5, 1) and 3 categories in the second column, the first
    ids 0 and 5 get the codes 0 and 1, and the tuples the numbers 1, 2 and 4. Numbers stay below rows x categories, so
    they never overflow, whatever the product of all cardinalities is.

    Args:
        tuples: (rows, columns) ids; repeats are joined.
        cardinalities: number of categories of each column.
    """

    def __init__(self, tuples: Int64[Tensor, "rows columns"], cardinalities: tuple[int, ...]) -> None:
        self._sizes = cardinalities
        self._known: list[Int64[Tensor, "_"]] = []
        code = torch.zeros(len(tuples), dtype=torch.int64, device="cpu")
        for ids, size in zip(tuples.cpu().unbind(1), cardinalities, strict=True):
            known, code = torch.unique(code * size + ids, return_inverse=True)
            self._known.append(known)
        self.code = code
        """The code of each tuple of the table: the rank of its number, so equal tuples have equal codes."""
        self.rows = len(self._known[-1])
        """How many distinct tuples there are."""

    def distinct(self, tuples: Int64[Tensor, "rows columns"]) -> Int64[Tensor, "distinct columns"]:
        """The distinct tuples of the table in the order of their codes, which is lexicographic."""
        place = torch.empty(self.rows, dtype=torch.int64, device="cpu")
        place[self.code] = torch.arange(len(tuples), device="cpu")
        return tuples[place]

    def find(self, ids: Int64[Tensor, "*points columns"]) -> Int64[Tensor, "*points"]:
        """The code of each tuple; -1 where the table does not have it."""
        code = torch.zeros(ids.shape[:-1], dtype=torch.int64, device=ids.device)
        for column, (size, known) in enumerate(zip(self._sizes, self._known, strict=True)):
            if not len(known):
                return torch.full_like(code, -1)
            here, own = known.to(ids.device), ids[..., column]
            wanted = code * size + own
            place = torch.searchsorted(here, wanted.contiguous()).clamp(max=len(here) - 1)
            is_known = (here[place] == wanted) & (code >= 0) & (own >= 0) & (own < size)
            code = torch.where(is_known, place, -1)
        return code
