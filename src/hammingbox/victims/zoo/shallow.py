"""One hidden layer on one-hot rows: small enough for linear bounds that are nearly tight."""

from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding
from hammingbox.victims.zoo.total import Total


class Shallow(Victim):
    """A hidden layer that is linear in the one-hot row, a ReLU, and a linear output.

    Args:
        cardinalities: categories of each feature.
        classes: number of classes.
        hidden: size of the hidden layer.
    """

    def __init__(self, cardinalities: tuple[int, ...], classes: int, *, hidden: int = 32) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, hidden, positions="own")
        nn.init.normal_(self.embedding.table.weight, std=len(cardinalities) ** -0.5)
        self.output = nn.Sequential(Total(hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def embed(self, ids: Ids) -> Embedded:
        """What each feature's category adds to the hidden layer."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """The hidden layer and the output."""
        return self.output(embedded)

    def layers(self) -> nn.Sequential:
        """The head, as modules in order."""
        return self.output
