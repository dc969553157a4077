"""`hammingbox victims`: the trained victims that come with the package."""

import json as json_text
from typing import Annotated, Any

import typer
from rich.table import Table

from hammingbox.cli.completion import one_of
from hammingbox.cli.console import out, plain, print_json, say
from hammingbox.cli.options import Json
from hammingbox.errors import unknown_name
from hammingbox.victims import shipped
from hammingbox.victims.checkpoint import load_checkpoint, weights_digest


def victims(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One victim; all of them without it.", metavar="NAME", autocompletion=one_of(shipped.shipped_names())
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Lists the trained victims that can be named with --victim, or shows how one was trained."""
    known = shipped.shipped_names()
    if name is not None and name not in known:
        raise unknown_name("shipped victim", name, known)
    found = [_facts(each) for each in known if name in (None, each)]
    if json:
        print_json(found if name is None else found[0])
        return
    if name is not None:
        say(plain(json_text.dumps(found[0], indent=2, ensure_ascii=False)))
        return
    if not found:
        say("no victims are shipped with this version")
        return
    table = Table("name", "model", "parameters", "training", "clean error", box=None)
    for facts in found:
        training = facts["training"]
        right = training.get("test_accuracy")
        error = "" if right is None else f"{100 * (1 - right):.2f} %"
        defence, budget = str(training.get("defence") or "Standard()"), training.get("budget")
        against = f", budget {budget}" if budget else ""
        table.add_row(
            facts["name"], facts["model"], f"{facts['parameters']:,}", plain(defence.partition("(")[0] + against), error
        )
    out.print(table)


def _facts(name: str) -> dict[str, Any]:
    checkpoint = load_checkpoint(shipped.FILES / name)
    return {
        "name": name,
        "model": checkpoint.model,
        "settings": checkpoint.settings,
        "parameters": sum(part.numel() for part in checkpoint.victim.parameters()),
        "victim_sha256": weights_digest(checkpoint.victim),
        "training": checkpoint.training,
    }
