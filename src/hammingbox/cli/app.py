"""The program: collects the commands and turns a user's mistake into one sentence and exit code 2."""

import signal
import sys
from types import FrameType
from typing import Annotated

import torch
import typer

import hammingbox
from hammingbox.cli import (
    attack,
    audit,
    certify,
    compare,
    data,
    defend,
    demo,
    findings,
    report,
    reproduce,
    results,
    synonyms,
    threat,
    train,
    verify,
    victims,
)
from hammingbox.cli.console import fail, out, use_any_encoding
from hammingbox.errors import HammingboxError
from hammingbox.files import shown
from hammingbox.running.freed_memory import keep_freed_memory

MOST_THREADS = 256
"""More threads than cores never help, and thousands of them end the process."""

app = typer.Typer(
    name="hammingbox",
    help="Adversarial robustness for categorical data under an L0 budget.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
app.add_typer(results.app, name="results")
app.add_typer(threat.app, name="threat")
app.command("victims")(victims.victims)
app.command("train")(train.train)
app.command("defend")(defend.defend)
app.command("audit")(audit.audit)
app.command("attack")(attack.attack)
app.command("certify")(certify.certify)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("verify")(verify.verify_file)
app.command("reproduce")(reproduce.reproduce)
app.command("diagnose")(findings.diagnose)
app.command("synonyms")(synonyms.synonyms)
app.command("demo")(demo.demo)


def _version(wanted: bool | None) -> None:
    if wanted:
        out.print(f"hammingbox {hammingbox.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: ARG001
        bool | None, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_THREADS, help="Threads torch may use; on a busy machine fewer are faster."),
    ] = None,
) -> None:
    if threads is not None:
        torch.set_num_threads(threads)


class _StoppedError(BaseException):
    """A signal asks the program to end; not an `Exception`, so that nothing on the way takes it for a mistake."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _stop(number: int, _frame: FrameType | None) -> None:
    raise _StoppedError(number)


def main() -> None:
    """Runs the program.

    0 is success, 1 a verification that failed, 2 a user's mistake, 130 and 143 an interruption (SIGINT, SIGTERM).
    """
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) is not signal.SIG_IGN:  # as under nohup
            signal.signal(each, _stop)
    use_any_encoding()
    keep_freed_memory()
    try:
        app()
    except HammingboxError as error:
        fail(str(error))
        sys.exit(2)
    except _StoppedError as stopped:
        fail(
            f"stopped by {signal.Signals(stopped.number).name}. What was recorded in --out is kept: "
            "give the same command again, and it goes on from there."
        )
        sys.exit(128 + stopped.number)
    except MemoryError:
        fail("expected enough memory for this command, got too little. Use fewer rows, or a smaller --batch-size.")
        sys.exit(2)
    except OSError as error:  # a path that no file can have, a folder that may not be read
        fail(
            f"expected a readable file or folder, got {shown(error.filename or 'an error')}: {error.strerror or error}."
        )
        sys.exit(2)
