"""What freezing a column really does: the strongest attack again, with the column frozen.

Recorded rows bound the fall of success from above, see `hammingbox.report.breakdown.what_if`. Here it is measured.
The result is a small file beside the store, because the runs have another S(x) than those of the comparison.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hammingbox.attacks import ATTACKS, attack_named
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.rates import Rate
from hammingbox.files import write_bytes
from hammingbox.report.breakdown import by_feature, what_if
from hammingbox.report.comparison import ComparisonJob
from hammingbox.report.summary import VictimSummary
from hammingbox.running.evaluate import evaluate
from hammingbox.settings import whole_number
from hammingbox.threat.masked_space import MaskedSpace
from hammingbox.threat.space import Space
from hammingbox.threat.space_json import space_from_json
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.victim import Victim

FILE = "what-if.json"


@dataclass(frozen=True)
class MeasuredWhatIf:
    """Success with one column frozen, measured.

    Attributes:
        of: the class whose rows were attacked; "" for all.
        attacks: the attack at each budget.
        now: its success without freezing, at each budget.
        lines: its success with a column frozen, by column and budget.
    """

    of: str
    attacks: Mapping[int, str]
    now: Mapping[int, Rate]
    lines: Mapping[str, Mapping[int, Rate]]

    def to_json(self) -> dict[str, Any]:
        """As it is stored and printed."""
        return {
            "class": self.of,
            "attacks": dict(self.attacks),
            "now": {budget: [rate.hits, rate.rows] for budget, rate in self.now.items()},
            "frozen": {
                name: {budget: [rate.hits, rate.rows] for budget, rate in line.items()}
                for name, line in self.lines.items()
            },
        }

    @staticmethod
    def from_json(value: Any) -> "MeasuredWhatIf":
        """Reads what `to_json` wrote; JSON has made texts of budgets.

        Raises:
            InputError, KeyError, TypeError, ValueError: it is damaged.
        """
        attacks = {int(budget): str(name) for budget, name in value["attacks"].items()}
        lines = {str(name): _rates(line) for name, line in value["frozen"].items()}
        return MeasuredWhatIf(str(value["class"]), attacks, _rates(value["now"]), lines)


def measure_what_if(
    job: ComparisonJob,
    victim: Victim,
    summary: VictimSummary,
    columns: int,
    on_column: Callable[[str], None] = lambda _: None,
) -> MeasuredWhatIf:
    """Attacks the rows of a comparison again, with one of its most telling columns frozen at a time.

    Args:
        job: what was compared.
        victim: borrowed.
        summary: its results.
        columns: how many columns are frozen, one after the other: those whose freezing may help most first.
        on_column: called with each column before it is frozen.

    Raises:
        InputError: the rows have no columns, or S(x) cannot be rebuilt with a frozen column.
    """
    results = summary.results
    if results.form != "columns":
        raise InputError("expected a table for --what-if, got texts or sequences. Their positions are no columns.")
    of = results.positive or ""
    bound, changed = what_if(results, summary.name, of=of), by_feature(results, summary.name)
    ranked = [*(line.name for line in bound.useful), *(line.name for line in changed.lines)]
    names = list(dict.fromkeys(ranked))[:columns]
    rows = job.rows
    if of:
        rows = rows.take(rows.labels.cpu() == job.rows.schema.classes.index(of))
    attacks = {line.budget: line.strongest for line in summary.worst if line.strongest in ATTACKS}

    def attacked(space: Space) -> dict[int, Rate]:
        return {
            budget: evaluate(
                victim, rows, ThreatModel(space, budget), attack_named(attack), goal=job.goal, seed=job.seed,
                batch_size=job.batch_size, memory=job.memory, executor=job.executor,
            ).success_rate
            for budget, attack in attacks.items()
        }  # fmt: skip

    lines = {}
    for name in names:
        on_column(name)
        lines[name] = attacked(frozen(job.space, name))
    return MeasuredWhatIf(of, attacks, attacked(job.space) if names else {}, lines)


def frozen(space: Space, column: str) -> Space:
    """The same S(x), in which a column keeps its value.

    Raises:
        InputError: this kind of space has no columns to freeze.
    """
    document = space.to_json()
    if document.get("kind") == "full":
        return MaskedSpace(space.schema, immutable=[column])
    if "immutable" not in document:
        raise InputError(f"expected a space with columns for --what-if, got one of kind {document.get('kind')!r}.")
    return space_from_json(document | {"immutable": [*(document["immutable"] or ()), column]}, space.schema)


def write_measured(folder: Path, found: Mapping[str, MeasuredWhatIf]) -> None:
    """Writes what was measured on each victim, by the hash of its weights, beside what is there for others."""
    kept = {weights: one.to_json() for weights, one in read_measured(folder).items()}
    text = json.dumps(kept | {weights: one.to_json() for weights, one in found.items()}, ensure_ascii=False, indent=1)
    write_bytes(folder / FILE, text.encode())


def read_measured(folder: Path) -> dict[str, MeasuredWhatIf]:
    """What was measured, by the hash of the victim's weights; nothing where there is no file.

    Raises:
        FileError: the file is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text("utf-8"))
        return {str(weights): MeasuredWhatIf.from_json(one) for weights, one in value.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
        raise FileError(f"expected measured frozen columns in {path}, got a damaged file. Delete it.") from error


def _rates(value: Any) -> dict[int, Rate]:
    found = {}
    for budget, (hits, rows) in value.items():
        rate = Rate(whole_number("rows", hits, least=0), whole_number("rows", rows, least=0))
        if rate.hits > rate.rows:
            raise ValueError("expected at most as many broken rows as attacked ones")
        found[int(budget)] = rate
    return found
