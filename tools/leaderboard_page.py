"""The leaderboard's page from its records; see leaderboard.py."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from hammingbox.errors import FileError
from hammingbox.evaluation.rates import Rate
from hammingbox.studies.paired_tests import flip_test

BEGIN, END = "<!-- made by tools/leaderboard.py: begin -->", "<!-- made by tools/leaderboard.py: end -->"
LEVEL = 0.05
"""Below this p-value of McNemar's test one victim counts as better than another."""

Victim = dict[str, Any]


def mcnemar(first: str, second: str) -> float:
    """The two-sided p-value of McNemar's exact test for two lists of outcomes on the same rows."""
    wrong = [np.array([letter in "wx" for letter in outcomes], dtype=np.int64) for outcomes in (first, second)]
    return flip_test(wrong[0] - wrong[1])  # with one training per victim the sign flip is McNemar's test


def error_of(outcomes: str) -> Rate:
    """Rows that are wrong with or without the attack, over all rows."""
    return Rate(outcomes.count("w") + outcomes.count("x"), len(outcomes))


def ranks(victims: Sequence[Victim], budget: int) -> dict[str, int]:
    """Ranks by error, shared by victims that McNemar's test cannot separate from the best one of the rank.

    A larger error never has a better rank, although the test alone is not transitive.
    """
    ordered = sorted(victims, key=lambda victim: error_of(_outcomes(victim, budget)).hits)
    found: dict[str, int] = {}
    best, rank = "", 1
    for place, victim in enumerate(ordered, 1):
        own = _outcomes(victim, budget)
        if place == 1 or mcnemar(best, own) < LEVEL:
            best, rank = own, place
        found[victim["name"]] = rank
    return found


def mean_error(victim: Victim) -> float:
    """The error averaged over budgets, by which lines are sorted."""
    return fmean(error_of(run["outcomes"]).value for run in victim["runs"])


def by_class(outcomes: str, letters: str, labels: str) -> list[Rate]:
    """The share of rows with one of some letters, class by class."""
    numbers = [int(label) for label in labels.split()]
    return [
        Rate(sum(a in letters for a, b in zip(outcomes, numbers, strict=True) if b == each), numbers.count(each))
        for each in range(max(numbers) + 1)
    ]


def constant(facts: Mapping[str, Any]) -> tuple[str, Rate]:
    """The best constant answer, and its error at every budget."""
    counts = Counter(int(label) for label in facts["labels"].split())
    answer, hits = counts.most_common(1)[0]
    return facts["classes"][answer], Rate(facts["rows"] - hits, facts["rows"])


def is_ranked(victim: Victim, facts: Mapping[str, Any]) -> bool:
    """Whether a victim's clean error is below that of the best constant answer, which no attack can break."""
    outcomes = str(victim["runs"][0]["outcomes"])
    return Rate(outcomes.count("w"), len(outcomes)).interval[1] < constant(facts)[1].value


def sorted_victims(records: Mapping[str, Any], source: str) -> list[Victim]:
    """The victims of a data set, best first; those without a rank come last."""
    facts = records["data"][source]
    found = [victim for victim in records["victims"] if _source(victim) == source]
    return sorted(found, key=lambda victim: (not is_ranked(victim, facts), mean_error(victim)))


def table(records: Mapping[str, Any], source: str) -> list[str]:
    """The lines of a data set's table, best victim first, then the best constant answer and what is no better."""
    budgets, facts, victims = records["budgets"], records["data"][source], sorted_victims(records, source)
    proven = [b for b in budgets if any("p" in _outcomes(victim, b) for victim in victims)]
    ranked = [victim for victim in victims if is_ranked(victim, facts)]
    places = {budget: ranks(ranked, budget) for budget in budgets}
    head = [
        "victim", "model", "parameters", "training", "clean error", "worst class",
        *(f"error, budget {b}" for b in budgets),
        f"rank at {', '.join(map(str, budgets))}",
        *(f"certified accuracy, budget {b}" for b in proven),
    ]  # fmt: skip
    answer, floor = constant(facts)
    always = [
        f"always class {answer}", "-", "0", "none", _percent(floor), "100.0", *[_percent(floor)] * len(budgets), "-",
        *[f"{100 - 100 * floor.value:.1f}"] * len(proven),
    ]  # fmt: skip
    lines = [_victim_line(victim, facts, budgets, proven, places) for victim in victims]
    lines.insert(len(ranked), _line(always))
    return [_line(head), _line(["---"] * 2 + ["---:"] + ["---"] + ["---:"] * (len(head) - 4)), *lines]


def _victim_line(
    victim: Victim,
    facts: Mapping[str, Any],
    budgets: Sequence[int],
    proven: Sequence[int],
    places: Mapping[int, Mapping[str, int]],
) -> str:
    name, first = victim["name"], _outcomes(victim, budgets[0])
    worst = max(rate.value for rate in by_class(first, "w", facts["labels"]))
    certified = (Rate(_outcomes(victim, budget).count("p"), len(first)) for budget in proven)
    cells = [
        f"`{name}`", victim["model"], f"{victim['parameters']:,}",
        f"[{_training(victim['training'])}](#{_anchor(name)})",
        _percent(Rate(first.count("w"), len(first))), f"{100 * worst:.1f}",
        *(_percent(error_of(_outcomes(victim, budget))) for budget in budgets),
        ", ".join(str(places[budget].get(name, "-")) for budget in budgets),
        *(f"{100 * rate.value:.1f}" for rate in certified),
    ]  # fmt: skip
    return _line(cells)


def generated(records: Mapping[str, Any]) -> str:
    """The part of the page that follows from the records."""
    if not records["victims"]:
        return "No victim has been evaluated yet."
    parts = []
    for source, facts in records["data"].items():
        whole = "all" if facts["rows"] == facts["of"] else f"the first {facts['rows']} of"
        parts += [
            f"## {source.capitalize()}",
            f"Error in % of {whole} {facts['of']} test rows, with the 95 % interval over rows. Attack: "
            f"`{records['attack']}`, seed {records['seed']}. Allowed changes: {facts['space']}.",
            "\n".join(table(records, source)),
            "One line again, here the first one, with the same rows and seed:",
            f"```sh\n{_command(sorted_victims(records, source)[0]['name'], records)}\n```",
        ]
    parts += [
        f"All {records['verified']:,} adversarial rows were verified from disk. Records: "
        f"`results/leaderboard/records.json`, made by `{records['command']}` with hammingbox "
        f"{records['hammingbox']} and torch {records['torch']}; they list every row's outcome.",
        "## How the victims were trained",
        "`hammingbox victims NAME` prints the whole record, with every epoch.",
    ]
    parts += [_details(victim, records) for victim in sorted(records["victims"], key=lambda v: v["name"])]
    return "\n\n".join(parts)


def page(text: str, records: Mapping[str, Any]) -> str:
    """The page with its generated part replaced.

    Raises:
        FileError: the page has lost its marks.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise FileError(f"expected the marks {BEGIN!r} and {END!r} in the page, got none. Restore them.")
    return f"{before}{BEGIN}\n\n{generated(records)}\n\n{END}{after}"


def _details(victim: Victim, records: Mapping[str, Any]) -> str:
    training, name, data = victim["training"], victim["name"], records["data"][_source(victim)]
    config = training.get("config", {})
    origin = training.get("origin", {})
    facts = {
        "model": f"`{victim['model']}`, {victim['parameters']:,} parameters",
        "settings of the model": victim["settings"] or "default",
        "defence": f"`{training.get('defence')}`",
        "trained against": f"{training['budget']} changes" if training.get("budget") else "no changes",
        "started from": origin.get("start"),
        "training rows, epochs (kept)": (
            f"{training.get('train_rows')}, {training.get('epochs')} ({training.get('best_epoch')})"
        ),
        "training seed": config.get("seed"),
        "made by": f"`{origin['command']}`, line {origin['label']!r}" if "command" in origin else None,
        "error by class (clean; budgets)": _classes(victim, data, records["budgets"]),
        "weights": f"`{victim['victim_sha256'][:16]}`",
        "command": f"`{_command(name, records)}`",
    }
    lines = [f"- {key}: {value}" for key, value in facts.items() if value is not None]
    return f"### {name} {{ #{_anchor(name)} }}\n\n" + "\n".join(lines)


def _classes(victim: Victim, data: Mapping[str, Any], budgets: Sequence[int]) -> str:
    columns = [by_class(_outcomes(victim, budgets[0]), "w", data["labels"])]
    columns += [by_class(_outcomes(victim, budget), "wx", data["labels"]) for budget in budgets]
    return "; ".join(
        f"{name} ({rates[0].rows} rows) " + ", ".join(f"{100 * rate.value:.1f}" for rate in rates)
        for name, *rates in zip(data["classes"], *columns, strict=True)
    )


def _training(training: Mapping[str, Any]) -> str:
    defence = str(training.get("defence") or "Standard()").partition("(")[0]
    return f"{defence}, budget {training['budget']}" if training.get("budget") else defence


def _command(name: str, records: Mapping[str, Any]) -> str:
    source, budgets = name.partition("/")[0], records["budgets"]
    listed = f"{budgets[0]}-{budgets[-1]}" if len(budgets) > 1 else str(budgets[0])
    return (
        f"hammingbox compare {source} {name} --attacks {records['attack']} --budgets {listed} "
        f"--rows {records['data'][source]['rows']} --seed {records['seed']}"
    )


def _outcomes(victim: Victim, budget: int) -> str:
    return next(str(run["outcomes"]) for run in victim["runs"] if run["budget"] == budget)


def _source(victim: Victim) -> str:
    return str(victim["name"]).partition("/")[0]


def _anchor(name: str) -> str:
    return name.replace("/", "-")


def _percent(rate: Rate) -> str:
    low, high = rate.interval
    return f"{100 * rate.value:.1f} ({100 * low:.1f}-{100 * high:.1f})"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
