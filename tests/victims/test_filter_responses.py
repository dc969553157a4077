"""Text CNNs without gradients: responses to distinct tokens give the answers of the convolution."""

import pytest
import torch

from hammingbox.text.vocabulary import PAD
from hammingbox.types import Ids
from hammingbox.victims.ask_alike import ask_alike
from hammingbox.victims.victim import Victim
from hammingbox.victims.zoo.char_cnn import CharCNN
from hammingbox.victims.zoo.filter_responses import distinct_tokens
from hammingbox.victims.zoo.word_cnn import WordCNN

_TOKENS, _LENGTH = 300, 24


@pytest.fixture(params=["words", "characters"])
def victim(request: pytest.FixtureRequest) -> Victim:
    torch.manual_seed(0)
    if request.param == "words":
        return WordCNN((_TOKENS,) * _LENGTH, 3, dim=12, channels=8).eval()
    return CharCNN((_TOKENS,) * _LENGTH, 3, dim=5, channels=8, hidden=7).eval()


@pytest.fixture
def ids() -> Ids:
    """Texts of every length: full rows, short ones, one of a single token, and an empty one."""
    rows = torch.randint(1, _TOKENS, (150, _LENGTH), generator=torch.Generator().manual_seed(1))
    for row, length in enumerate((0, 1, 2, 3, 4, 5, 11, _LENGTH - 1)):
        rows[row, length:] = PAD
    rows[8, 3] = PAD  # not the end of the text: a token like any other
    return rows


def by_convolution(victim: Victim, ids: Ids) -> torch.Tensor:
    return victim.head(victim.embed(ids), ids)


def test_answers_are_those_of_the_convolution(victim: Victim, ids: Ids) -> None:
    with torch.no_grad():
        torch.testing.assert_close(victim(ids), by_convolution(victim, ids), rtol=1e-5, atol=1e-5)


def test_gradients_and_training_take_the_convolution(victim: Victim, ids: Ids, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    head = type(victim).head
    monkeypatch.setattr(type(victim), "head", lambda self, *rows: asked.append(len(rows[0])) or head(self, *rows))
    with torch.no_grad():
        victim(ids)
    assert not asked
    victim(ids).sum().backward()
    assert all(part.grad is not None for part in victim.parameters())
    with torch.no_grad():
        victim.train()(ids)
    assert asked == [len(ids), len(ids)]


def test_no_rows_have_no_answers(victim: Victim, ids: Ids) -> None:
    with torch.no_grad():
        assert victim(ids[:0]).shape == (0, 3)


def test_a_change_of_the_weights_is_seen_at_once(victim: Victim, ids: Ids) -> None:
    with torch.no_grad():
        before = victim(ids)
        for part in victim.parameters():
            part.data.mul_(1.5)
        assert not torch.allclose(victim(ids), before)
        torch.testing.assert_close(victim(ids), by_convolution(victim, ids), rtol=1e-5, atol=1e-5)


def test_the_size_of_a_batch_does_not_change_a_bit(victim: Victim, ids: Ids) -> None:
    whole = ask_alike(victim, ids)
    for size in (1, 7, 64):
        assert torch.equal(torch.cat([ask_alike(victim, part) for part in ids.split(size)]), whole)


def test_several_convolutions_are_computed_one_after_the_other() -> None:
    torch.manual_seed(0)
    victim = CharCNN((70,) * 60, 3, depth=2, dim=5, channels=8, hidden=7).eval()
    ids = torch.randint(0, 70, (4, 60))
    with torch.no_grad():
        torch.testing.assert_close(victim(ids), by_convolution(victim, ids))


def test_every_token_has_the_number_of_its_vector(ids: Ids) -> None:
    tokens, slots = distinct_tokens(ids, _TOKENS)
    assert torch.equal(tokens[slots], ids)
    assert torch.equal(tokens, ids.unique())
