"""Ids, labels, schemas and budgets as users pass them.

The test run checks types at every call and would refuse most of these before the package does. They are therefore made
in one process without those checks (`plain_arguments.py`).
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from data.plain_arguments import REFUSED, TAKEN
from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from toys import toy_schema

SCHEMA = toy_schema((3, 4))
ROWS = [[0, 1], [2, 3]]
TENSOR_TYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    script = Path(__file__).with_name("plain_arguments.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", REFUSED)
def test_what_means_something_else_is_refused(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name].startswith("InputError: expected"), outcomes[name]


@pytest.mark.parametrize("name", TAKEN)
def test_what_users_would_pass_is_taken(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "as expected"


@pytest.mark.parametrize("kind", TENSOR_TYPES, ids=str)
def test_every_integer_type_of_a_tensor_is_taken(kind: torch.dtype) -> None:
    ids, labels = torch.tensor(ROWS).to(kind), torch.tensor([1, 2]).to(kind)
    assert SCHEMA.as_ids(ids).tolist() == ROWS
    assert SCHEMA.as_ids(ids).dtype == SCHEMA.as_labels(labels, 2).dtype == torch.int64
    data = Dataset(SCHEMA, ids, labels)
    assert data.digest == Dataset(SCHEMA, torch.tensor(ROWS), torch.tensor([1, 2])).digest


def test_digests_do_not_collide_on_names_with_separators() -> None:
    def digest(*categories: str, name: str = "x", classes: tuple[str, ...] = ("no", "yes")) -> str:
        return Schema((Feature(name, categories),), classes).digest

    odd = [
        digest("a\x1fb"), digest("a", "b"), digest("a", "b", classes=("no\x1fyes", "b")),
        digest("a", "b", classes=("no", "yes\x1fb")), digest("a\x1fb", "c"), digest("a", "b\x1fc"),
        digest("a", name="x\x1d[0]\x1dno"), digest("a\x1eb"), digest("a\x1db"),
    ]  # fmt: skip
    assert len(set(odd)) == len(odd)
