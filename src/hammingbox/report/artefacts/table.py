"""A table whose cells stay numbers until they are printed: Markdown, LaTeX with booktabs, CSV or plain texts."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

MISSING = "-"
"""What is printed for a value that is not there; in the CSV such a cell is empty."""

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "ε": r"$\epsilon$", "±": r"$\pm$", "ζ": r"$\zeta$",
    "λ": r"$\lambda$", "π": r"$\pi$", "≤": r"$\leq$", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "·": r"$\cdot$",
}  # fmt: skip


_A = {"text": "a text", "number": "a number", "interval": "an interval"}


class Interval(NamedTuple):
    """The two ends of an interval, in the unit of its column."""

    low: float
    high: float


Value = str | int | float | Interval | None
"""A value of a table: text, a number, an interval, or None where there is nothing to show."""


@dataclass(frozen=True)
class Column:
    """What a column holds and how its values are printed; make it with `text`, `number` or `interval`.

    Attributes:
        heading: shown above the column, with the unit of its values.
        kind: what its cells hold.
        format: Python's format specification for its numbers, such as ".1f" or ",.0f".
        separator: printed between the two ends of an interval.
        name: the heading in the CSV, where the shown one would repeat another column's; `heading` by default.
    """

    heading: str
    kind: Literal["text", "number", "interval"]
    format: str = ""
    separator: str = ""
    name: str = ""

    @classmethod
    def text(cls, heading: str, *, name: str = "") -> "Column":
        """A column of words, aligned left."""
        return cls(heading, "text", name=name)

    @classmethod
    def number(cls, heading: str, format: str = "d", *, name: str = "") -> "Column":  # noqa: A002
        """A column of numbers, aligned right; whole numbers by default."""
        return cls(heading, "number", format, name=name)

    @classmethod
    def interval(cls, heading: str, format: str, *, separator: str = " to ", name: str = "") -> "Column":  # noqa: A002
        """A column of intervals, aligned right; the CSV has a column for each end, `NAME low` and `NAME high`."""
        return cls(heading, "interval", format, separator, name)

    @property
    def csv_names(self) -> tuple[str, ...]:
        """Its headings in the CSV."""
        name = self.name or self.heading
        return (f"{name} low", f"{name} high") if self.kind == "interval" else (name,)

    def accepts(self, value: Value) -> bool:
        """Whether a value is of the column's kind."""
        if value is None:
            return True
        if self.kind == "text":
            return isinstance(value, str)
        if self.kind == "interval":
            return isinstance(value, Interval)
        return isinstance(value, int | float)

    def to_text(self, value: Value) -> str:
        """A value as it is shown to people."""
        if value is None:
            return MISSING
        if isinstance(value, Interval):
            return self.separator.join(format(end, self.format) for end in value)
        return value if isinstance(value, str) else format(value, self.format)

    def csv_values(self, value: Value) -> tuple[str | int | float, ...]:
        """A value as the CSV holds it: numbers in full, nothing for what is missing."""
        if value is None:
            return ("",) * len(self.csv_names)
        return tuple(value) if isinstance(value, Interval) else (value,)


@dataclass(frozen=True)
class Table:
    """Values under columns that know how to print them.

    Attributes:
        title: what it shows.
        columns: what each column holds.
        rows: one value per column.
        notes: sentences below it.

    Raises:
        ValueError: a row of another length than the columns, or two columns of one name in the CSV.
        TypeError: a value that is not of its column's kind.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = self.csv_names
        if len(set(names)) < len(names):
            raise ValueError(f"expected columns with distinct names, got {list(names)}. Give one of them a `name`.")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"expected {len(self.columns)} values per row, got {len(row)}: {row}.")
            for column, value in zip(self.columns, row, strict=True):
                if not column.accepts(value):
                    raise TypeError(f"expected {_A[column.kind]} under {column.heading!r}, got {value!r}.")

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings that are shown."""
        return tuple(column.heading for column in self.columns)

    @property
    def csv_names(self) -> tuple[str, ...]:
        """The headings of the CSV."""
        return tuple(name for column in self.columns for name in column.csv_names)

    def texts(self) -> list[tuple[str, ...]]:
        """Every row as it is shown."""
        return [tuple(c.to_text(value) for c, value in zip(self.columns, row, strict=True)) for row in self.rows]

    def column(self, heading: str) -> list[Value]:
        """The values of one column."""
        place = self.headings.index(heading)
        return [row[place] for row in self.rows]

    def markdown(self) -> str:
        """A Markdown table with its title and notes."""
        rules = ["---" if column.kind == "text" else "---:" for column in self.columns]
        lines = [_markdown_row(self.headings), _markdown_row(rules, raw=True), *map(_markdown_row, self.texts())]
        notes = "".join(f"\n- {note}" for note in self.notes)
        return f"**{self.title}**\n\n" + "\n".join(lines) + "\n" + (f"{notes}\n" if notes else "")

    def latex(self, label: str = "") -> str:
        r"""A floating `table` with booktabs rules, shrunk to the line; the preamble needs booktabs and graphicx."""
        places = "".join("l" if column.kind == "text" else "r" for column in self.columns)
        body = "\n".join("    " + " & ".join(map(latex, row)) + r" \\" for row in self.texts())
        notes = "".join(f"\n  \\par\\smallskip{{\\footnotesize {latex(note)}}}" for note in self.notes)
        return (
            "\\begin{table}\n  \\centering\n"
            f"  \\caption{{{latex(self.title)}}}\n" + (f"  \\label{{{label}}}\n" if label else "") +
            "  \\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
            f"  \\begin{{tabular}}{{{places}}}\n    \\toprule\n"
            f"    {' & '.join(map(latex, self.headings))} \\\\\n    \\midrule\n{body}\n    \\bottomrule\n"
            f"  \\end{{tabular}}}}{notes}\n\\end{{table}}\n"
        )  # fmt: skip

    def csv(self) -> str:
        """Comma-separated values with full numbers; an interval has two columns, a missing value an empty cell."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.csv_names)
        for row in self.rows:
            writer.writerow([part for c, value in zip(self.columns, row, strict=True) for part in c.csv_values(value)])
        return text.getvalue()


def _markdown_row(cells: Sequence[str], *, raw: bool = False) -> str:
    texts = cells if raw else [cell.replace("|", r"\|").replace("\n", " ") for cell in cells]
    return "| " + " | ".join(texts) + " |"


def latex(text: str) -> str:
    """Text that LaTeX prints literally."""
    return "".join(_LATEX.get(sign, sign) for sign in text)
