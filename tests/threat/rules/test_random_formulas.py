"""Random formulas on random rows, against a few lines of plain Python with three-valued logic."""

import math
import random
from collections.abc import Callable
from datetime import date

import pytest
import torch

from hammingbox.threat.rules.expression import Expression
from hammingbox.threat.rules.formula import IfWritten, Implies
from toys.shop import shop

Row = dict[str, str]
Number = Callable[[Row, Row], float | None]
Logic = Callable[[Row, Row], bool | None]
"""None is unknown."""

SCHEMA = shop()
NUMBERS, TEXTS, DATES = ("net", "tax", "total", "card"), ("city", "country", "size"), ("ordered", "shipped")
COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": lambda a, b: a < b - 1e-9, "<=": lambda a, b: a <= b + 1e-9, ">": lambda a, b: a > b + 1e-9,
    ">=": lambda a, b: a >= b - 1e-9, "==": lambda a, b: abs(a - b) <= 1e-9, "!=": lambda a, b: abs(a - b) > 1e-9,
}  # fmt: skip


def divided(a: float, b: float) -> float | None:
    return a / b if b else None


OPERATE: dict[str, Callable[[float, float], float | None]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": divided,
    "//": lambda a, b: math.floor(a / b) if b else None, "%": lambda a, b: a - b * math.floor(a / b) if b else None,
}  # fmt: skip
ONE: dict[str, Callable[[float], float]] = {"abs": abs, "floor": math.floor, "round": round, "-": lambda a: -a}
OF_DATE: dict[str, Callable[[date], float]] = {
    "year": lambda d: d.year, "month": lambda d: d.month, "day": lambda d: d.day, "weekday": lambda d: d.weekday(),
    "hour": lambda d: 0, "minute": lambda d: 0, "days": lambda d: (d - date(1970, 1, 1)).days,
}  # fmt: skip


def value(text: str) -> float | None:
    return (
        None
        if text == "<missing>"
        else {"true": 1.0, "false": 0.0}.get(text)
        if text in ("true", "false")
        else float(text)
    )


def lifted(operate: Callable[..., float | bool | None], *parts: Number) -> Callable[[Row, Row], float | bool | None]:
    def compute(w: Row, c: Row) -> float | bool | None:
        found = [part(w, c) for part in parts]
        return None if any(number is None for number in found) else operate(*found)

    return compute


def number(chance: random.Random, depth: int) -> tuple[str, Number]:
    kind = chance.choice(
        ("column", "column", "clean", "constant", "two", "two", "one", "many", "date")[: 4 if not depth else None]
    )
    if kind in ("column", "clean"):
        name = chance.choice(NUMBERS)
        return (
            (name, lambda w, c: value(w[name])) if kind == "column" else (f"clean({name})", lambda w, c: value(c[name]))
        )
    if kind == "constant":
        fixed = chance.choice((0, 1, 2, 3.5, 7))
        return str(fixed), lambda w, c: fixed
    if kind == "date":
        part, column = chance.choice(list(OF_DATE)), chance.choice(DATES)
        return f"{part}({column})", lambda w, c: OF_DATE[part](date.fromisoformat(w[column]))
    if kind == "one":
        name, (text, inner) = chance.choice(list(ONE)), number(chance, depth - 1)
        return f"{name}({text})", lifted(ONE[name], inner)
    if kind == "many":
        name, parts = chance.choice(("min", "max")), [number(chance, depth - 1) for _ in range(chance.choice((2, 3)))]
        join: Callable[..., float] = min if name == "min" else max
        return f"{name}({', '.join(text for text, _ in parts)})", lifted(
            lambda *all_: join(all_), *(p for _, p in parts)
        )
    sign, (a, left), (b, right) = chance.choice(list(OPERATE)), number(chance, depth - 1), number(chance, depth - 1)
    return f"({a} {sign} {b})", lifted(OPERATE[sign], left, right)


def negation(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def conjunction(parts: list[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def logic(chance: random.Random, depth: int) -> tuple[str, Logic]:
    kind = chance.choice(
        ("compare", "chain", "in", "text", "texts", "changed", "known", "date", "card", "not", "and", "or")[
            : 9 if not depth else None
        ]
    )
    if kind == "compare":
        sign, (a, left), (b, right) = chance.choice(list(COMPARE)), number(chance, 1), number(chance, 1)
        return f"{a} {sign} {b}", lifted(COMPARE[sign], left, right)  # type: ignore[return-value]
    if kind == "chain":
        (one, two), parts = chance.sample(list(COMPARE), 2), [number(chance, 1) for _ in range(3)]
        (a, left), (b, middle), (d, right) = parts
        first, second = lifted(COMPARE[one], left, middle), lifted(COMPARE[two], middle, right)
        return f"{a} {one} {b} {two} {d}", lambda w, c: conjunction([first(w, c), second(w, c)])  # type: ignore[list-item]
    if kind == "in":
        (a, inner), several, sign = number(chance, 1), chance.sample(range(8), 3), chance.choice(("in", "not in"))

        def among(w: Row, c: Row) -> bool | None:
            own = inner(w, c)
            found = None if own is None else any(abs(own - each) <= 1e-9 for each in several)
            return found if sign == "in" else negation(found)

        return f"{a} {sign} {several}", among
    if kind == "text":
        name, sign = chance.choice(TEXTS), chance.choice(("==", "!="))
        wanted = chance.choice(SCHEMA.features[SCHEMA.feature_index(name)].categories)
        text = f'{name} {sign} "{wanted}"' if chance.random() < 0.5 else f'"{wanted}" {sign} {name}'
        return text, lambda w, c: (w[name] == wanted) == (sign == "==")
    if kind == "texts":
        sign, name = chance.choice(("==", "!=")), chance.choice(TEXTS)
        other = chance.choice(TEXTS)
        return f"{name} {sign} clean({other})", lambda w, c: (w[name] == c[other]) == (sign == "==")
    if kind == "changed":
        name = chance.choice((*TEXTS, *NUMBERS))
        return f"changed({name})", lambda w, c: w[name] != c[name]
    if kind == "known":
        name = chance.choice((*TEXTS, *NUMBERS))
        return f"known({name})", lambda w, c: w[name] != "<missing>"
    if kind == "date":
        sign, name, day = (
            chance.choice(list(COMPARE)),
            chance.choice(DATES),
            chance.choice(("2020-03-01", "2020-03-06")),
        )
        days = OF_DATE["days"]
        return f'{name} {sign} "{day}"', lambda w, c: COMPARE[sign](
            *(days(date.fromisoformat(d)) for d in (w[name], day))
        )
    if kind == "card":
        return "card", lambda w, c: w["card"] == "true"
    if kind == "not":
        text, inner_logic = logic(chance, depth - 1)
        return f"not ({text})", lambda w, c: negation(inner_logic(w, c))
    (a, one_), (b, two_) = logic(chance, depth - 1), logic(chance, depth - 1)
    if kind == "and":
        return f"({a}) and ({b})", lambda w, c: conjunction([one_(w, c), two_(w, c)])
    return f"({a}) or ({b})", lambda w, c: negation(conjunction([negation(one_(w, c)), negation(two_(w, c))]))


def formula(chance: random.Random, depth: int) -> tuple[str, Logic]:
    """One that names a column."""
    while True:
        text, wanted = logic(chance, depth)
        if any(feature.name in text for feature in SCHEMA.features):
            return text, wanted


def some_rows(chance: random.Random, count: int) -> tuple[torch.Tensor, list[Row]]:
    ids = [[chance.randrange(size) for size in SCHEMA.cardinalities] for _ in range(count)]
    return torch.tensor(ids), [
        dict(zip((f.name for f in SCHEMA.features), SCHEMA.decode(row), strict=True)) for row in ids
    ]


@pytest.mark.parametrize("seed", range(4))
def test_formulas_say_what_python_says(seed: int) -> None:
    chance = random.Random(seed)
    (written, after), (clean, before) = some_rows(chance, 40), some_rows(chance, 40)
    seen = set()
    for _ in range(40):
        text, wanted = formula(chance, 2)
        expression = Expression(text, SCHEMA)
        columns = list(expression.columns)
        truth = expression.truth(written[:, columns], clean[:, columns])
        found = list(zip(*(part.expand(40).tolist() for part in (truth.can_hold, truth.can_fail)), strict=True))
        truths = [wanted(w, c) for w, c in zip(after, before, strict=True)]
        assert found == [(t is not False, t is not True) for t in truths], text
        numbers = expression.numbers(written[:, columns], clean[:, columns]).tolist()
        assert [None if n != n else bool(n) for n in numbers] == truths, text
        assert expression.is_logic
        seen |= set(truths)
    assert seen == {True, False, None}


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_what_python_computes(seed: int) -> None:
    chance = random.Random(seed)
    (written, after), (clean, before) = some_rows(chance, 40), some_rows(chance, 40)
    for _ in range(40):
        text, wanted = number(chance, 3)
        text, own = f"{text} + tax", wanted
        expression = Expression(text, SCHEMA)
        columns = list(expression.columns)
        found = expression.numbers(written[:, columns], clean[:, columns]).tolist()
        for here, w, c in zip(found, after, before, strict=True):
            plain, tax = own(w, c), value(w["tax"])
            assert tax is not None
            assert (here != here) if plain is None else here == pytest.approx(plain + tax), text
        assert not expression.is_logic


@pytest.mark.parametrize("seed", range(4))
def test_what_follows_from_a_condition_or_a_change(seed: int) -> None:
    chance = random.Random(seed)
    (written, after), (clean, before) = some_rows(chance, 60), some_rows(chance, 60)
    written[::3], after[::3] = clean[::3], before[::3]
    for _ in range(15):
        (a, first), (b, second) = formula(chance, 1), formula(chance, 1)
        implies = Implies(SCHEMA, a, b)
        columns = list(implies.columns)
        wanted = [first(w, c) is not True or second(w, c) is not False for w, c in zip(after, before, strict=True)]
        assert implies.holds(written[:, columns], clean[:, columns]).tolist() == wanted, (a, b)
        name = chance.choice(TEXTS)
        words = SCHEMA.features[SCHEMA.feature_index(name)].categories
        values = chance.choice((None, chance.sample(words, 2)))
        rule = IfWritten(SCHEMA, name, b, values)
        columns = list(rule.columns)
        wanted = [
            w[name] == c[name] or (values is not None and w[name] not in values) or second(w, c) is not False
            for w, c in zip(after, before, strict=True)
        ]
        assert rule.holds(written[:, columns], clean[:, columns]).tolist() == wanted, (name, b, values)
