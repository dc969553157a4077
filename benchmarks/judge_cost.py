"""What the judge costs: `evaluate` with its copies and checks, against the same with them switched off.

    python benchmarks/judge_cost.py [--rows 256] [--repeats 7]

Both kinds alternate in one process, so that whatever else the machine does meets both. The ratio is that of the sums of
processor time; the smallest of the repeats is printed too. The victim is the LSTM of the Splice demo, untrained: a pass
costs the same. Switched off are the metered victim, the copy of the problem, the copies of what goes into the victim
and comes out of it, the comparison of its weights, and the clean rows that it is asked about twice.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import process_time
from unittest import mock

import torch

from hammingbox import ATTACKS, Dataset, MaskedSpace, ThreatModel, evaluate
from hammingbox.attacks import judge
from hammingbox.data import splice
from hammingbox.evaluation import attack_rows
from hammingbox.victims.metered import MeteredVictim
from hammingbox.victims.victim import check_logits
from hammingbox.victims.zoo.registry import build


class _Uncounted(MeteredVictim):
    """Passes everything on. It knows the answers to the clean rows as the metered one does: they cost no pass."""

    def answer(self, ids, rows):  # type: ignore[no-untyped-def] # noqa: ARG002
        logits = self._victim()(ids)
        check_logits(logits, len(ids))
        return logits

    def known_answers(self, rows):  # type: ignore[no-untyped-def]
        return self._known()[rows]  # type: ignore[index]

    def soft_answer(self, embedded, ids, rows, samples):  # type: ignore[no-untyped-def] # noqa: ARG002
        logits = self._victim().head(embedded, ids)
        check_logits(logits, len(embedded))
        return logits

    def embed(self, ids):  # type: ignore[no-untyped-def]
        return self._victim().embed(ids)


@contextmanager
def unjudged() -> Iterator[None]:
    """Inside it, attacks run on the judge's own problem and victims on whatever rows they are given."""

    def ask(victim, ids):  # type: ignore[no-untyped-def]
        with torch.no_grad():
            return victim(ids)

    def metered(victim, x, ledger, logits):  # type: ignore[no-untyped-def]
        return _Uncounted(victim, x, ledger, logits)

    with (
        mock.patch.object(judge, "unchanged", return_value=nullcontext()),
        mock.patch.object(judge, "ask", ask),
        mock.patch.object(attack_rows, "ask", ask),
        mock.patch.object(judge, "_copy", lambda problem: problem),
        mock.patch.object(judge, "_metered", metered),
        mock.patch.object(
            judge, "_asked_twice", lambda _rows, device: torch.empty(0, dtype=torch.int64, device=device)
        ),
        mock.patch.object(judge, "_checked", lambda _attack, _what, value, _like: value),
    ):
        yield


def main() -> None:
    """Prints one line per attack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--attacks", default="gga,pcaa")
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = splice.load()
    victim = build("lstm", splits.schema, seed=0)
    ids, _ = splits.train.batch(slice(0, options.rows))
    with torch.no_grad():
        labels = victim.eval()(ids).argmax(1)  # every row is right before, so every row is attacked
    data = Dataset(splits.schema, ids, labels)
    threat = ThreatModel(MaskedSpace(splits.schema, forbidden={"*": ["N"]}), 3)
    for name in options.attacks.split(","):
        attack = ATTACKS[name]()
        times: dict[str, list[float]] = {"judged": [], "not judged": []}
        evaluate(victim, data, threat, attack)
        for repeat in range(options.repeats):
            for kind in ("judged", "not judged") if repeat % 2 else ("not judged", "judged"):
                with nullcontext() if kind == "judged" else unjudged():
                    begin = process_time()
                    evaluate(victim, data, threat, attack)
                    times[kind].append(process_time() - begin)
        with_checks, without = times["judged"], times["not judged"]
        print(
            f"{name}: {sum(with_checks):.2f} s with, {sum(without):.2f} s without, "
            f"ratio {sum(with_checks) / sum(without):.4f} ({min(with_checks) / min(without):.4f} of the smallest)"
        )


if __name__ == "__main__":
    main()
