"""`hammingbox synonyms`: what may replace a word, and why."""

from dataclasses import asdict
from typing import Annotated

import typer

from hammingbox.cli.console import out, print_json
from hammingbox.cli.options import Json, Neighbours, Protect
from hammingbox.text.substitution import Substitution
from hammingbox.text.synonyms import read_neighbours, wordnet_table
from hammingbox.text.tagger import default_tagger


def synonyms(
    word: Annotated[str, typer.Argument(help="A word as it stands in a text.")],
    protect: Protect = None,
    neighbours: Neighbours = None,
    json: Json = False,
) -> None:
    """Shows what may replace a word in each of its uses, what may not, and why."""
    table = wordnet_table() if neighbours is None else read_neighbours(neighbours)
    rules = Substitution(table, default_tagger(), frozenset(w.lower() for w in protect or ()))
    found = rules.explain(word)
    if json:
        print_json(asdict(found))
        return
    if found.kept is not None:
        out.print(f"[bold]{word}[/] is never changed: {found.kept}")
    elif not found.uses:
        out.print(f"[bold]{word}[/] has no synonyms in {table.source}")
    for use in found.uses:
        taken = ", ".join(use.synonyms) if use.synonyms and found.kept is None else "nothing"
        out.print(f"[bold]{word}[/] as {use.form} ({use.tag}) may become: [green]{taken}[/]")
        for candidate, reason in use.refused.items():
            out.print(f"  not {candidate}: {reason}", highlight=False)
