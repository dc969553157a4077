"""Tables and case studies as LaTeX: they compile, and nothing exceeds the margin."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hammingbox.report.artefacts.cases import Case, Piece, cases_latex
from hammingbox.report.artefacts.table import Column, Interval, Table

PREAMBLE = r"\documentclass{article}\usepackage{booktabs,graphicx,longtable,xcolor}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-latex-recommended)")
def test_it_compiles_and_fits_the_page(tmp_path: Path) -> None:
    signs = r"\ & % $ # _ { } ~ ^ ε ± ζ λ π ≤ < > | ·"
    many = [Column.number(f"a long heading {i}", ".1f") for i in range(8)]
    ends = Column.interval("± rows", ".0f", separator="-")
    columns = (Column.text("attack_1"), Column.text(signs), *many, ends)
    wide = Table("Wide " + signs, columns, (("a_b", signs, *(100.0,) * 7, None, Interval(1.0, 2.0)),), notes=(signs,))
    narrow = Table("Narrow", (Column.text("attack"), Column.number("ε")), (("pcaa", 1),))
    dna = Case("splice", "row 1", "EI", "IE", (Piece("ACGT" * 20), Piece("T", original="C"), Piece("ACGT" * 20)))
    parts = [wide.latex("tab:wide"), narrow.latex(), cases_latex([dna])]
    (tmp_path / "all.tex").write_text("\n".join([PREAMBLE, r"\begin{document}", *parts, r"\end{document}"]))
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "all.tex"],
        cwd=tmp_path, capture_output=True, check=False, encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert not re.findall(r"^(?:!|Overfull).*", done.stdout, re.MULTILINE)
