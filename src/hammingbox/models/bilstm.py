"""A bidirectional LSTM for text: both directions read the words and none of the padding."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from hammingbox.models.embedding import CategoryEmbedding
from hammingbox.models.masking import lengths, written
from hammingbox.models.victim import Victim
from hammingbox.types import Embedded, Ids, Logits


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
        self.embedding = CategoryEmbedding(cardinalities, dim, positional=False)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * hidden, classes)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """States of the words, their maximum, classified."""
        packed = pack_padded_sequence(self.dropout(embedded), lengths(ids).cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=ids.shape[1])
        pooled = states.masked_fill(~written(ids)[:, :, None], -torch.inf).amax(1)
        return self.output(self.dropout(pooled))
