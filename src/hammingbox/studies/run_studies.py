"""Plans or runs a list of studies in one results folder, and writes what each one found."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter

from hammingbox.errors import unknown_name
from hammingbox.report.artefacts.write_artefacts import write_outcome
from hammingbox.running.executor import Executor
from hammingbox.running.store import FILE, Store, open_store
from hammingbox.studies.plan import Work
from hammingbox.studies.published import Published
from hammingbox.studies.records import Records
from hammingbox.studies.study import PRESETS, Outcome, Study
from hammingbox.studies.workspace import WatchRows, Workspace, ignore_rows
from hammingbox.training.history import WatchTraining, unwatched


@dataclass(frozen=True)
class FinishedStudy:
    """A study that has run.

    Attributes:
        study: which one.
        outcome: what it found.
        folder: where its files are.
        files: the files that were written.
        seconds: how long it took.
    """

    study: Study
    outcome: Outcome
    folder: Path
    files: list[Path]
    seconds: float


def plan_studies(
    studies: Iterable[Study],
    preset: str,
    folder: Path,
    *,
    data_dir: Path | None = None,
    published: Published | None = None,
) -> Iterator[tuple[Study, list[Work]]]:
    """Lists the work that each study still needs. Leaves no file behind.

    Args:
        studies: in the order in which they would run; work they share is listed with the first.
        preset: name of their size.
        folder: the results folder; what it holds already is not listed.
        data_dir: folder that holds data files.
        published: records of earlier runs, which are not listed either.

    Raises:
        InputError: no such preset.
    """
    check_preset(preset)
    with _store_for_plan(folder) as store:
        workspace = Workspace(folder, store, data_dir=data_dir, published=published or Published())
        for study in studies:
            yield study, study.plan(workspace, study.size(preset))


@contextmanager
def _store_for_plan(folder: Path) -> Iterator[Store]:
    """The folder's store, or an empty one elsewhere if the folder has none yet."""
    if (folder / FILE).exists():
        with open_store(folder, create=True) as store:
            yield store
        return
    with TemporaryDirectory() as elsewhere, open_store(Path(elsewhere), create=True) as store:
        yield store


def run_studies(
    studies: Iterable[Study],
    preset: str,
    folder: Path,
    *,
    data_dir: Path | None = None,
    published: Published | None = None,
    minutes: float | None = None,
    executor: Executor | None = None,
    on_start: Callable[[Study], None] = lambda _: None,
    watch_training: WatchTraining = unwatched,
    watch_rows: WatchRows = ignore_rows,
) -> Iterator[FinishedStudy]:
    """Runs studies one after the other, or continues them, and writes the tables and figures of each.

    Args:
        studies: in the order in which they run; a run that several need is done once.
        preset: name of their size.
        folder: the results folder. A study that was interrupted continues from what is recorded there.
        data_dir: folder that holds data files.
        published: records of earlier runs, which are not run again.
        minutes: no training and no run begins after so many; what is there is tabulated, and what is left is named.
        executor: who computes the batches of runs; this process by default.
        on_start: called before each study.
        watch_training: shows the progress of a training.
        watch_rows: shows the progress of a run.

    Raises:
        InputError: no such preset.
        FileError: the folder cannot be written.
    """
    check_preset(preset)
    with open_store(folder, create=True) as store:
        workspace = Workspace(
            folder, store, watch_training, watch_rows, data_dir, executor=executor,
            published=published or Published(),
            deadline=None if minutes is None else monotonic() + 60 * minutes,
        )  # fmt: skip
        for study in studies:
            on_start(study)
            yield run_study(study, preset, workspace)


def run_study(study: Study, preset: str, workspace: Workspace) -> FinishedStudy:
    """Runs one study, or continues it, and writes its tables, figures and records into a folder of its name."""
    begin = perf_counter()
    workspace.records = records = Records()
    outcome = study.run(workspace, study.size(preset))
    outcome.notes = (*outcome.notes, _origin(study, preset, records))
    folder = workspace.folder / study.name
    files = write_outcome(
        folder, study.heading(preset), outcome.tables, outcome.figures, outcome.cases, outcome.skipped, outcome.notes,
        records.to_json() if records.runs else "",
    )  # fmt: skip
    return FinishedStudy(study, outcome, folder, files, perf_counter() - begin)


def _origin(study: Study, preset: str, records: Records) -> str:
    """The command that makes the page, and the hash of the runs behind it."""
    command = f"Made by `hammingbox reproduce {study.name} --preset {preset}`"
    if not records.runs:
        return f"{command}."
    return f"{command}; records.json lists its runs ({len(records.runs)}), sha256 without times `{records.sha256}`."


def check_preset(preset: str) -> None:
    """Refuses an unknown preset.

    Raises:
        InputError: no such preset.
    """
    if preset not in PRESETS:
        raise unknown_name("preset", preset, PRESETS)
