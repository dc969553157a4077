"""What the numbers suggest doing: freeze, monitor, train, certify. Each sentence names the numbers it follows from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hammingbox.evaluation.class_rates import ClassRates
from hammingbox.evaluation.rates import Rate
from hammingbox.report.breakdown import FeatureChanges, WhatIf
from hammingbox.report.measured_what_if import MeasuredWhatIf
from hammingbox.report.summary import VictimSummary
from hammingbox.threat.rules.unit import Unit

Kind = Literal["look first", "freeze", "monitor", "train", "certify"]

_WORTH = 0.05
"""A fall of success below this is not worth freezing a column for."""

_LEAST_ROWS = 3
"""Nor is one that comes from fewer rows than this."""

_LOW_RECALL = 0.5
"""Below this recall a class needs a better model before a more robust one."""

_MANY = 0.1
"""A class of which more than this share of attacked rows falls is worth training for."""

_MOST_FROZEN = 3


@dataclass(frozen=True)
class Recommendation:
    """Something to do, and why."""

    kind: Kind
    text: str


def recommendations(
    summary: VictimSummary, changes: FeatureChanges, frozen: WhatIf, measured: MeasuredWhatIf | None = None
) -> list[Recommendation]:
    """What follows from a victim's numbers, the most urgent first.

    Args:
        summary: its rates.
        changes: what its strongest attack changed.
        frozen: what freezing a column could do at most.
        measured: what it did, if that was measured; it then counts in place of the bound.
    """
    if not summary.worst:
        return []
    smallest = min(summary.classes)
    classes = summary.classes[max(summary.classes)]
    return [
        *_look_first(classes),
        *(_freeze(frozen) if measured is None else _freeze_measured(measured)),
        *_monitor(changes, summary.results.form == "columns"),
        *_train(summary.classes[smallest], smallest, summary.results.unit),
        *_certify(summary),
    ]


def _look_first(classes: ClassRates) -> list[Recommendation]:
    found = []
    if classes.missing:
        found.append(
            Recommendation(
                "look first",
                f"No row of {', '.join(classes.missing)} was attacked: draw rows of every class with --rows-per-class.",
            )
        )
    found += [
        Recommendation(
            "look first",
            f"The model gets only {line.correct:,} of {line.rows:,} {line.name} rows right without any attack, and its "
            "success rate is over those few. Train a better model for this class before a more robust one "
            "(train --class-weights balanced).",
        )
        for line in classes.seen
        if line.recall.value < _LOW_RECALL
    ]
    return found


def _freeze(frozen: WhatIf) -> list[Recommendation]:
    found: list[Recommendation] = []
    whose = f" {frozen.of}" if frozen.of else ""
    for line in frozen.lines:
        budget = _first_worth(frozen.now, line.still)
        if budget is None or len(found) == _MOST_FROZEN:
            continue
        now, then = frozen.now[budget], line.still[budget]
        found.append(
            Recommendation(
                "freeze",
                f"Look at {line.name}: at budget {budget}, {now.hits - then.hits:,} of the {now.hits:,} broken{whose} "
                f"rows were only ever broken by changing it. If an attacker could not write it, success would fall "
                f"from {_percent(now.value)} to {_percent(then.value)} at best; compare --what-if measures how far.",
            )
        )
    return found


def _freeze_measured(measured: MeasuredWhatIf) -> list[Recommendation]:
    found = []
    whose = f" on {measured.of} rows" if measured.of else ""
    for name, line in measured.lines.items():
        budget = _first_worth(measured.now, line)
        if budget is None:
            continue
        now, then, largest = measured.now[budget], line[budget], max(line)
        # At larger budgets an attacker finds other ways: a column that stops one change need not stop three.
        further = f", but {_percent(line[largest].value)} at budget {largest}" if largest > budget else ""
        found.append(
            Recommendation(
                "freeze",
                f"Take {name} from a source that an attacker cannot write, or check it: with it frozen and all rows "
                f"attacked again at budget {budget}, success{whose} is {_percent(then.value)} in place of "
                f"{_percent(now.value)}{further}.",
            )
        )
    return found


def _first_worth(now: Mapping[int, Rate], then: Mapping[int, Rate]) -> int | None:
    """The smallest budget at which a fall is worth something: larger budgets leave an attacker more other ways."""
    for budget in sorted(then):
        fall = now[budget].hits - then[budget].hits
        if fall >= _LEAST_ROWS and fall / then[budget].rows >= _WORTH:
            return budget
    return None


def _monitor(changes: FeatureChanges, has_columns: bool) -> list[Recommendation]:
    if not changes.lines or not has_columns:
        return []
    top, whose = changes.lines[0], f"{changes.of} " if changes.of else ""
    return [
        Recommendation(
            "monitor",
            f"Watch {top.name}: {changes.attack} changes it in {_percent(top.share)} of the {changes.broken:,} {whose}"
            f"rows it breaks at budget {changes.budget}, most often from {top.before} to {top.after}.",
        )
    ]


def _train(classes: ClassRates, budget: int, unit: Unit | None) -> list[Recommendation]:
    worst = max(classes.seen, key=lambda line: line.success.known or 0.0, default=None)
    if worst is None or (worst.success.known or 0.0) <= _MANY:
        return []
    if unit is not None:
        changes = f"changes that cost at most {budget}"
        options = f"--threat threat.toml --budget {unit.amount(max(1, int(budget))).normalize():f}"
    else:
        changes = "one change" if budget == 1 else f"at most {budget} changes"
        options = f"--budget {max(1, budget)}"
    return [
        Recommendation(
            "train",
            f"{worst.success.hits:,} of {worst.success.rows:,} attacked {worst.name} rows fall to {changes}: train a "
            f"model against it (hammingbox defend {options}) and compare both here, with recall beside robustness.",
        )
    ]


def _certify(summary: VictimSummary) -> list[Recommendation]:
    unknown = next((line for line in summary.worst if line.unknown), None)
    if unknown is None:
        return []
    return [
        Recommendation(
            "certify",
            f"At budget {unknown.budget}, {unknown.unknown:,} of {unknown.success.rows:,} attacked rows are neither "
            "broken nor proven: enumerate them where it is affordable (compare --oracle), or certify them. Until then "
            "the true success lies between what is broken and what is not proven.",
        )
    ]


def _percent(value: float) -> str:
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"
