"""Measures the strong attacks: success, passes and CPU seconds on Splice, on trees, and on the authors' IPS LSTM.

Run with `make bench`, or `python benchmarks/attacks.py`, or name parts: white_box, black_box, ips, paper. The part
on IPS needs HAMMINGBOX_DATA to name a folder with ips/ips_test.csv and ips/victim.safetensors. Times are CPU seconds of
this process, compared as ratios within one run.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from splice_victim import right_rows, space, splits, victim

from hammingbox import ATTACKS, PCAA, Attack, BlackBox, Dataset, FullSpace, Space, ThreatModel, Victim, evaluate
from hammingbox.attacks import Auto, Exhaustive
from hammingbox.attacks._search.incumbent import Incumbent
from hammingbox.evaluation.accuracy import correctly_classified

BUDGETS = (1, 2, 3, 4, 5)
QUERIES = 1000
BLACK_BOX = ("genetic", "evolution", "local", "sparse_rs", "pcaa_blackbox")
PAPER_PCAA_PASSES = 2 * PCAA.paper().steps * PCAA.paper().samples
"""Its smallest cost per row: forward and backward passes of the first of its zetas."""


@dataclass(frozen=True)
class Measurement:
    """One attack at one budget: means over seeds, and the lowest success of a seed.

    `breaks` has a list for each seed: the CPU seconds until one, two, three ... rows were broken.
    """

    success: float
    lowest: float
    passes: float
    seconds: float
    breaks: list[list[float]]

    def seconds_until(self, success: float, rows: int) -> float:
        """Mean seconds until this percentage of the rows was broken; infinite if a seed never reached it."""
        needed = int(np.ceil(success * rows / 100 - 1e-9))
        return float(np.mean([breaks[needed - 1] if len(breaks) >= needed else np.inf for breaks in self.breaks]))

    def __str__(self) -> str:
        return f"{self.success:6.2f} {self.passes:7.0f}p {self.seconds:6.2f}s"


@dataclass(frozen=True)
class Target:
    """A victim, rows that it classifies correctly, and S(x)."""

    title: str
    victim: Victim
    rows: Dataset
    space: Space
    seeds: tuple[int, ...] = (0, 1, 2)

    def measure(self, attack: Attack, budget: int) -> Measurement:
        """Attacks all rows once per seed."""
        found, breaks = [], []
        for seed in self.seeds:
            with watched() as broken:
                begin = process_time()
                result = evaluate(self.victim, self.rows, ThreatModel(self.space, budget), attack, seed=seed)
                seconds = process_time() - begin
            breaks.append([moment - begin for moment in broken])
            passes = int(result.rows.forward.sum() + result.rows.backward.sum()) / len(self.rows)
            found.append((100 * result.success_rate.value, passes, seconds))
        success, passes, seconds = (float(np.mean(column)) for column in zip(*found, strict=True))
        return Measurement(success, min(row[0] for row in found), passes, seconds, breaks)

    def table(self, attacks: dict[str, Attack], budgets: tuple[int, ...]) -> dict[tuple[str, int], Measurement]:
        """Measures, prints and returns every attack at every budget."""
        say(f"\n{self.title}: {len(self.rows)} rows; success in %, passes per row, CPU seconds; seeds {self.seeds}")
        cells = {}
        for name, attack in attacks.items():
            for budget in budgets:
                cells[name, budget] = self.measure(attack, budget)
            say(f"  {name:13s} " + " | ".join(str(cells[name, budget]) for budget in budgets))
        return cells


@contextmanager
def watched() -> Iterator[list[float]]:
    """Collects the time at which each row is broken (all rows are attacked in one batch)."""
    moments: list[float] = []

    def watched_by(offer: Callable[..., None]) -> Callable[..., None]:
        def watch(best: Incumbent, *points: Any) -> None:
            offer(best, *points)
            moments.extend([process_time()] * (int(best.fooled.sum()) - len(moments)))

        return watch

    # Searches have two ways to hand over points.
    with (
        patch.object(Incumbent, "offer", watched_by(Incumbent.offer)),
        patch.object(Incumbent, "offer_lists", watched_by(Incumbent.offer_lists)),
    ):
        yield moments


def say(text: str) -> None:
    print(text, flush=True)


def verdict(name: str, met: bool, figure: str) -> None:
    say(f"  {'met   ' if met else 'MISSED'}  {name}: {figure}")


def compare_white_box(
    target: Target, names: tuple[str, ...], budgets: tuple[int, ...]
) -> dict[tuple[str, int], Measurement]:
    cells = target.table({name: ATTACKS[name]() for name in names}, budgets)
    below = [(n, b) for n, b in cells if n != "auto" and cells["auto", b].lowest < cells[n, b].success]
    verdict("auto at least as successful as every other attack", not below, f"below: {below or 'none'}")
    share = max(cells["auto", b].passes for b in budgets) / PAPER_PCAA_PASSES
    verdict("auto at most 1/5 of the paper-setting PCAA's passes", share <= 0.2, f"{share:.5f} of its first zeta alone")
    until = {
        b: round(cells["auto", b].seconds_until(cells["evolution", b].success, len(target.rows)) / evolution, 2)
        for b, evolution in ((b, cells["evolution", b].seconds) for b in budgets)
    }
    whole = {b: round(cells["auto", b].seconds / cells["evolution", b].seconds, 2) for b in budgets}
    verdict(
        "auto reaches evolution's success in half its time", max(until.values()) <= 0.5, f"share of its time {until}"
    )
    verdict("auto finishes all rows in half its time", max(whole.values()) <= 0.5, f"share of its time {whole}")
    later = [b for b in budgets if b > 2]
    ratio = {b: round(cells["swap", b].passes / cells["ga", b].passes, 2) for b in later if ("ga", b) in cells}
    if ratio:
        weaker = [(n, b) for n in ("ga", "sa") for b in later if cells["swap", b].lowest < cells[n, b].success]
        met = not weaker and max(ratio.values()) <= 1 / 3
        verdict(
            "swap at budgets 3..5 like GA and SA at 1/3 of GA's passes", met, f"{ratio}, weaker: {weaker or 'none'}"
        )
    return cells


def oracle(target: Target, white: dict[tuple[str, int], Measurement]) -> None:
    say("\nThe oracle at budget 2")
    rows, threat = target.rows, ThreatModel(target.space, 2)
    plain = evaluate(target.victim, rows, threat, Exhaustive())
    pruned = evaluate(target.victim, rows, threat, Exhaustive(verdict=True))
    cost = [int(result.rows.forward.sum() + result.rows.backward.sum()) for result in (plain, pruned)]
    same = torch.equal(plain.rows.success, pruned.rows.success)
    verdict(
        "pruned at most 1/5 of the passes, same verdicts",
        same and 5 * cost[1] <= cost[0],
        f"{cost[1] / cost[0]:.4f} ({cost[1]:,} / {cost[0]:,}), {same}",
    )
    limit, share = 100 * plain.success_rate.value, white["auto", 2].passes * len(rows) / cost[0]
    met = white["auto", 2].lowest == limit and share <= 1 / 50
    verdict("auto = exhaustive at 1/50 of its passes", met, f"{white['auto', 2].lowest} of {limit} % at {share:.5f}")


def exact_at_one(target: Target, rows: int) -> None:
    few = Target(target.title, target.victim, target.rows.take(slice(0, rows)), target.space, seeds=(0,))
    # A row of IPS has 22,061 single changes, more than the default limit allows.
    plain, auto = few.measure(Exhaustive(max_passes=10**6), 1), few.measure(Auto(), 1)
    met = plain.success == auto.lowest == auto.success
    verdict(f"auto = exhaustive at budget 1, {rows} rows", met, f"{auto} against {plain}")


def curve(target: Target, cells: dict[tuple[str, int], Measurement], budgets: tuple[int, ...]) -> None:
    threat = ThreatModel(target.space, max(budgets))
    result = evaluate(target.victim, target.rows, threat, Auto(minimum=True)).rows
    found = {b: 100 * float((result.success & (result.distance <= b)).double().mean()) for b in budgets}
    lower = {b: round(found[b] - cells["auto", b].success, 2) for b in budgets if found[b] < cells["auto", b].success}
    passes = int(result.forward.sum() + result.backward.sum()) / len(target.rows)
    say(f"  auto(minimum=True), all budgets in one run: {found}, {passes:.0f} passes per row; below auto: {lower or 0}")


def compare_black_box(target: Target) -> None:
    attacks = {name: ATTACKS[name](queries=QUERIES) for name in ("auto", *BLACK_BOX)}
    cells = target.table(attacks, BUDGETS[:4])
    below = [(n, b) for n, b in cells if cells["auto", b].success < cells[n, b].success]
    verdict(f"auto with {QUERIES} queries at least as successful as each", not below, f"below: {below or 'none'}")


def hidden(model: Victim) -> BlackBox:
    """A victim of which only the probabilities are visible."""

    def predict_proba(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.from_numpy(rows)).double().softmax(1).numpy()

    return BlackBox(predict_proba)


def trees() -> Target:
    from xgboost import XGBClassifier

    data, one_hot = splits(), np.eye(5, dtype=np.float32)

    def encode(rows: np.ndarray) -> np.ndarray:
        return one_hot[rows].reshape(len(rows), -1)

    model = XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, random_state=0)
    model.fit(encode(data.train.ids.numpy()), data.train.labels.numpy())
    box = BlackBox(lambda rows: model.predict_proba(encode(rows)))
    return Target("XGBoost on Splice", box, correctly_classified(box, data.test, 100), space())


def ips() -> Target:
    from hammingbox.data.ips import load
    from hammingbox.victims.released import released_victim

    model = released_victim("ips").victim
    test = load().test
    rows = correctly_classified(model, test, 100)
    return Target("The authors' IPS LSTM", model, rows, FullSpace(test.schema), seeds=(0, 1))


def paper(target: Target, rows: int, budget: int) -> None:
    """PCAA in the paper's setting takes minutes per row: a few rows, one seed."""
    few = Target(target.title, target.victim, target.rows.take(slice(0, rows)), target.space, seeds=(0,))
    say(f"\nPCAA in the paper's setting against auto, the first {rows} rows, budget {budget}")
    cells = few.table({"pcaa_paper": PCAA.paper(), "auto": Auto()}, (budget,))
    share = cells["auto", budget].passes / cells["pcaa_paper", budget].passes
    verdict("auto at most 1/5 of its passes", share <= 0.2, f"{share:.5f}")


def splice() -> Target:
    return Target("Splice LSTM", victim().victim, right_rows(), space())


def white_box_part() -> None:
    target = splice()
    names = ("auto", "swap", "guided", "greedy", "beam", "pcaa", "sa", "ga", "gsa", "gga", "hotflip_beam", *BLACK_BOX)
    white = compare_white_box(target, names, BUDGETS)
    exact_at_one(target, len(target.rows))
    curve(target, white, BUDGETS)
    oracle(target, white)


def black_box_part() -> None:
    target = splice()
    compare_black_box(Target("Splice LSTM as a black box", hidden(target.victim), target.rows, target.space))
    compare_black_box(trees())


def ips_part() -> None:
    if "HAMMINGBOX_DATA" not in os.environ:
        return
    target = ips()
    cells = compare_white_box(target, ("auto", "swap", "guided", "pcaa", "evolution", "local", "genetic"), BUDGETS)
    exact_at_one(target, 20)
    curve(target, cells, BUDGETS[1:])


def paper_part() -> None:
    paper(splice(), rows=2, budget=2)


PARTS = {
    "white_box": white_box_part,
    "black_box": black_box_part,
    "ips": ips_part,
    "paper": paper_part,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for part in [name for name in sys.argv[1:] if name in PARTS] or PARTS:
        PARTS[part]()
