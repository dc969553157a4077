"""Derived values that no row has: the schema learns those that changes can lead to."""

import itertools

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.data.schema import Feature, Schema
from hammingbox.threat.reachable import with_reachable
from hammingbox.threat.rules.derived import Derived
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.table_space import TableSpace


def table() -> tuple[Dataset, Rules, TableSpace]:
    schema = Schema(
        (
            Feature("a", ("0.1", "0.2", "5"), "number"),
            Feature("b", ("0.2", "1", "<missing>"), "number"),
            Feature("sum", ("0.3", "1.1", "<missing>"), "number"),
            Feature("twice", ("0.6",), "number"),
        ),
        ("x", "y"),
    )
    rules = Rules(
        schema, derived=(Derived(schema, "twice", formula="sum * 2"), Derived(schema, "sum", formula="a + b"))
    )
    data = Dataset(schema, torch.tensor([[0, 0, 0, 0], [0, 1, 1, 0]]), torch.tensor([0, 1]))
    return data, rules, TableSpace(schema, {"a": ["0.2", "5"]})


def test_every_row_that_can_be_written_has_ids() -> None:
    data, rules, space = table()
    found = with_reachable(data, space, rules)
    assert found.is_whole
    assert found.rules.schema.features[2].categories == ("0.3", "0.4", "1.1", "1.2", "5.2", "6", "<missing>")
    assert set(found.rules.schema.features[3].categories) == {"0.6", "0.8", "2.2", "2.4", "10.4", "12"}, "through sum"
    assert found.added == {"sum": 4, "twice": 5}
    assert found.rules.schema.form_digest == data.schema.form_digest, "models that read numbers still fit"
    for row in range(2):
        assert found.data.schema.decode(found.data.ids[row].tolist()) == data.schema.decode(data.ids[row].tolist())
    x = found.data.ids[:1]
    for a, b in itertools.product(range(3), range(2)):
        written = x.clone()
        written[0, 0], written[0, 1] = a, b
        done, exist = found.rules.complete(written, x)
        assert exist.all()
        assert found.rules.hold(x, done).all()
    widths = [found.space.candidates(x).layout.widths, space.candidates(data.ids[:1]).layout.widths]
    assert torch.equal(widths[0][:2], widths[1][:2]), "what may be written into a and b is the same"


def test_nothing_changes_where_every_value_is_known() -> None:
    data, rules, space = table()
    once = with_reachable(data, space, rules)
    twice = with_reachable(once.data, once.space, once.rules)
    assert twice.data is once.data
    assert twice.added == {"sum": 0, "twice": 0}
