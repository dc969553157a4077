"""Logistic regression on one-hot rows: the model whose worst case has a closed form."""

from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding
from hammingbox.victims.zoo.total import Total


class Linear(Victim):
    """Every category of every feature has a score for each class; a row's logits are the sums of its scores.

    Args:
        cardinalities: categories of each feature.
        classes: number of classes.
    """

    def __init__(self, cardinalities: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, classes, positions="own")
        nn.init.zeros_(self.embedding.table.weight)
        self.output = nn.Sequential(Total(classes))

    def embed(self, ids: Ids) -> Embedded:
        """The scores of each feature's category."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Sums of scores."""
        return self.output(embedded)

    def layers(self) -> nn.Sequential:
        """The head, as modules in order."""
        return self.output
