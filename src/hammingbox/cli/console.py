"""How commands speak: tables and progress for people on a terminal, a line of JSON for machines."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

out = Console()
err = Console(stderr=True)


class _Rate(ProgressColumn):
    """Steps per second, or seconds per step when that reads better."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each", style="progress.data.speed")


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on standard error with rate and time left; silent when that is not a terminal."""
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        yield bars


def say(text: str) -> None:
    """Prints text with markup; its lines stay whole, so that a path can be copied. Names in it go through `plain`."""
    out.print(text, highlight=False, soft_wrap=True)


def plain(value: object) -> str:
    """A name or path that stands in markup as it is: brackets in it are no style."""
    return escape(str(value))


def print_json(value: Any) -> None:
    """A value as JSON on one line of standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def fail(message: str) -> None:
    """One clear sentence on standard error."""
    err.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)
