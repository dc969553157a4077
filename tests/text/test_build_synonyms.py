"""The tool that makes the synonym table, on a WordNet of a few words."""

import gzip
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "build_synonyms.py"

DATA = {
    "noun": [
        "01 00 n 02 film 0 movie 0 000 | seen in cinemas",
        "02 00 n 02 film 0 Kodak 0 000 | a name",
        "03 00 n 01 movie 0 000 | x",
    ],
    "verb": ["11 00 v 02 look 0 appear 0 000 01 + 01 00 | seem", "12 00 v 02 look 0 look_at 0 000 01 + 01 00 | see"],
    "adj": ["21 00 a 01 good 0 001 & 22 s 0000 | fine", "22 00 s 02 great 0 not_bad 0 001 & 21 a 0000 | very"],
    "adv": ["31 00 r 02 really 0 truly 0 000 | in truth"],
}
INDEX = {
    "noun": ["film n 2 0 2 0 01 02", "movie n 2 0 2 0 01 03", "kodak n 1 0 1 0 02"],
    "verb": ["look v 2 0 2 0 11 12", "appear v 1 0 1 0 11", "look_at v 1 0 1 0 12"],
    "adj": ["good a 1 0 1 0 21", "great a 1 0 1 0 22", "not_bad a 1 0 1 0 22"],
    "adv": ["really r 1 0 1 0 31", "truly r 1 0 1 0 31"],
}


def test_the_tool_inflects_and_drops_names_and_phrases(tmp_path: Path) -> None:
    for name in DATA:
        (tmp_path / f"data.{name}").write_text("  1 licence\n" + "\n".join(DATA[name]))
        (tmp_path / f"index.{name}").write_text("  1 licence\n" + "\n".join(INDEX[name]))
    out = [tmp_path / "one" / "table.gz", tmp_path / "two" / "table.gz"]
    for path in out:
        subprocess.run([sys.executable, TOOL, tmp_path, path], check=True)
    assert out[0].read_bytes() == out[1].read_bytes(), "the same files give the same bytes"
    rows = {tuple(line.split("\t")) for line in gzip.decompress(out[0].read_bytes()).decode().splitlines()}
    assert {
        ("NN", "film", "movie"),
        ("NNS", "movies", "films"),
        ("VBD", "looked", "appeared"),
        ("VBZ", "appears", "looks"),
        ("JJ", "good", "great"),
        ("JJS", "best", "greatest"),
        ("RB", "truly", "really"),
    } <= rows
    assert not any("_" in "".join(row) or "kodak" in "".join(row).lower() for row in rows)
