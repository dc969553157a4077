"""A bidirectional LSTM for text. Both directions read the words and skip the padding."""

import torch
from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding
from hammingbox.victims.zoo.padding import is_text, lengths


class BiLSTM(Victim):
    """Embedding, bidirectional LSTM, maximum over the states, dropout, linear classifier.

    It pools with the maximum over all states in place of the last state: over 256 words it learns in a few epochs.

    Args:
        cardinalities: categories of each position; all positions share one vocabulary.
        classes: number of classes.
        dim: size of a word vector.
        hidden: size of the state of each direction.
        dropout: on the word vectors and on the pooled state, in training.
    """

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        classes: int,
        *,
        dim: int = 64,
        hidden: int = 64,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, dim, positions="none")
        # Kim's range. From the usual normal initialisation, rare words would hardly be learned.
        nn.init.uniform_(self.embedding.table.weight, -0.25, 0.25)
        # Two LSTMs on padded rows instead of one on packed sequences, which take 15 times as long on a CPU.
        # `onward` is the forward LSTM and `homeward` the backward LSTM: both names are keys of stored checkpoints.
        self.onward = nn.LSTM(dim, hidden, batch_first=True)
        self.homeward = nn.LSTM(dim, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * hidden, classes)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """Classifies the maximum over the states of the words."""
        text = self.dropout(embedded)
        # The words of each row are reversed; padding stays at the end, so that no state of a word depends on it.
        positions = torch.arange(ids.shape[1], device=ids.device)
        from_the_end = (lengths(ids)[:, None] - 1 - positions).clamp_min(0)
        reversed_text = text.gather(1, from_the_end[:, :, None].expand_as(text))
        padding = ~is_text(ids)[:, :, None]
        states = (self.onward(text)[0], self.homeward(reversed_text)[0])
        pooled = torch.cat([state.masked_fill(padding, -torch.inf).amax(1) for state in states], 1)
        return self.output(self.dropout(pooled))
