"""A bidirectional LSTM for text: both directions read the words and none of the padding."""

import torch
from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding
from hammingbox.victims.zoo.padding import lengths, written


class BiLSTM(Victim):
    """Embedding, bidirectional LSTM, maximum over the states, dropout, linear classifier.

    The maximum over all states stands in for the last state: over 256 words it learns in a few epochs.

    Args:
        cardinalities: categories of each position, the same vocabulary at all.
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
        # Kim's range: from the usual normal start, words that occur a few times would never find their place.
        nn.init.uniform_(self.embedding.table.weight, -0.25, 0.25)
        # Two LSTMs on whole rectangles: on a CPU, packed sequences take 15 times as long.
        self.onward = nn.LSTM(dim, hidden, batch_first=True)
        self.homeward = nn.LSTM(dim, hidden, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * hidden, classes)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """States of the words, their maximum, classified."""
        text = self.dropout(embedded)
        # The words of each row in reverse, padding still at the end, where no state of a word depends on it.
        places = torch.arange(ids.shape[1], device=ids.device)
        turned = (lengths(ids)[:, None] - 1 - places).clamp_min(0)
        reverse = text.gather(1, turned[:, :, None].expand_as(text))
        padding = ~written(ids)[:, :, None]
        states = (self.onward(text)[0], self.homeward(reverse)[0])
        pooled = torch.cat([state.masked_fill(padding, -torch.inf).amax(1) for state in states], 1)
        return self.output(self.dropout(pooled))
