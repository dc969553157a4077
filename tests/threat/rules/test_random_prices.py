"""Random rules of one column: the price of every change against plain Python."""

import math
import random
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError
from hammingbox.threat.rules import tariff
from hammingbox.threat.rules.limits import Limits
from hammingbox.threat.rules.prices import ANY, CANNOT, ColumnRule
from hammingbox.threat.rules.tariff import Tariff
from toys.shop import every_pair

FEATURES = (
    Feature("size", ("small", "medium", "large", "<missing>", "huge")),
    Feature("n", ("-2", "0", "0.1", "0.2", "0.3", "1", "2.5", "<missing>"), "number"),
    Feature("d", ("2020-02-28", "2020-02-29", "2020-03-01", "2020-03-08"), "date"),
    Feature("few", ("3", "1", "2", "<unknown>")),  # few numbers are categories
)


def number_of(feature: Feature, text: str) -> float | None:
    if text in ("<missing>", "<unknown>") or feature.name == "size":
        return None
    return 86_400.0 * (date.fromisoformat(text) - date(1970, 1, 1)).days if feature.kind == "date" else float(text)


def steps_of(rule: ColumnRule, feature: Feature, own: str, to: str) -> float | None:
    if feature.is_ordered:
        places = {text: number_of(feature, text) for text in feature.categories}
    else:
        order = rule.order or tuple(text for text in feature.categories if text not in ("<missing>", "<unknown>"))
        places = {text: float(place) for place, text in enumerate(order)}
    a, b = places.get(own), places.get(to)
    if a is None or b is None:
        return None
    size = float(rule.step or 1) * (86_400 if feature.kind == "date" else 1)
    exact = (b - a) / size
    return math.copysign(max(1.0, math.ceil(abs(exact) - 1e-9 * max(1.0, abs(exact)))), exact) if exact else None


def price_of(rule: ColumnRule, feature: Feature, own: str, to: str, *, priced: bool) -> int:
    if own == to:
        return 0
    steps, pairs = steps_of(rule, feature, own, to), {(a, b): price for a, b, price in rule.pairs}
    price = rule.price if priced or rule.price == CANNOT else 1
    price = pairs.get((ANY, ANY), price)
    if rule.up is not None or rule.down is not None:
        each = None if steps is None else rule.up if steps > 0 else rule.down
        price = CANNOT if each is None or each == CANNOT or steps is None else int(each * abs(steps))
    for key in (rule.write.get(to), pairs.get((own, ANY)), pairs.get((ANY, to)), pairs.get((own, to))):
        price = price if key is None else key
    limits, a, b = rule.limits, number_of(feature, own), number_of(feature, to)
    barred = rule.frozen or price is None
    if limits.range is not None:
        low, high = (None if end is None else number_of(feature, end) for end in limits.range)
        barred |= b is None or (low is not None and b < low) or (high is not None and b > high)
    if limits.relative is not None:
        barred |= a is None or b is None or abs(b - a) > abs(a) * (float(limits.relative) + 1e-9)
    if limits.window is not None:
        before, after = limits.window
        barred |= a is None or b is None or not -before * 86_400 <= b - a <= after * 86_400
    if limits.direction is not None:
        barred |= steps is None or (steps > 0) != (limits.direction == "grows")
    if limits.most_steps is not None:
        barred |= steps is None or abs(steps) > limits.most_steps
    return CANNOT if barred or price is None else price


def random_rule(chance: random.Random, feature: Feature, *, priced: bool) -> ColumnRule:
    def sometimes(share: float, value: Any, otherwise: Any = None) -> Any:
        return value if chance.random() < share else otherwise

    words = feature.categories
    numbers = sorted((number, text) for text in words if (number := number_of(feature, text)) is not None)
    ends = [text for _, text in sorted(chance.sample(numbers, 2))] if numbers else None
    share = chance.choice((Decimal("0.5"), Decimal(1), Decimal(2)))
    limits = Limits(
        direction=sometimes(0.25, chance.choice(("grows", "shrinks"))),
        most_steps=sometimes(0.25, chance.choice((1, 2, 3))),
        range=sometimes(0.25, ends and (sometimes(0.7, ends[0]), sometimes(0.7, ends[1]))),
        relative=sometimes(0.2, share if feature.name in ("n", "few") else None),
        window=sometimes(0.4, (chance.choice((0, 1, 7)), chance.choice((1, 8))) if feature.kind == "date" else None),
    )  # fmt: skip

    def cost() -> int:
        return chance.choice((CANNOT, 0, 1, 2, 5)) if priced else CANNOT

    stepped = priced and chance.random() < 0.4
    ways = [(chance.choice((*words, ANY)), chance.choice((*words, ANY))) for _ in range(chance.choice((0, 0, 2, 4)))]
    return ColumnRule(
        feature.name,
        price=None if stepped else cost() if priced else sometimes(0.1, CANNOT),
        write=sometimes(0.3, {word: cost() for word in chance.sample(words, 2)}, {}),
        pairs=tuple((a, b, cost()) for a, b in dict.fromkeys(ways)),
        up=sometimes(0.9, cost()) if stepped else None,
        down=sometimes(0.9, cost()) if stepped else None,
        step=chance.choice((Decimal("0.1"), Decimal(1), Decimal(3))) if feature.is_ordered else None,
        order=sometimes(0.3, tuple(chance.sample(words, 3)), ()) if not feature.is_ordered else (),
        limits=limits,
    )


@pytest.mark.parametrize("with_table", [True, False])
@pytest.mark.parametrize("priced", [True, False])
def test_every_change_costs_what_python_says(priced: bool, with_table: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_table:
        monkeypatch.setattr(tariff, "_LARGEST_TABLE", 4)
    chance, tried = random.Random(int(priced)), 0
    for _ in range(150):
        feature = chance.choice(FEATURES)
        try:
            rule = random_rule(chance, feature, priced=priced)
            found = Tariff(rule, feature, priced=priced)
        except InputError:  # entries that contradict each other
            continue
        tried += 1
        words = feature.categories
        wanted = [[price_of(rule, feature, own, to, priced=priced) for to in words] for own in words]
        assert found.ticks(*every_pair(len(words))).tolist() == wanted, rule
        assert ColumnRule.from_json(feature.name, rule.to_json()) == rule
    assert tried > 40
