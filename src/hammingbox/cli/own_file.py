"""Options that say how a user's own file is read and split, for every command that reads data."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from hammingbox.data.reading import UNITS, Reading
from hammingbox.data.split_rule import SplitRule
from hammingbox.errors import InputError


def _options(
    train: Annotated[Path | None, typer.Option(help="File of training rows, in place of DATA.")] = None,
    validation: Annotated[Path | None, typer.Option(help="File of validation rows; a part of DATA without it.")] = None,
    test: Annotated[Path | None, typer.Option(help="File of test rows; a part of DATA without it.")] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Split by this column of dates or numbers: the oldest rows train, the newest test."),
    ] = None,
    group: Annotated[str | None, typer.Option(help="Split by this column: its equal values stay in one part.")] = None,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Split with the same share of every class in each part.")
    ] = False,
    text: Annotated[str | None, typer.Option(help="The column of text; DATA is then a set of texts.")] = None,
    text_unit: Annotated[str, typer.Option(help=f"What a feature of a text is: {' or '.join(UNITS)}.")] = UNITS[0],
    encoding: Annotated[str, typer.Option(help="Encoding of CSV files, such as latin-1.")] = Reading.encoding,
) -> Reading:
    """The options, as a function: their names, types and help texts are its parameters."""
    del train
    return Reading(validation, test, SplitRule(time, group, stratified), encoding, text, text_unit)


def reads_own_file(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of its own file. It gets them as one argument, `reading`.

    DATA may be left out where --train names the file.
    """
    options = inspect.signature(_options).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        own = {name: given.pop(name) for name in options}
        train, data = own["train"], given["data"]
        if (train is None) == (data == ""):
            raise InputError(
                f"expected DATA or --train FILE, got {'neither' if train is None else f'both ({data} and {train})'}. "
                "Name the training rows once; victims can be named with --victim."
            )
        command(**(given | {"data": data or str(train)}), reading=_options(**own))

    parameters = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
        if name != "reading"
    }
    parameters["data"] = parameters["data"].replace(default="")
    for name, parameter in options.items():
        parameters[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run
