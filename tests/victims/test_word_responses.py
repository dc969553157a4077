"""The word CNN without gradients: responses to distinct words give the answers of the convolution."""

import pytest
import torch

from hammingbox.text.vocabulary import PAD
from hammingbox.types import Ids
from hammingbox.victims.ask_alike import ask_alike
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.word_cnn import WordCNN
from hammingbox.victims.zoo.word_responses import distinct_words

_WORDS, _LENGTH = 300, 24


@pytest.fixture
def victim() -> WordCNN:
    torch.manual_seed(0)
    return WordCNN((_WORDS,) * _LENGTH, 3, dim=12, channels=8).eval()


@pytest.fixture
def ids() -> Ids:
    """Texts of every length: full rows, short ones, one of a single word, and an empty one."""
    rows = torch.randint(1, _WORDS, (150, _LENGTH), generator=torch.Generator().manual_seed(1))
    for row, length in enumerate((0, 1, 2, 3, 4, 5, 11, _LENGTH - 1)):
        rows[row, length:] = PAD
    rows[8, 3] = PAD  # not the end of the text: a word like any other
    return rows


def test_answers_are_those_of_the_convolution(victim: WordCNN, ids: Ids) -> None:
    with torch.no_grad():
        torch.testing.assert_close(victim(ids), Victim.forward(victim, ids), rtol=1e-5, atol=1e-6)


def test_gradients_and_training_take_the_convolution(
    victim: WordCNN, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    head = WordCNN.head
    monkeypatch.setattr(WordCNN, "head", lambda self, *rows: asked.append(len(rows[0])) or head(self, *rows))
    with torch.no_grad():
        victim(ids)
    assert not asked
    victim(ids).sum().backward()
    assert victim.embedding.table.weight.grad is not None
    with torch.no_grad():
        victim.train()(ids)
        victim.eval()(ids[:0])
    assert asked == [len(ids), len(ids), 0]


def test_a_change_of_the_weights_is_seen_at_once(victim: WordCNN, ids: Ids) -> None:
    with torch.no_grad():
        before = victim(ids)
        victim.embedding.table.weight.data.mul_(2.0)
        victim.convolutions[1].weight.data.neg_()
        assert not torch.allclose(victim(ids), before)
        torch.testing.assert_close(victim(ids), Victim.forward(victim, ids), rtol=1e-5, atol=1e-6)


def test_the_size_of_a_batch_does_not_change_a_bit(victim: WordCNN, ids: Ids) -> None:
    whole = ask_alike(victim, ids)
    for size in (1, 7, 64):
        assert torch.equal(torch.cat([ask_alike(victim, part) for part in ids.split(size)]), whole)


def test_every_token_has_the_number_of_its_word(ids: Ids) -> None:
    words, slots = distinct_words(ids, _WORDS)
    assert torch.equal(words[slots], ids)
    assert torch.equal(words, ids.unique())
