"""Victims that attacks need many queries for."""

import pytest

from toys import ToyVictim, toy_rows, toy_schema
from toys.targets import Recorder, Target


@pytest.fixture(scope="session")
def wide() -> Target:
    """Twelve features, small gains."""
    schema = toy_schema((4,) * 12)
    victim = ToyVictim(schema.cardinalities, seed=4)
    return Target(schema, victim, *toy_rows(schema, victim, rows=30))


@pytest.fixture(scope="session")
def hard() -> Target:
    """The same victim with a bias for class 0: some rows cannot be broken at any budget of these tests."""
    schema = toy_schema((4,) * 12)
    victim = Recorder(schema.cardinalities, seed=4, bias=3.0)
    return Target(schema, victim, *toy_rows(schema, victim, rows=30))
