"""A table as a value: Markdown, LaTeX with booktabs, CSV, or whatever a reader's program wants."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ε": r"$\epsilon$", "±": r"$\pm$", "ζ": r"$\zeta$",
    "λ": r"$\lambda$", "π": r"$\pi$", "≤": r"$\leq$", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "·": r"$\cdot$",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Cells of text under named columns.

    Attributes:
        title: what it shows.
        columns: their headings.
        rows: one text a column each.
        notes: sentences below it.
        text_columns: how many columns from the left hold words; the others are numbers and stand right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    text_columns: int = 1

    def markdown(self) -> str:
        """A Markdown table with its title and notes."""
        rules = ["---" if i < self.text_columns else "---:" for i in range(len(self.columns))]
        lines = [_markdown_row(self.columns), _markdown_row(rules, raw=True), *map(_markdown_row, self.rows)]
        notes = "".join(f"\n- {note}" for note in self.notes)
        return f"**{self.title}**\n\n" + "\n".join(lines) + "\n" + (f"{notes}\n" if notes else "")

    def latex(self, label: str = "") -> str:
        r"""A floating `table` with booktabs rules, shrunk to the line; the preamble needs booktabs and graphicx."""
        places = "l" * self.text_columns + "r" * (len(self.columns) - self.text_columns)
        body = "\n".join("    " + " & ".join(map(latex, row)) + r" \\" for row in self.rows)
        notes = "".join(f"\n  \\par\\smallskip{{\\footnotesize {latex(note)}}}" for note in self.notes)
        return (
            "\\begin{table}\n  \\centering\n"
            f"  \\caption{{{latex(self.title)}}}\n" + (f"  \\label{{{label}}}\n" if label else "") +
            "  \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
            f"  \\begin{{tabular}}{{{places}}}\n    \\toprule\n"
            f"    {' & '.join(map(latex, self.columns))} \\\\\n    \\midrule\n{body}\n    \\bottomrule\n"
            f"  \\end{{tabular}}}}{notes}\n\\end{{table}}\n"
        )  # fmt: skip

    def csv(self) -> str:
        """Comma-separated values, the headings first."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()


def _markdown_row(cells: Sequence[str], *, raw: bool = False) -> str:
    texts = cells if raw else [cell.replace("|", r"\|").replace("\n", " ") for cell in cells]
    return "| " + " | ".join(texts) + " |"


def latex(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(sign, sign) for sign in text)
