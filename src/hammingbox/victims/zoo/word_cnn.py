"""The word CNN of Kim (2014): filters over windows of words, max pooling, a linear classifier."""

import torch
from torch import nn

from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.category_embedding import CategoryEmbedding
from hammingbox.victims.zoo.filter_responses import distinct_tokens, max_responses
from hammingbox.victims.zoo.max_convolution import max_convolution, weights_of
from hammingbox.victims.zoo.padding import is_text


class WordCNN(Victim):
    """Embedding, convolutions of several widths, maximum over the text, dropout, linear classifier.

    Args:
        cardinalities: categories of each position; all positions share one vocabulary.
        classes: number of classes.
        dim: size of a word vector.
        channels: filters of each width.
        widths: how many words a filter reads.
        dropout: on the word vectors and on the pooled filter outputs, in training.
    """

    def __init__(
        self,
        cardinalities: tuple[int, ...],
        classes: int,
        *,
        dim: int = 64,
        channels: int = 64,
        widths: tuple[int, ...] | list[int] = (3, 4, 5),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.embedding = CategoryEmbedding(cardinalities, dim, positions="none")
        # Kim's range. From the usual normal initialisation, rare words would hardly be learned.
        nn.init.uniform_(self.embedding.table.weight, -0.25, 0.25)
        self.widths = tuple(widths)
        self.convolutions = nn.ModuleList(nn.Conv1d(dim, channels, width) for width in widths)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(channels * len(widths), classes)

    def embed(self, ids: Ids) -> Embedded:
        """Rows of the embedding table."""
        return self.embedding(ids)

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        """Filters over the text; windows that begin in the padding are masked."""
        mask = is_text(ids)
        text = self.dropout(embedded) * mask[:, :, None]
        pooled = []
        for width, convolution in zip(self.widths, self.convolutions, strict=True):
            padded = nn.functional.pad(text, (0, 0, 0, width - 1))
            pooled.append(max_convolution(padded, *weights_of(convolution), mask).relu())
        return self.output(self.dropout(torch.cat(pooled, 1)))

    def forward(self, ids: Ids) -> Logits:
        """Logits of rows; on a CPU several times faster where neither dropout nor gradients are needed."""
        if self.training or torch.is_grad_enabled() or ids.device.type != "cpu" or not len(ids):
            return super().forward(ids)
        words, slots = distinct_tokens(ids, self.embedding.table.num_embeddings)
        vectors, mask = self.embedding.table(words), is_text(ids)
        pooled = [max_responses(vectors, slots, *weights_of(part), mask).relu() for part in self.convolutions]
        return self.output(torch.cat(pooled, 1))
