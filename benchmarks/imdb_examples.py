"""Attacks IMDB test rows with synonyms, audits every adversarial text and prints ten of them, changes marked.

HAMMINGBOX_DATA=... python benchmarks/imdb_examples.py runs/imdb-word_cnn --rows 200 --budget 4
"""

import argparse
from pathlib import Path

import torch

from hammingbox.attacks import ATTACKS
from hammingbox.data import imdb
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.running.evaluate import evaluate
from hammingbox.text.audit import audit
from hammingbox.text.render import ChangedText, changed_text
from hammingbox.text.tagger import default_tagger
from hammingbox.threat.synonym_space import SynonymSpace, counterfitted
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.victims.checkpoint import load_checkpoint

PROTECTED = ("movie", "film", "movies", "films")
"""Words for the subject of these texts; the printed examples keep them."""


def adversarial_texts(result: Evaluation, space: SynonymSpace) -> list[tuple[int, ChangedText]]:
    """(row, text) of every row that was changed."""
    reviews, rows = imdb.texts("test"), result.rows
    return [
        (
            row,
            changed_text(
                space.vocabulary,
                reviews[int(rows.numbers[row])],
                rows.clean[row].tolist(),
                rows.adversarial[row].tolist(),
            ),
        )
        for row in rows.distance.nonzero()[:, 0].tolist()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Adversarial reviews, audited.")
    parser.add_argument("victim", type=Path)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--budget", type=int, default=4)
    parser.add_argument("--attack", choices=sorted(ATTACKS), default="pcaa")
    parser.add_argument("--synonyms", choices=["wordnet", "counterfitted"], default="wordnet")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    splits = imdb.load()
    victim = load_checkpoint(arguments.victim, schema=splits.schema).victim
    table = counterfitted() if arguments.synonyms == "counterfitted" else None
    space = SynonymSpace(splits.schema, table=table, protected=PROTECTED)
    data = splits.test.take(torch.arange(arguments.rows))
    threat = ThreatModel(space, arguments.budget)
    result = evaluate(victim, data, threat, ATTACKS[arguments.attack](), batch_size=50)
    candidates = space.candidates(result.rows.clean)
    texts = adversarial_texts(result, space)
    wrong = [
        line for _, text in texts for line in audit(text.original, text.text, default_tagger(), protected=PROTECTED)
    ]
    changeable = (candidates.counts > 1).sum(1).double().mean()
    print(f"{arguments.rows} test rows, budget {arguments.budget}, {arguments.attack}, synonyms from "
          f"{arguments.synonyms}: {result.accuracy.hits} classified right, {result.success_rate.hits} of them broken, "
          f"{result.seconds:.0f} s; {changeable:.1f} words per row may change")  # fmt: skip
    print(f"changed texts: {len(texts)}, changed words: {sum(len(text.words) for _, text in texts)}, "
          f"rule violations: {len(wrong)}")  # fmt: skip
    for line in wrong:
        print(f"  {line}")
    for label in (1, 0):
        short = sorted(
            (len(text.original), row, text)
            for row, text in texts
            if bool(result.rows.success[row]) and int(result.rows.labels[row]) == label
        )[:5]
        print(f"\n### {imdb.CLASSES[label]}, classified as {imdb.CLASSES[1 - label]}\n")
        for _, row, text in short:
            marked = text.marked("**{new}** ({old})").replace("<br />", " ")
            print(f"- (test row {int(result.rows.numbers[row])}) {marked}")


if __name__ == "__main__":
    main()
