"""An LSTM with self-attention over its steps: the paper's victim for Splice and IPS (Bao et al. 2022)."""

import torch
from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding, ColumnNumbers, Positions


class AttentionLSTM(Victim):
    """Embedding, LSTM, attention pooling, linear classifier.

    Args:
        cardinalities: categories of each feature.
        classes: number of classes.
        positions: how positions are encoded, see CategoryEmbedding.
        dim: size of an embedding.
        hidden: size of the LSTM's state.
        layers: LSTMs on top of each other.
        bidirectional: read the row from both ends.
        dropout: on the embedding and on the pooled state, in training.
        values: of features that are numbers, see CategoryEmbedding.
    """

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        classes: int,
        *,
        positions: Positions | None = None,
        dim: int = 16,
        hidden: int = 48,
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.4,
        values: ColumnNumbers = (),
    ) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, dim, positions=positions, values=values)
        self.lstm = nn.LSTM(dim, hidden, num_layers=layers, batch_first=True, bidirectional=bidirectional)
        width = hidden * (2 if bidirectional else 1)
        self.attention = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 1))
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, classes)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Classifies the LSTM's states, averaged with attention weights."""
        states, _ = self.lstm(self.dropout(embedded))
        weights = torch.softmax(self.attention(states), dim=1)  # (batch, features, 1)
        return self.output(self.dropout((weights * states).sum(1)))
