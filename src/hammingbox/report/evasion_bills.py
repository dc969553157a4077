"""What evasion costs: each row's cheapest one with its bill, the owner's loss, and which price would have to rise."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64

from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows
from hammingbox.threat.amount import amount_of
from hammingbox.threat.rules.rules import Rules
from hammingbox.threat.rules.unit import Unit


@dataclass(frozen=True)
class Item:
    """One change on a bill."""

    column: str
    before: str
    after: str
    price: int


@dataclass(frozen=True)
class Bill:
    """The cheapest evasion that any run found for a row.

    Attributes:
        number: of the row in its source.
        label: its true class.
        taken_for: the class that the victim takes it for afterwards.
        cost: the sum.
        items: the changes, the dearest first; derived columns cost nothing and come last.
        attack: the run that found it.
        worth: what the success is worth; None where the threat says nothing about gains.
    """

    number: int
    label: str
    taken_for: str
    cost: int
    items: tuple[Item, ...]
    attack: str
    worth: int | None


@dataclass(frozen=True)
class ColumnPrice:
    """How much evasion rests on a column.

    Attributes:
        column: its name.
        rows: rows whose cheapest evasion pays for a change of it.
        paid: the prices paid for it, summed up.
        stopped: of these rows, those with no other evasion among those found that leaves the column alone.
    """

    column: str
    rows: int
    paid: int
    stopped: int


@dataclass(frozen=True)
class Loss:
    """What the owner of the model loses at a budget, over the rows that were drawn.

    Attributes:
        budget: of the attacker.
        evaded: the worth of rows that were caught before and are broken within the budget.
        missed: the worth of rows of the same classes that were wrong before any attack.
        total: the worth of all rows of these classes.
    """

    budget: int
    evaded: int
    missed: int
    total: int

    @property
    def share(self) -> float:
        """What is lost, missed or evaded, of all."""
        return (int(self.evaded) + int(self.missed)) / max(1, int(self.total))


@dataclass(frozen=True)
class EvasionBills:
    """Everything about the price of evading one victim."""

    unit: Unit
    bills: tuple[Bill, ...]
    attacked: int
    columns: tuple[ColumnPrice, ...]
    losses: tuple[Loss, ...]

    @property
    def curve(self) -> list[tuple[int, int]]:
        """(cost, rows that fall for at most this), at every cost that occurs."""
        costs = np.sort([int(bill.cost) for bill in self.bills])
        return [(amount_of(int(cost), self.unit), int((costs <= cost).sum())) for cost in np.unique(costs)]

    @property
    def median(self) -> int | None:
        """The price at which half of the broken rows fall."""
        if not self.bills:
            return None
        costs = sorted(int(bill.cost) for bill in self.bills)
        return amount_of(costs[(len(costs) - 1) // 2], self.unit)


def evasion_bills(results: ResultSet, victim: str) -> EvasionBills | None:
    """The bills of one victim; None where changes have no prices."""
    rules, unit = results.rules, results.unit
    if rules is None or unit is None:
        return None
    clean = results.clean_ids()
    runs = [run for run in results.select(victim=victim) if len(run)]
    found = [_evasions(run, clean, rules) for run in runs]
    worth = rules.worth(torch.from_numpy(clean))
    cheapest: dict[int, tuple[int, int, int]] = {}  # place -> cost, run, row of the run
    for number, (rows, costs, _) in enumerate(found):
        for row, cost in zip(rows.tolist(), costs.tolist(), strict=True):
            place = int(runs[number].place[row])
            cheapest[place] = min(cheapest.get(place, (cost, number, row)), (cost, number, row))
    bills = tuple(
        _bill(results, runs[number], row, clean, rules, None if worth is None else int(worth[place]))
        for place, (_, number, row) in sorted(cheapest.items(), key=lambda entry: (entry[1][0], entry[0]))
    )
    attacked = {int(place) for run in runs for place in run.place[run.attacked]}
    return EvasionBills(
        unit,
        bills,
        len(attacked),
        _columns(results, runs, found, cheapest, unit),
        _losses(results, runs, cheapest, worth, unit),
    )


def _evasions(
    run: RunRows, clean: Int64[np.ndarray, "places features"], rules: Rules
) -> tuple[Int64[np.ndarray, "broken"], Int64[np.ndarray, "broken"], Int64[np.ndarray, "broken features"]]:
    """The broken rows of a run, what each cost, and their bills."""
    rows = run.broken.nonzero()[0]
    before = clean[run.place[rows]]
    bill = rules.bill(torch.from_numpy(before), torch.from_numpy(_written(run, rows, before))).numpy()
    return rows, bill.sum(1), bill


def _written(
    run: RunRows, rows: Int64[np.ndarray, "some"], before: Int64[np.ndarray, "some features"]
) -> Int64[np.ndarray, "some features"]:
    after, found = before.copy(), run.changes.take(rows)
    after[np.repeat(np.arange(len(rows)), found.counts), found.keys] = found.values
    return after


def _bill(
    results: ResultSet,
    run: RunRows,
    row: int,
    clean: Int64[np.ndarray, "places features"],
    rules: Rules,
    worth: int | None,
) -> Bill:
    place, unit = int(run.place[row]), results.unit
    before = clean[place][None]
    prices = rules.bill(torch.from_numpy(before), torch.from_numpy(_written(run, np.array([row]), before)))[0]
    written = run.changes.take(np.array([row]))
    items = [
        Item(
            results.schema.features[feature].name,
            results.schema.features[feature].categories[before[0, feature]],
            results.schema.features[feature].categories[value],
            amount_of(int(prices[feature]), unit),
        )
        for feature, value in zip(written.keys.tolist(), written.values.tolist(), strict=True)
    ]
    return Bill(
        number=results.numbers[place],
        label=results.schema.classes[results.labels[place]],
        taken_for=results.schema.classes[int(run.predicted[row])],
        cost=amount_of(int(prices.sum()), unit),
        items=tuple(sorted(items, key=lambda item: -int(item.price))),
        attack=run.facts.attack,
        worth=None if worth is None else amount_of(worth, unit),
    )


def _columns(
    results: ResultSet,
    runs: list[RunRows],
    found: list[tuple[Int64[np.ndarray, "_"], Int64[np.ndarray, "_"], Int64[np.ndarray, "_ _"]]],
    cheapest: dict[int, tuple[int, int, int]],
    unit: Unit,
) -> tuple[ColumnPrice, ...]:
    """The columns that cheapest evasions pay for, those that stop most rows first."""
    features = len(results.schema.features)
    free = {place: np.zeros(features, dtype=np.bool_) for place in cheapest}  # an evasion that leaves the column alone
    paid, users = np.zeros(features, dtype=np.int64), np.zeros(features, dtype=np.int64)
    stopped = np.zeros(features, dtype=np.int64)
    bill_of: dict[tuple[int, int], Int64[np.ndarray, "_"]] = {}
    for number, (rows, _, bills) in enumerate(found):
        for row, bill in zip(rows.tolist(), bills, strict=True):
            free[int(runs[number].place[row])] |= bill == 0
            bill_of[number, row] = bill
    for place, (_, number, row) in cheapest.items():
        bill = bill_of[number, row]
        users += bill > 0
        paid += bill
        stopped += (bill > 0) & ~free[place]
    order = sorted(np.flatnonzero(users).tolist(), key=lambda i: (-stopped[i], -users[i], i))
    return tuple(
        ColumnPrice(results.schema.features[i].name, int(users[i]), amount_of(int(paid[i]), unit), int(stopped[i]))
        for i in order
    )


def _attacked_classes(results: ResultSet, runs: list[RunRows]) -> set[int]:
    """The classes that the goal is about; where it is not known, those of attacked rows.

    A class counts whether or not its rows could be attacked: what stays with the owner is a part of the whole.
    """
    if results.aim is not None:
        return set(results.aim.winning(results.schema).any(1).nonzero()[:, 0].tolist())
    if not results.goal:
        return set(range(len(results.schema.classes)))
    return {results.labels[place] for run in runs for place in run.place[run.attacked]}


def _losses(
    results: ResultSet,
    runs: list[RunRows],
    cheapest: dict[int, tuple[int, int, int]],
    worth: torch.Tensor | None,
    unit: Unit,
) -> tuple[Loss, ...]:
    """What the owner loses at each budget: rows of the classes that an attacker attacks, weighed by what they gain."""
    if worth is None:
        return ()
    classes = _attacked_classes(results, runs)
    seen = {int(place) for run in runs for place in run.place if results.labels[place] in classes}
    wrong = {int(place) for run in runs for place in run.place[~run.correct]} & seen
    missed, total = (sum(int(worth[place]) for place in places) for places in (wrong, seen))
    return tuple(
        Loss(
            budget,
            amount_of(sum(int(worth[p]) for p, (cost, _, _) in cheapest.items() if cost <= int(budget)), unit),
            amount_of(missed, unit),
            amount_of(total, unit),
        )
        for budget in results.budgets
    )
