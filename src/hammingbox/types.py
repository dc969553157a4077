"""Shape aliases: every public tensor of the package has one of these types.

The axes always come in this order:

- ``batch``     rows that are processed together
- ``samples``   several points per row (Gumbel samples, candidates, members of a population)
- ``features``  columns, positions or tokens of a row
- ``options``   all (feature, slot) pairs of a row on one flat axis, see `Layout`
- ``points``    rows of a ragged list; each point carries the number of its batch row
"""

from jaxtyping import Bool, Float, Int64
from torch import Tensor

Ids = Int64[Tensor, "batch features"]
"""Category ids of rows."""
Labels = Int64[Tensor, "batch"]
Slots = Int64[Tensor, "batch features"]
"""One slot per feature; slot 0 is the clean category, so L0 = (slots != 0).sum()."""
ManySlots = Int64[Tensor, "batch samples features"]
OptionIds = Int64[Tensor, "batch options"]
OptionMask = Bool[Tensor, "batch options"]
OptionFloat = Float[Tensor, "batch options"]
Weights = Float[Tensor, "batch samples options"]
"""Soft rows: non-negative weights that sum to one over the slots of each feature."""
Embedded = Float[Tensor, "batch features dim"]
Logits = Float[Tensor, "batch classes"]
RowFloat = Float[Tensor, "batch"]
RowInt = Int64[Tensor, "batch"]
RowMask = Bool[Tensor, "batch"]
SampleFloat = Float[Tensor, "batch samples"]
PointRows = Int64[Tensor, "points"]
PointSlots = Int64[Tensor, "points features"]
PointFloat = Float[Tensor, "points"]
