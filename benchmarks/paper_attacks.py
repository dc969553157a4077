"""Measures the paper's attacks on the Splice LSTM: strength, passes, overhead, batching, memory, correctness.

Run with `make bench`, or `python benchmarks/paper_attacks.py`. Times are compared as ratios within this one run.
"""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import torch
from splice_victim import right_rows, space, splits, victim

from hammingbox import ATTACKS, PCAA, Attack, Dataset, Evaluation, ThreatModel, evaluate, verify, write_results
from hammingbox.victims.frozen import frozen_eval

BUDGETS = (1, 2, 3, 4, 5)
TWO_STAGE = ("sa", "ga", "gsa", "gga")
EXACT_BUDGETS = (1, 2)


def say(text: str) -> None:
    print(text, flush=True)


def verdict(name: str, met: bool, figure: str) -> None:
    say(f"  {'met   ' if met else 'MISSED'}  {name}: {figure}")


def run(attack: Attack, budget: int, data: Dataset, *, seed: int = 0, batch_size: int = 256) -> Evaluation:
    return evaluate(victim_model, data, ThreatModel(allowed, budget), attack, seed=seed, batch_size=batch_size)


def training() -> None:
    facts = checkpoint.training
    say("\nVictim: LSTM with attention on Splice")
    verdict("test accuracy at least 95 %", facts["test_accuracy"] >= 0.95, f"{100 * facts['test_accuracy']:.2f} %")
    verdict("trained in under 180 s", facts["seconds"] < 180, f"{facts['seconds']:.0f} s, {facts['epochs']} epochs")


def strength() -> None:
    say(f"\nSuccess in % of {len(rows)} correctly classified test rows; forward/backward passes and seconds per row")
    names = ("pcaa", *TWO_STAGE, "hotflip", "hotflip_beam", "genetic", "random", "exhaustive")
    rate: dict[tuple[str, int], float] = {}
    for name in names:
        cells = []
        for budget in EXACT_BUDGETS if name == "exhaustive" else BUDGETS:
            result = run(ATTACKS[name](), budget, rows)
            rate[name, budget] = 100 * result.success_rate.value
            forward, backward = (int(t.sum()) / len(rows) for t in (result.rows.forward, result.rows.backward))
            cells.append(f"{rate[name, budget]:5.1f} {forward:.0f}/{backward:.0f} {result.seconds / len(rows):.4f}s")
        say(f"  {name:13s} " + "  |  ".join(cells))
    singles = {name: rate[name, 1] for name in ("sa", "ga", "exhaustive")}
    verdict("SA = GA = exhaustive at budget 1", len(set(singles.values())) == 1, str(singles))
    above = [key for key in rate if key[1] in EXACT_BUDGETS and rate[key] > rate["exhaustive", key[1]]]
    verdict("no attack above exhaustive at budgets 1 and 2", not above, str(above or "none"))
    gaps = {b: rate["exhaustive", b] - rate["pcaa", b] for b in EXACT_BUDGETS}
    verdict("PCAA within 5 points of exhaustive", max(gaps.values()) <= 5, f"gaps {gaps}")
    below = [(n, b) for n, b in product(TWO_STAGE, BUDGETS[1:]) if rate["pcaa", b] < rate[n, b]]
    verdict("PCAA never below SA, GA, GSA, GGA at budgets 2..5", not below, str(below or "none"))
    close = [
        (n, b, round(rate["pcaa", b] - rate[n, b], 1))
        for n, b in product(TWO_STAGE, BUDGETS[1:])
        if rate[n, b] < 85 and rate["pcaa", b] - rate[n, b] < 10
    ]
    verdict("10 points above each attack that stays below 85 %", not close, f"closer: {close or 'none'}")


def cost() -> None:
    say("\nPCAA without early stopping: passes by budget, and time against bare passes of the same sizes")
    attack = PCAA(leave=False)
    totals = {}
    for budget in BUDGETS:
        result = run(attack, budget, rows)
        totals[budget] = int(result.rows.forward.sum() + result.rows.backward.sum())
    ratio = max(totals.values()) / min(totals.values())
    verdict("passes at budgets 1..5, largest / smallest at most 1.3", ratio <= 1.3, f"{ratio:.2f} ({totals})")
    attack_time = min(timed(lambda: run(attack, 3, rows)) for _ in range(3))
    bare_time = min(bare() for _ in range(3))
    overhead = attack_time / bare_time
    verdict(
        "time at most 1.25 times the bare passes",
        overhead <= 1.25,
        f"{overhead:.2f} ({attack_time:.2f} / {bare_time:.2f} s)",
    )


def bare() -> float:
    """Seconds for PCAA's passes without PCAA: forward+backward for the steps, forward for the draws."""
    attack = PCAA()
    x, _ = rows.batch(slice(None))
    soft = x.repeat_interleave(attack.samples, 0)
    drawn = x.repeat_interleave(attack.draws, 0)

    def passes() -> None:
        with frozen_eval(victim_model):
            for _ in range(attack.rounds):
                for _ in range(attack.steps):
                    embedded = victim_model.embed(soft).requires_grad_()
                    torch.autograd.grad(victim_model.head(embedded, soft).sum(), embedded)
                with torch.no_grad():
                    for part in drawn.split(512):
                        victim_model(part)

    return timed(passes)


def timed(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def batching() -> None:
    many, few = rows.take(slice(0, 60)), rows.take(slice(0, 5))
    say("\nBatched against one row at a time (60 rows), and against one pass at a time (5 rows); budget 3")
    for name, least in (("pcaa", 10), ("ga", 5)):
        work = partial(evaluate, victim_model, threat=ThreatModel(allowed, 3), attack=ATTACKS[name]())
        work(data=few)  # the first call includes the set-up costs of torch
        by_row = timed(partial(work, data=many, batch_size=1)) / timed(partial(work, data=many))
        by_pass = timed(partial(work, data=few, batch_size=1, memory=1)) / timed(partial(work, data=few))
        verdict(f"{name} at least {least} times faster than row by row", by_row >= least, f"{by_row:.1f}")
        say(f"          than pass by pass, as the paper's released code works: {by_pass:.1f}")


def memory() -> None:
    say("\nMemory: PCAA on 256 rows of 20 features with 1,104 categories, random LSTM of the IPS size")
    code = (
        "import resource, torch\n"
        "from hammingbox import *\n"
        "schema = Schema.sequence(20, map(str, range(1104)), 'abc')\n"
        "victim = build('lstm', schema, dim=70, hidden=70, bidirectional=False).eval()\n"
        "x = torch.randint(1104, (256, 20), generator=torch.Generator().manual_seed(0))\n"
        "PCAA()(victim, x, victim(x).argmax(1), ThreatModel(FullSpace(schema), 3))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)\n"
    )
    peak = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    verdict("peak of the whole process under 3 GiB", peak < 3, f"{peak:.2f} GiB")


def honesty() -> None:
    say("\nEvery adversarial row re-checked from disk; the same rows for batch sizes 1, 7 and 256")
    few = rows.take(slice(0, 12))
    checked = rejected = files = 0
    with TemporaryDirectory() as folder:
        for name, budget, seed in product([n for n in ATTACKS if n != "pcaa_paper"], BUDGETS, (0, 1, 2)):
            if name in ("exhaustive", "oracle") and budget > 1:
                continue
            path = write_results(run(ATTACKS[name](), budget, few, seed=seed), Path(folder) / f"{name}{budget}{seed}")
            found = verify(path, victim_model, data=splits().test)
            checked, rejected, files = checked + found.claimed, rejected + len(found.problems), files + 1
    verdict("rows rejected", rejected == 0, f"{rejected} of {checked:,} adversarial rows in {files} files")
    different, compared = 0, 0
    few = rows.take(slice(0, 20))
    for name, budget in product(("pcaa", "ga", "gsa", "hotflip_beam", "genetic", "random"), (1, 2, 3)):
        one, seven, many = (run(ATTACKS[name](), budget, few, batch_size=size).rows.adversarial for size in (1, 7, 256))
        different += int(((one != many) | (seven != many)).any(1).sum())
        compared += len(few)
    say(f"  rows that differ between batch sizes (floating-point ties): {different} of {compared}")


checkpoint = victim()
victim_model = checkpoint.victim
rows = right_rows()
allowed = space()

if __name__ == "__main__":
    for section in (training, strength, cost, batching, memory, honesty):
        section()
