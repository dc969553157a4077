"""A small one-dimensional CNN for sequences of categories."""

from jaxtyping import Float
from torch import Tensor, nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding, Positions


class ConvNet(Victim):
    """Embedding, two convolutions, dense layers that see every position.

    Args:
        cardinalities: categories of each feature.
        classes: number of classes.
        positions: how positions are encoded, see CategoryEmbedding.
        dim: size of an embedding.
        channels: channels of the convolutions.
        kernel: width of the convolutions, odd.
        dropout: before the dense layer, in training.
    """

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        classes: int,
        *,
        positions: Positions | None = None,
        dim: int = 16,
        channels: int = 32,
        kernel: int = 7,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, dim, positions=positions)
        self.convolutions = nn.Sequential(
            nn.Conv1d(dim, channels, kernel, padding=kernel // 2),
            nn.ReLU(),
            nn.Conv1d(channels, channels, kernel, padding=kernel // 2),
            nn.ReLU(),
        )
        self.output = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(channels * len(cardinalities), 64),
            nn.ReLU(),
            nn.Linear(64, classes),
        )

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Convolutions over positions, then a classifier."""
        return self.output(self.convolutions(embedded.transpose(1, 2)))

    # For the certificate `exact`: changes that are far apart add up before the dense ReLU.

    @property
    def reach(self) -> int:
        """How many positions to either side one change can affect in the convolutions' output."""
        return sum((layer.kernel_size[0] - 1) // 2 for layer in self.convolutions if isinstance(layer, nn.Conv1d))

    def dense_input(self, ids: Ids) -> Float[Tensor, "batch hidden"]:
        """The first dense layer before its ReLU: linear in the convolutions' output."""
        return self.output[:3](self.convolutions(self.embed(ids).transpose(1, 2)))

    def dense_output(self, hidden: Float[Tensor, "points hidden"]) -> Logits:
        """Logits of what `dense_input` gave."""
        return self.output[3:](hidden)
