"""Every victim of the package can be sent to another process."""

import pickle

import pytest
import torch
from torch import nn

from hammingbox import VICTIMS, BlackBox, OneHot, Victim, wrap
from hammingbox.victims.checkpoint import weights_digest
from toys import toy_schema
from toys.models import PlainModule, fixed_probabilities, schema_for, small_model, some_rows

THREE = toy_schema((4, 4, 4))


def assert_same(victim: Victim, rows: torch.Tensor) -> Victim:
    again = pickle.loads(pickle.dumps(victim))
    assert type(again) is type(victim)
    assert weights_digest(again) == weights_digest(victim)
    assert torch.equal(again(rows), victim(rows))
    assert not again.training
    return again


@pytest.mark.parametrize("name", VICTIMS)
def test_models_of_the_package(name: str) -> None:
    victim, rows = small_model(name), some_rows(schema_for(name))
    again = assert_same(victim, rows)
    assert torch.equal(again.embed(rows), victim.embed(rows))


def test_modules_of_one_hot_rows() -> None:
    assert_same(OneHot(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), categories=4, blank=3).eval(), some_rows(THREE))


def test_wrapped_modules_keep_their_embedding() -> None:
    module, rows = PlainModule(), some_rows(THREE)
    victim = wrap(module, embedding=module.lookup).eval()
    again = assert_same(victim, rows)
    assert torch.equal(again.head(again.embed(rows), rows), victim.head(victim.embed(rows), rows))
    with torch.no_grad():
        again.get_parameter("module.lookup.weight").zero_()
    assert torch.equal(again.embed(rows), torch.zeros(6, 3, 6)), "the embedding is still part of the module"


@pytest.mark.parametrize("named", [False, True])
def test_black_boxes_with_a_function_of_a_module(named: bool) -> None:
    box = BlackBox(fixed_probabilities, schema=THREE if named else None, name="fixed").eval()
    assert_same(box, some_rows(THREE))
