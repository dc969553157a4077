"""Your own texts: train a small model, attack it with synonyms and print the changes.

python examples/own_text.py reviews.csv      # a CSV file with the columns text and label
python examples/own_text.py                  # without a file: generated reviews
"""

import csv
import sys
from itertools import product
from pathlib import Path

import torch

from hammingbox.attacks import PCAA
from hammingbox.data.texts import Labelled, text_splits
from hammingbox.running.evaluate import evaluate
from hammingbox.text.render import changed_text
from hammingbox.threat.synonym_space import SynonymSpace
from hammingbox.threat.threat_model import ThreatModel
from hammingbox.training.config import TrainConfig
from hammingbox.training.loop import fit
from hammingbox.victims.zoo.registry import build


def generated() -> list[tuple[str, str]]:
    """Reviews in which words without an opinion also reveal the class, a shortcut that the model learns."""
    words = {"bad": ("awful", "boring", "sad", "film", "seems"), "good": ("great", "fine", "funny", "movie", "looks")}
    frame = "{0} and {1}!<br />I saw this {2} {3} with Grace. The story {4} {1}, and it's one {2} {3}."
    return [(frame.format(*w, *words[c][3:]), c) for c in words for w in product((*words[c][:3], "long"), repeat=3)]


def main(arguments: list[str]) -> None:
    torch.set_num_threads(1)
    if arguments:
        with Path(arguments[0]).open(newline="", encoding="utf-8") as file:
            rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    else:
        rows = generated()
    classes = sorted({label for _, label in rows})
    texts = [Labelled(text, classes.index(label)) for text, label in rows]
    train, test = [t for i, t in enumerate(texts) if i % 4], texts[::4]

    splits = text_splits(train, test, classes, length=64, size=5_000, name="own text")
    victim = build("word_cnn", splits.schema, dim=16, channels=16)
    fit(victim, splits, TrainConfig(epochs=5, batch_size=16, learning_rate=1e-2))

    space = SynonymSpace(splits.schema, protected=["story"])  # words that must not change
    result = evaluate(victim, splits.test, ThreatModel(space, budget=2), PCAA(), seed=0)
    print(f"{result.accuracy.hits} of {len(test)} right, {result.success_rate.hits} of them broken by two synonyms")
    for row in result.rows.success.nonzero()[:5, 0].tolist():
        text = test[int(result.rows.numbers[row])].text
        changed = changed_text(
            space.vocabulary, text, result.rows.clean[row].tolist(), result.rows.adversarial[row].tolist()
        )
        print(f"{classes[int(result.rows.labels[row])]}: {changed.marked()}")


if __name__ == "__main__":
    main(sys.argv[1:])
