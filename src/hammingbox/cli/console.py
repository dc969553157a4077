"""How commands speak: tables and progress for people on a terminal, a line of JSON for machines."""

import io
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from hammingbox.cli.safe_text import escaped_json, one_line, shown_text
from hammingbox.errors import InputError
from hammingbox.victims.pass_watch import watching_passes


class SafeConsole(Console):
    """A console that shows control characters of any text it prints, whichever way the text got there."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces to print. Pieces that rich makes to control the terminal stay as they are."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else shown_text(text), style, control)


out = SafeConsole()
err = SafeConsole(stderr=True)


def use_any_encoding() -> None:
    """Prints escapes for characters that the terminal's encoding does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Rate(ProgressColumn):
    """Steps per second, or seconds per step when that reads better."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each", style="progress.data.speed")


class _PassCount(ProgressColumn):
    """Victim passes so far, where there are any."""

    def render(self, task: Task) -> Text:
        passes = task.fields.get("passes", 0)
        return Text(f"{passes:,} passes" if passes else "", style="progress.data.speed")


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on standard error with rate and time left; silent when that is not a terminal.

    The rows of a batch are done together, which may take minutes: the passes of attacks are counted while they run.
    """
    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn(), _PassCount())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:

        def count(passes: int) -> None:
            for task in bars.tasks:
                task.fields["passes"] = task.fields.get("passes", 0) + passes

        with watching_passes(count):
            yield bars


def say(text: str) -> None:
    """Prints text with markup; its lines stay whole, so that a path can be copied. Names in it go through `plain`."""
    out.print(text, highlight=False, soft_wrap=True)


def plain(value: object) -> str:
    """A name or path that stands in markup as it is: brackets in it are no style, and it stays on its line."""
    return escape(one_line(str(value)))


def print_json(value: Any) -> None:
    """A value as JSON on one line of standard output."""
    sys.stdout.write(escaped_json(json.dumps(value, ensure_ascii=False)) + "\n")


def write_output(content: bytes, *, is_text: bool) -> None:
    """Writes a file's content to standard output: as it is into a pipe, with visible control characters on a terminal.

    Raises:
        InputError: it is no text, and standard output is a terminal.
    """
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        return
    if not is_text:
        raise InputError("expected a file for a binary format, got a terminal. Name one with --out.")
    sys.stdout.write(shown_text(content.decode()))


def fail(message: str) -> None:
    """One clear sentence on standard error."""
    err.print(Text.assemble(("error: ", "bold red"), one_line(message)), soft_wrap=True)
