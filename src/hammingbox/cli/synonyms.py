"""`hammingbox synonyms`: what may replace a word, and why."""

from dataclasses import asdict
from typing import Annotated

import typer

from hammingbox.cli.console import plain, print_json, say
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
        say(f"[bold]{plain(word)}[/] is never changed: {found.kept}")
    elif not found.uses:
        say(f"[bold]{plain(word)}[/] has no synonyms in {plain(table.source)}")
    for use in found.uses:
        taken = ", ".join(use.synonyms) if use.synonyms and found.kept is None else "nothing"
        say(f"[bold]{plain(word)}[/] as {plain(use.form)} ({use.tag}) may become: [green]{plain(taken)}[/]")
        for candidate, reason in use.refused.items():
            say(plain(f"  not {candidate}: {reason}"))
