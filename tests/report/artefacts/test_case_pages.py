"""Cases and pages: the same content in Markdown and LaTeX, and files that do not depend on when they are written."""

from pathlib import Path

from hammingbox.report.artefacts.cases import Case, Piece, cases_latex, cases_markdown, row_pieces
from hammingbox.report.artefacts.figures import Bar, trade_off_figure
from hammingbox.report.artefacts.table import Column, Table
from hammingbox.report.artefacts.write_artefacts import write_outcome

CASE = Case("DNA", "row 1", "EI", "N", row_pieces("ACG", "ATG"))
TABLE = Table("50 % of R&D", (Column.text("name_1"), Column.number("ε")), (("a|b", 1), ("c_d", 2)), notes=("a note",))


def test_cases_in_every_form() -> None:
    assert row_pieces("ACGT", "ATGA") == (Piece("A"), Piece("T", "C"), Piece("G"), Piece("A", "T"))
    assert row_pieces("ab  ", "a\n  ") == (Piece("a"), Piece("\\n", "b"))
    assert "A**T** (C)G" in cases_markdown([CASE])
    assert r"A\textcolor{red}{T}(\textcolor{blue}{C})G" in cases_latex([CASE])


def test_written_files_are_the_same_every_time(tmp_path: Path) -> None:
    def write(folder: Path) -> list[Path]:
        figures = {"bars": trade_off_figure("x", [Bar("ga", 50.0, 0.1), Bar("pcaa", 20.0, 0.2)])}
        return write_outcome(folder, "Heading", [TABLE], figures, [CASE], ["ips: no data"], ["why"])

    files, again = write(tmp_path / "one" / "name"), write(tmp_path / "two" / "name")
    names = {path.name for path in files}
    assert names == {"README.md", "table-1.tex", "table-1.csv", "cases.tex", "bars.svg", "bars.pdf"}
    for one, two in zip(files, again, strict=True):
        assert one.read_bytes() == two.read_bytes(), f"{one.name} must not depend on when it was written"
    folder = tmp_path / "one" / "name"
    assert (folder / "bars.pdf").read_bytes().startswith(b"%PDF")
    assert "skipped: ips: no data" in (folder / "README.md").read_text()
    assert r"\label{tab:name-1}" in (folder / "table-1.tex").read_text()
