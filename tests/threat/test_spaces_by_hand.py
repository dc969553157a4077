"""S(x) of masked spaces and tables, column by column, against plain sets; and the form of stored spaces."""

import random
from inspect import unwrap
from typing import Any

import pytest
import torch

from hammingbox.data.schema import Schema
from hammingbox.errors import FileError, InputError
from hammingbox.threat.masked_space import MaskedSpace, check_lists
from hammingbox.threat.space import FullSpace, Space
from hammingbox.threat.space_json import check_space_document, space_from_json
from hammingbox.threat.synonym_space import MOST_SYNONYMS
from hammingbox.threat.table_space import TableSpace
from hammingbox.threat.threat_model import ThreatModel
from toys import mixed_schema, toy_schema
from toys.prices import SPACES


def some_rows(schema: Schema, chance: random.Random, rows: int = 12) -> torch.Tensor:
    return torch.tensor([[chance.randrange(size) for size in schema.cardinalities] for _ in range(rows)])


def values_of(space: Space, x: torch.Tensor) -> list[list[list[int]]]:
    """What may stand in each column of each row, the row's own value first; no value twice."""
    found = space.candidates(x)
    starts, widths = found.layout.starts.tolist(), found.layout.widths.tolist()
    return [
        [
            [int(i) for i, valid in zip(ids[s : s + w], valid_[s : s + w], strict=True) if valid]
            for s, w in zip(starts, widths, strict=True)
        ]
        for ids, valid_ in zip(found.ids.tolist(), found.valid.tolist(), strict=True)
    ]


def agrees(space: Space, x: torch.Tensor, wanted: list[list[set[int]]]) -> None:
    found = values_of(space, x)
    for row, own, sets in zip(found, x.tolist(), wanted, strict=True):
        assert [values[0] for values in row] == own, "slot 0 is the row's own value"
        assert all(len(set(values)) == len(values) for values in row)
        assert [set(values) for values in row] == sets
    chance = random.Random(0)
    written = some_rows(space.schema, chance, len(x))
    inside = [
        all(v in s for v, s in zip(row, sets, strict=True)) for row, sets in zip(written.tolist(), wanted, strict=True)
    ]
    assert space.candidates(x).contains(written).tolist() == inside


@pytest.mark.parametrize("seed", range(25))
def test_a_masked_space(seed: int) -> None:
    chance = random.Random(seed)
    schema = toy_schema((3, 2, 5, 1, 4))
    names = [feature.name for feature in schema.features]

    def some_of(share: float) -> dict[str, list[str]]:
        chosen = {
            n: [c for c in f.categories if chance.random() < share] for n, f in zip(names, schema.features, strict=True)
        }
        if chance.random() < 0.5:
            chosen["*"] = [chance.choice(("c0", "c1", "c3"))]
        return chosen

    immutable = [name for name in names[1:] if chance.random() < 0.3]
    forbidden, kept = some_of(0.3), some_of(0.15)
    ruled = chance.random() < 0.5

    def no_fall(ids: torch.Tensor) -> torch.Tensor:
        return torch.arange(5) >= ids[:, :, None]

    if set(forbidden["f0"]) | set(forbidden.get("*", [])) >= set(schema.features[0].categories):
        forbidden["f0"] = []
    space = MaskedSpace(schema, immutable=immutable, forbidden=forbidden, kept=kept, rule=no_fall if ruled else None)
    x = some_rows(schema, chance)

    def allowed(own: int, column: int) -> set[int]:
        name, words = names[column], schema.features[column].categories
        barred, stay = (set(part[name]) | set(part.get("*", [])) for part in (forbidden, kept))
        if name in immutable or words[own] in stay:
            return {own}
        return {own} | {i for i, word in enumerate(words) if word not in barred and (not ruled or i >= own)}

    agrees(space, x, [[allowed(own, column) for column, own in enumerate(row)] for row in x.tolist()])


@pytest.mark.parametrize("seed", range(25))
def test_a_table(seed: int) -> None:
    chance = random.Random(seed)
    schema = mixed_schema()
    options = {
        f.name: [c for c in f.categories if chance.random() < 0.5] for f in schema.features if chance.random() < 0.5
    }
    steps: dict[str, list[float]] = {}
    if chance.random() < 0.7:
        steps["day"] = chance.sample((-2.0, -1.0, 1.0, 2.0, 3.0), 2)
    if chance.random() < 0.5:
        steps["amount"] = chance.sample((-1.0, 0.75, 1.0, 1.5), 2)
    forbidden = {f.name: [chance.choice(f.categories)] for f in schema.features if chance.random() < 0.4}
    if chance.random() < 0.3:
        forbidden["*"] = ["7"]
    immutable = [f.name for f in schema.features[1:] if chance.random() < 0.2]
    options.setdefault("colour", ["red", "blue"]).append("green")
    immutable = [name for name in immutable if name != "colour"]
    space = TableSpace(schema, options, steps=steps, immutable=immutable, forbidden=forbidden)
    x = some_rows(schema, chance)

    def allowed(own: int, column: int) -> set[int]:
        feature = schema.features[column]
        if feature.name in immutable:
            return {own}
        barred = {*forbidden.get(feature.name, []), *forbidden.get("*", [])}
        offered = options.get(feature.name, [] if feature.name in steps else feature.categories)
        found = {feature.categories.index(word) for word in offered}
        day = 86_400 if feature.kind == "date" else 1
        if feature.name in steps:
            numbers = feature.numbers.tolist()
            reached = {numbers[own] + day * size for size in steps[feature.name]}
            found |= {i for i, number in enumerate(numbers) if number in reached}
        return {own} | {i for i in found if feature.categories[i] not in barred}

    agrees(space, x, [[allowed(own, column) for column, own in enumerate(row)] for row in x.tolist()])


def named(ids: torch.Tensor) -> torch.Tensor:
    """A rule of a module."""
    return torch.ones(*ids.shape, 3, dtype=torch.bool)


def test_a_rule_needs_a_name_of_its_own() -> None:
    schema = toy_schema((3, 3))
    for rule, name in ((None, ""), (named, ""), (lambda ids: named(ids), "mine"), (None, "x")):
        MaskedSpace(schema, rule=rule, rule_name=name).check_identity()
    for rule in (lambda ids: named(ids), torch.ones_like):
        with pytest.raises(InputError, match="a rule that its name identifies"):
            MaskedSpace(schema, rule=rule).check_identity()
    assert MaskedSpace(schema, rule=named).to_json()["rule"] == "named"
    assert MaskedSpace(schema, rule=named, rule_name="mine").to_json()["rule"] == "mine"
    for words in ("abc", 5, [1]):
        with pytest.raises(InputError, match="expected a list of features for 'immutable'"):
            unwrap(check_lists)({"immutable": words}, "features")  # without the checks of types that tests install


FORMS: dict[str, dict[str, Any]] = {
    "masked": {"kind": "masked", "immutable": ["a"], "forbidden": {"a": ["b"]}, "kept": {}},
    "table": {"kind": "table", "options": {"a": ["b"]}, "steps": {"a": [1, 0.5]}, "immutable": [], "forbidden": {}},
    "synonym": {"kind": "synonym", "source": "s", "sha256": "h", "tagger": "t", "protected": ["w"], "most": 1},
}
WRONG: dict[str, tuple[Any, ...]] = {
    "immutable": ("a", [1], None, {"a": 1}), "protected": ("w", [None]), "source": (1, None), "sha256": (1,),
    "tagger": ([],), "rule": (1,), "most": (0, MOST_SYNONYMS + 1, True, 1.0, "1"),
    "forbidden": ([], {"a": "b"}, {"a": [1]}, {1: ["b"]}), "kept": ([], {"a": "b"}, {1: []}),
    "options": ([], {"a": "b"}, {"a": [1]}), "steps": ([], {"a": 1}, {"a": ["1"]}, {"a": [True]}, {1: [1]},
                                                       {"a": [float("inf")]}, {"a": [float("nan")]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMS)
def test_the_form_of_a_stored_space(kind: str) -> None:
    whole = FORMS[kind]
    check_space_document(whole)
    check_space_document({"kind": "ruled", "base": whole, "rules": {}})
    if kind == "synonym":
        check_space_document(whole | {"most": MOST_SYNONYMS})
        assert MOST_SYNONYMS == 1000
    for name in set(whole) - {"kind"}:
        missing = {key: value for key, value in whole.items() if key != name}
        for document in (missing, {"kind": "ruled", "base": missing, "rules": {}}):
            with pytest.raises(FileError, match=f"a space of kind '{kind}' with '{name}'"):
                check_space_document(document)
    for name in (set(whole) | {"rule"}) - {"kind"}:
        for wrong in WRONG[name]:
            with pytest.raises(FileError, match=f"expected '{name}' of a space in its usual form"):
                check_space_document(whole | {name: wrong})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "a space with its kind"), ([], "a space with its kind"), ({}, "a space with its kind"),
        ({"kind": 1}, "a space with its kind"), ({"kind": "ruled"}, "with its base"),
        ({"kind": "ruled", "base": [], "rules": {}}, "with its base"),
        ({"kind": "ruled", "base": {"kind": "ruled"}, "rules": {}}, "with its base"),
        ({"kind": "ruled", "base": {"kind": "full"}}, "with its rules"),
        ({"kind": "ruled", "base": {"kind": "full"}, "rules": []}, "with its rules"),
    ],
)  # fmt: skip
def test_what_is_no_stored_space(document: Any, words: str) -> None:
    with pytest.raises(FileError, match=words):
        check_space_document(document)


def test_spaces_are_built_again_by_their_kind() -> None:
    schema = toy_schema((3, 3))
    assert type(space_from_json({"kind": "full"}, schema)) is FullSpace
    masked = MaskedSpace(schema, immutable=["f0"], forbidden={"f1": ["c0"]}, kept={"f1": ["c1"]})
    assert space_from_json(masked.to_json(), schema).to_json() == masked.to_json()
    with pytest.raises(InputError, match="got one with the Python rule 'named'"):
        space_from_json(MaskedSpace(schema, rule=named).to_json(), schema)
    with pytest.raises(InputError, match="of kind full, masked, table, synonym or ruled, got 'moon'"):
        space_from_json({"kind": "moon"}, schema)


def test_the_largest_budgets() -> None:
    schema, priced = toy_schema((3, 3)), SPACES["prices"]
    for space, most in ((FullSpace(schema), 2), (priced, 2**53)):
        for budget in (0, most):
            assert ThreatModel(space, budget).budget == budget
        for budget in (-1, most + 1, True):
            with pytest.raises(InputError, match=rf"expected a budget of 0\.\.{most} "):
                ThreatModel(space, budget)
    with pytest.raises(InputError, match=r"ticks of 0\.1 EUR"):
        ThreatModel(priced, -1)
    with pytest.raises(InputError, match="changed features"):
        ThreatModel(FullSpace(schema), 3)
