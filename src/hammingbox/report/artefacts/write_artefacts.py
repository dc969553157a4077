"""Writes an experiment's outcome: tables as Markdown, LaTeX and CSV, figures as SVG and PDF, and cases."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hammingbox.files import write_bytes
from hammingbox.report.artefacts.cases import Case, cases_latex, cases_markdown
from hammingbox.report.artefacts.figures import Figure, save_figure
from hammingbox.report.artefacts.table import Table


def write_outcome(
    folder: Path,
    heading: str,
    tables: Sequence[Table],
    figures: Mapping[str, Figure],
    cases: Sequence[Case],
    skipped: Sequence[str],
    notes: Sequence[str],
    records: str = "",
) -> list[Path]:
    """Writes into a folder and returns the files; the Markdown lists what could not be run."""
    files: dict[str, str] = {}
    parts = [f"# {heading}", *(table.markdown() for table in tables)]
    parts += [f"![{name}]({name}.svg)" for name in figures]
    parts += [cases_markdown(cases)] if cases else []
    parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    parts += ["\n".join(f"- skipped: {reason}" for reason in skipped)] if skipped else []
    files["README.md"] = "\n\n".join(parts) + "\n"
    for number, table in enumerate(tables, 1):
        files[f"table-{number}.tex"] = table.latex(f"tab:{folder.name}-{number}")
        files[f"table-{number}.csv"] = table.csv()
    if cases:
        files["cases.tex"] = cases_latex(cases)
    if records:
        files["records.json"] = records
    for name, text in files.items():
        write_bytes(folder / name, text.encode())
    written = [folder / name for name in files]
    for name, figure in figures.items():
        written += save_figure(figure, folder / name)
    return written
