"""Torch modules on tables: entity embeddings, numbers beside them, one-hot rows, one logit; answers and gradients."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import hammingbox as hb
from victims.tables import Table


class Entities(nn.Module):
    """One embedding per column, each of another size, and numbers beside them: the usual tabular net."""

    def __init__(self, cardinalities: list[int], numbers: int, outputs: int) -> None:
        super().__init__()
        dims = [min(6, 1 + count // 2) for count in cardinalities]
        self.tables = nn.ModuleList(nn.Embedding(c, dim) for c, dim in zip(cardinalities, dims, strict=True))
        width = sum(dims) + numbers
        self.body = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, outputs))

    def forward(self, ids: Tensor, numbers: Tensor | None = None) -> Tensor:
        vectors = [table(column) for table, column in zip(self.tables, ids.T, strict=True)]
        return self.body(torch.cat(vectors if numbers is None else [*vectors, numbers], 1))


class Machine(nn.Module):
    """A factorisation machine: one table with offsets, looked up twice, and one logit."""

    def __init__(self, cardinalities: list[int]) -> None:
        super().__init__()
        self.offsets = torch.tensor([0, *np.cumsum(cardinalities[:-1]).tolist()])
        self.linear, self.factors = nn.Embedding(sum(cardinalities), 1), nn.Embedding(sum(cardinalities), 4)

    def forward(self, ids: Tensor) -> Tensor:
        rows = ids + self.offsets
        vectors = self.factors(rows)
        pairs = vectors.sum(1).square() - vectors.square().sum(1)
        return self.linear(rows).sum((1, 2)) + 0.5 * pairs.sum(1)


def split(table: Table) -> tuple[list[int], list[int]]:
    kinds = [feature.is_ordered for feature in table.schema.features]
    return [i for i, number in enumerate(kinds) if not number], [i for i, number in enumerate(kinds) if number]


def sizes(table: Table) -> list[int]:
    return [table.schema.cardinalities[i] for i in split(table)[0]]


def numbers(table: Table) -> Tensor:
    return torch.from_numpy(table.features[["duration", "amount", "age"]].to_numpy(dtype=np.float32))


def gradients_tell(victim: hb.Victim, table: Table) -> None:
    """The vectors give the module's answers, and every feature has a gradient on some row."""
    x, y = table.data.batch(slice(0, 40))
    victim.eval()
    embedded = victim.embed(x).detach().requires_grad_()
    logits = victim.head(embedded, x)
    torch.testing.assert_close(logits, victim(x), rtol=1e-4, atol=1e-4)
    logits.gather(1, y[:, None]).sum().backward()
    assert embedded.grad is not None
    assert (embedded.grad.abs().sum((0, 2)) > 0).all()


def test_entity_embeddings_with_numbers(german: Table) -> None:
    torch.manual_seed(0)
    module = Entities(sizes(german), 3, 2).eval()
    victim = hb.victim(module, german.schema, scale=lambda rows: rows / 1000)
    x, _ = german.data.batch(slice(None))
    ids, _ = split(german)
    torch.testing.assert_close(victim(x), module(x[:, ids], numbers(german) / 1000))
    gradients_tell(victim, german)
    space = hb.TableSpace(german.schema, {"amount": ["250", "18424"], "age": ["19", "75"], "duration": ["4", "72"]})
    threat, rows = hb.ThreatModel(space, 1), german.data.take(slice(0, 12))
    exact = hb.evaluate(victim, rows, threat, hb.Exhaustive())
    hotflip = hb.evaluate(victim, rows, threat, hb.HotFlip())
    assert exact.rows.success.sum() >= hotflip.rows.success.sum() > 0
    assert not [
        f for f in hb.diagnose_victim(victim, rows, threat) if f.severity == "error" and f.check != "class order"
    ]


def test_a_module_in_its_own_order_with_its_own_ids(german: Table) -> None:
    torch.manual_seed(1)
    names = ["housing", "status"]
    own = {"status": {"A14": 1, "A11": 2, "A12": 3, "A13": 4}}
    module = Entities([3, 5], 1, 2).eval()
    victim = hb.victim(
        module, german.schema, categorical=names, numeric=["age"], codes=own, call=lambda m, ids, age: m(ids, age / 50)
    )
    x, _ = german.data.batch(slice(0, 60))
    frame = german.features.head(60)
    housing = [["A151", "A152", "A153"].index(text) for text in frame["housing"]]
    ids = torch.tensor([housing, [own["status"][text] for text in frame["status"]]]).T
    age = torch.tensor(frame["age"].to_numpy(dtype=np.float32))[:, None]
    torch.testing.assert_close(victim(x), module(ids, age / 50))
    embedded = victim.embed(x)
    torch.testing.assert_close(victim.head(embedded, x), victim(x))


def test_one_table_with_offsets_looked_up_twice_and_one_logit(german: Table) -> None:
    torch.manual_seed(2)
    ids, _ = split(german)
    schema = hb.Schema(tuple(german.schema.features[i] for i in ids), german.schema.classes)
    module = Machine(list(schema.cardinalities)).eval()
    victim = hb.victim(module, schema)
    x = german.data.batch(slice(0, 50))[0][:, ids]
    logits = victim(x)
    torch.testing.assert_close(logits, torch.stack([torch.zeros(50), module(x)], 1))
    torch.testing.assert_close(victim.head(victim.embed(x), x), logits)
    assert victim.embed(x).shape == (50, len(ids), 5)


def test_encoded_rows_of_a_fitted_transformer(german: Table) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    torch.manual_seed(3)
    texts = list(german.features.select_dtypes(exclude="number").columns)
    prepare = make_column_transformer(
        (StandardScaler(), [n for n in german.features if n not in texts]), (OneHotEncoder(drop="first"), texts)
    ).fit(german.features)
    coded = prepare.transform(german.features)
    module = nn.Sequential(nn.Linear(coded.shape[1], 8), nn.Tanh(), nn.Linear(8, 2)).eval()
    victim = hb.victim(module, german.schema, encode=prepare)
    x, _ = german.data.batch(slice(None))
    expected = module(torch.from_numpy(np.asarray(coded, dtype=np.float32)))
    torch.testing.assert_close(victim(x), expected, rtol=1e-3, atol=1e-4)
    gradients_tell(victim, german)


def test_one_hot_rows_and_sigmoids(german: Table) -> None:
    torch.manual_seed(4)
    schema = hb.Schema(german.schema.features[:1] + german.schema.features[12:13], german.schema.classes)
    module = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid()).eval()
    with pytest.raises(hb.InputError, match=r"got numbers between 0 and 1, .* returns='probabilities'"):
        hb.victim(module, schema, encode="one_hot")
    victim = hb.victim(module, schema, encode="one_hot", returns="probabilities")
    x = german.data.batch(slice(0, 30))[0][:, [0, 12]]
    age = torch.tensor(german.features["age"].head(30).to_numpy(dtype=np.float32))[:, None]
    coded = torch.cat([nn.functional.one_hot(x[:, 0], 4).float(), age], 1)
    torch.testing.assert_close(victim(x).softmax(1)[:, 1:], module(coded), rtol=1e-4, atol=1e-5)


class Odd(nn.Module):
    """Uses its ids in a way that no vector explains."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(5, 4), nn.Linear(4, 2)

    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.table(ids[:, 0])) + ids[:, 1:].float()


class Hashed(Odd):
    def forward(self, ids: Tensor) -> Tensor:
        return self.out(self.table((ids[:, 0] * 7 + ids[:, 1]) % 5))


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        (Odd(), {}, "only go into embeddings, got one that also uses them otherwise"),
        (Hashed(), {}, "to look up columns of the table, got other ids"),
        (Entities([2, 4], 0, 2), {}, r"at least 4 vectors for column 'status', got 2 in 'tables\.0'"),
        (Entities([4, 3], 0, 3), {}, "answers for the 2 classes of the table, got 3"),
        (
            Entities([4, 3, 9], 0, 2),
            {},
            r"takes ids of shape \(rows, 2\) and numbers of shape \(rows, 0\), got ValueError",
        ),
        (Entities([4, 3], 0, 2), {"codes": {"status": {"A11": 0}}}, "got none for 'A12'"),
        (Entities([4, 3], 0, 2), {"categorical": ["nothing"]}, "expected the name of a feature"),
        (Entities([4, 3], 0, 2), {"numeric": ["status"]}, "expected a number for every value of 'status', got 'A11'"),
        (nn.Linear(3, 2), {"encode": "one_hot"}, "encoded rows of 7 numbers, got RuntimeError"),
        (
            nn.Linear(7, 2),
            {"encode": lambda frame: frame},
            r"encoder that takes the table's frame|finite numbers|could",
        ),
        (nn.Linear(1, 2), {"encode": lambda frame: np.ones(2)}, "expected an encoder that returns"),
    ],
)
def test_modules_that_do_not_fit(module: nn.Module, arguments: dict[str, Any], message: str, german: Table) -> None:
    schema = hb.Schema(
        tuple(f for f in german.schema.features if f.name in ("status", "housing")), german.schema.classes
    )
    with pytest.raises((hb.InputError, ValueError), match=message):
        hb.victim(module, schema, **arguments)


def test_missing_numbers_need_a_number() -> None:
    schema = hb.Schema(
        (hb.Feature("n", ("1", "2.5", "<missing>"), kind="number"), hb.Feature("c", ("a", "b"))), ("no", "yes")
    )
    module = Entities([2], 1, 1).eval()
    with pytest.raises(hb.InputError, match=r"every value of 'n', got '<missing>'\. Pass `missing`"):
        hb.victim(module, schema)
    ids = torch.tensor([[2, 0], [1, 1]])
    victim = hb.victim(module, schema, missing=-1.0)
    expected = module(ids[:, 1:], torch.tensor([[-1.0], [2.5]]))[:, 0]
    torch.testing.assert_close(victim(ids)[:, 1], expected)
