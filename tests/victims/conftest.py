"""A real table, read once."""

import pytest

from victims.tables import Table, german_credit


@pytest.fixture(scope="session")
def german(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return german_credit(tmp_path_factory.mktemp("german"))
