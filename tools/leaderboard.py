"""Evaluates the shipped victims and writes the leaderboard from the records.

    python tools/leaderboard.py evaluate     # attacks, verifies, writes results/leaderboard/records.json; it can resume
    python tools/leaderboard.py page         # writes the table of docs/leaderboard.md from the records alone

Every shipped victim is attacked by `auto` at budgets 1, 2 and 3 on all test rows of its data set, with the data set's
own S(x) and seed 0. The records hold what happened to each row and a hash of the weights, so that the page can be
checked against the shipped files.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

import hammingbox
from hammingbox.attacks import ATTACKS
from hammingbox.errors import FileError, HammingboxError
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.files import read_json, sha256, write_bytes
from hammingbox.report.labels import space_in_words
from hammingbox.running.record import evaluate_into
from hammingbox.running.store import open_store, space_digest
from hammingbox.running.tasks import Task
from hammingbox.running.verify_store import verify_store
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "results" / "leaderboard" / "records.json"
PAGE = ROOT / "docs" / "leaderboard.md"
RUNS = ROOT / "runs" / "leaderboard"
ATTACK, BUDGETS, SEED = "auto", (1, 2, 3), 0
BEGIN, END = "<!-- made by tools/leaderboard.py: begin -->", "<!-- made by tools/leaderboard.py: end -->"
LEVEL = 0.05
"""Below this p-value of McNemar's test one victim counts as better than another."""

Victim = dict[str, Any]


def outcomes_of(rows: Rows) -> str:
    """One letter per row: w wrong before, x broken, p proven, o neither."""
    letters = []
    for correct, success, proven in zip(rows.correct, rows.success, rows.proven, strict=True):
        letters.append("w" if not correct else "x" if success else "p" if proven else "o")
    return "".join(letters)


def evaluate(folder: Path, *, rows: int | None = None, budgets: Sequence[int] = BUDGETS) -> dict[str, Any]:
    """Attacks every shipped victim and verifies the results from disk.

    Args:
        folder: for the store; an evaluation that was stopped continues.
        rows: test rows of each data set, the first ones; all by default.
        budgets: changes allowed.

    Raises:
        FileError: a claimed row does not hold.
    """
    attack = ATTACKS[ATTACK]()
    data: dict[str, Any] = {}
    victims: list[Victim] = []
    with open_store(folder, create=True) as store:
        for name in shipped.shipped_names():
            source = name.partition("/")[0]
            task, checkpoint = Task.of(source), load_checkpoint(shipped.FILES / name)
            part = task.part("test", rows or len(task.splits.test))
            space = task.space()
            data[source] = {
                "rows": len(part),
                "of": len(task.splits.test),
                "numbers": " ".join(map(str, part.numbers.tolist())),
                "rows_sha256": part.digest,
                "space": space_in_words(space.to_json()),
                "space_sha256": space_digest(space),
            }
            runs = []
            for budget in budgets:
                print(f"{name}, budget {budget}", file=sys.stderr, flush=True)
                found = evaluate_into(
                    store, checkpoint, part, ThreatModel(space, budget), attack, name=ATTACK, place=name,
                    source=source, seed=SEED,
                )  # fmt: skip
                runs.append({
                    "budget": budget,
                    "outcomes": outcomes_of(found.rows),
                    "adversarial_sha256": sha256(found.rows.adversarial.contiguous().numpy().tobytes()),
                    "passes": int((found.rows.forward + found.rows.backward).sum()),
                })  # fmt: skip
            victims.append({
                "name": name,
                "model": checkpoint.model,
                "settings": checkpoint.settings,
                "parameters": sum(part.numel() for part in checkpoint.victim.parameters()),
                "victim_sha256": weights_digest(checkpoint.victim),
                "training": {k: v for k, v in checkpoint.training.items() if k != "history"},
                "runs": runs,
            })  # fmt: skip
    checked = verify_store(folder) if victims else None
    if checked is not None and not checked.ok:
        raise FileError(f"expected every broken row to hold, got: {checked.problems[0]}.")
    return {
        "command": "python tools/leaderboard.py evaluate",
        "hammingbox": hammingbox.__version__,
        "torch": torch.__version__,
        "attack": ATTACK,
        "settings": repr(attack),
        "seed": SEED,
        "budgets": list(budgets),
        "verified": 0 if checked is None else checked.confirmed,
        "data": data,
        "victims": victims,
    }


def mcnemar(first: str, second: str) -> float:
    """The two-sided p-value of McNemar's exact test for two lists of outcomes on the same rows."""
    pairs = [(a in "wx", b in "wx") for a, b in zip(first, second, strict=True)]
    only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
    n = only_first + only_second
    tail = sum(comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**n)


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


def table(records: Mapping[str, Any], source: str) -> list[str]:
    """The lines of a data set's table, best victim first."""
    budgets = records["budgets"]
    victims = sorted((v for v in records["victims"] if _source(v) == source), key=mean_error)
    proven = [b for b in budgets if any("p" in _outcomes(victim, b) for victim in victims)]
    places = {budget: ranks(victims, budget) for budget in budgets}
    head = [
        "victim", "model", "parameters", "training", "clean error",
        *(f"error, budget {b}" for b in budgets),
        f"rank at {', '.join(map(str, budgets))}",
        *(f"certified accuracy, budget {b}" for b in proven),
    ]  # fmt: skip
    lines = [_line(head), _line(["---"] * 2 + ["---:"] + ["---"] + ["---:"] * (len(head) - 4))]
    for victim in victims:
        name = victim["name"]
        clean = Rate(_outcomes(victim, budgets[0]).count("w"), len(_outcomes(victim, budgets[0])))
        certified = (Rate(_outcomes(victim, budget).count("p"), len(_outcomes(victim, budget))) for budget in proven)
        cells = [
            f"`{name}`", victim["model"], f"{victim['parameters']:,}",
            f"[{_training(victim['training'])}](#{_anchor(name)})",
            _percent(clean),
            *(_percent(error_of(_outcomes(victim, budget))) for budget in budgets),
            ", ".join(str(places[budget][name]) for budget in budgets),
            *(f"{100 * rate.value:.1f}" for rate in certified),
        ]  # fmt: skip
        lines.append(_line(cells))
    return lines


def generated(records: Mapping[str, Any]) -> str:
    """The part of the page that follows from the records."""
    if not records["victims"]:
        return "No victim has been evaluated yet."
    parts = []
    for source, facts in records["data"].items():
        budgets = records["budgets"]
        whole = "all" if facts["rows"] == facts["of"] else f"the first {facts['rows']} of"
        parts += [
            f"## {source.capitalize()}",
            f"Error in % of {whole} {facts['of']} test rows, with the 95 % interval over rows. Attack: "
            f"`{records['attack']}`, seed {records['seed']}. Allowed changes: {facts['space']}.",
            "\n".join(table(records, source)),
            "One line again, here the first one, with the same rows and seed:",
            f"```sh\n{_command(sorted_names(records, source)[0], facts['rows'], budgets)}\n```",
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


def sorted_names(records: Mapping[str, Any], source: str) -> list[str]:
    """The victims of a data set, best first."""
    return [v["name"] for v in sorted((v for v in records["victims"] if _source(v) == source), key=mean_error)]


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
    training, name = victim["training"], victim["name"]
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
        "weights": f"`{victim['victim_sha256'][:16]}`",
        "command": f"`{_command(name, records['data'][_source(victim)]['rows'], records['budgets'])}`",
    }
    lines = [f"- {key}: {value}" for key, value in facts.items() if value is not None]
    return f"### {name} {{ #{_anchor(name)} }}\n\n" + "\n".join(lines)


def _training(training: Mapping[str, Any]) -> str:
    defence = str(training.get("defence") or "Standard()").partition("(")[0]
    return f"{defence}, budget {training['budget']}" if training.get("budget") else defence


def _command(name: str, rows: int, budgets: Sequence[int]) -> str:
    listed = f"{budgets[0]}-{budgets[-1]}" if len(budgets) > 1 else str(budgets[0])
    source = name.partition("/")[0]
    return f"hammingbox compare {source} {name} --attacks {ATTACK} --budgets {listed} --rows {rows} --seed {SEED}"


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


def main() -> None:
    """Evaluates, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("evaluate", "page"))
    parser.add_argument("--rows", type=int, help="test rows of each data set; all by default")
    parser.add_argument("--out", type=Path, default=RUNS, help="folder of the store")
    given = parser.parse_args()
    try:
        if given.step == "evaluate":
            torch.set_num_threads(1)
            records = evaluate(given.out, rows=given.rows)
            write_bytes(RECORDS, (json.dumps(records, indent=1, ensure_ascii=False) + "\n").encode())
        else:
            write_bytes(PAGE, page(PAGE.read_text(), read_json(RECORDS)).encode())
    except HammingboxError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
