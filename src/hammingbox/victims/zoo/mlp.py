"""A multilayer perceptron over embedded columns, for tables."""

from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding


class TableMLP(Victim):
    """Each column has its own embedding; the concatenated vectors pass through two hidden layers.

    Args:
        cardinalities: categories of each feature.
        classes: number of classes.
        dim: size of an embedding.
        hidden: size of the hidden layers.
        dropout: after each hidden layer, in training.
    """

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        classes: int,
        *,
        dim: int = 16,
        hidden: int = 128,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, dim, positions="own")
        self.output = nn.Sequential(
            nn.Flatten(),
            nn.Linear(dim * len(cardinalities), hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Classifies the concatenated columns."""
        return self.output(embedded)

    def layers(self) -> nn.Sequential:
        """The head, as modules in order."""
        return self.output
