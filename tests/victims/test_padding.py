"""Models of text: padding changes nothing, and words count in their order."""

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.text.vocabulary import PAD
from hammingbox.victims.zoo.padding import is_text, lengths
from hammingbox.victims.zoo.registry import build

WORDS = ("<pad>", "<unknown>", "<name>", "the", "film", "Paul")
MODELS = ["word_cnn", "bilstm"]


def schema(length: int) -> Schema:
    return Schema.sequence(length, WORDS, ("negative", "positive"), prefix="word ")


def test_a_text_ends_with_its_last_token() -> None:
    assert WORDS[PAD] == "<pad>"
    ids = torch.tensor([[3, PAD, 4, PAD], [PAD, PAD, PAD, PAD]])
    assert lengths(ids).tolist() == [3, 1], "padding inside a text is part of it, and an empty text has one position"
    assert is_text(ids).tolist() == [[True, True, True, False], [True, False, False, False]]


@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing(name: str) -> None:
    model = build(name, schema(9), dim=4).eval()
    ids = torch.tensor([[3, 4, 5, 3, 4, 1], [4, 3, 4, 0, 0, 0], [5, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
    longer = torch.cat([ids, torch.zeros(4, 3, dtype=torch.int64)], 1)
    assert bool(model(longer).isfinite().all())
    short = build(name, schema(6), dim=4).eval()
    short.load_state_dict(model.state_dict())
    assert torch.allclose(model(longer), short(ids), atol=1e-6)
    assert not torch.allclose(short(ids[:1]), short(ids[:1].flip(1))), "the order of words counts"


@pytest.mark.parametrize("name", MODELS)
def test_the_head_masks_by_the_ids_it_is_given(name: str) -> None:
    model = build(name, schema(4), dim=4).eval()
    ids = torch.tensor([[3, 4, 0, 0]])
    embedded = model.embed(ids)
    noisy = embedded.clone()
    noisy[:, 2:] += 5
    assert torch.equal(model.head(embedded, ids), model.head(noisy, ids))
    assert not torch.equal(model.head(embedded, ids), model.head(noisy, torch.full_like(ids, 3)))
