"""Adversarial rows for people to read: original categories in blue, their replacements in red."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hammingbox.report.artefacts.table import latex


@dataclass(frozen=True)
class Piece:
    """A piece of a text; a changed one has an original, and names all replacements where candidates are shown."""

    text: str
    original: str | None = None


@dataclass(frozen=True)
class Case:
    """One row before and after.

    Attributes:
        group: what it belongs to, such as a data set and a model.
        name: which row it is.
        before: the class it had.
        after: the predicted class afterwards; empty when only candidates are shown.
        pieces: the text, in order.
    """

    group: str
    name: str
    before: str
    after: str
    pieces: tuple[Piece, ...]

    @property
    def classes(self) -> str:
        """The classes in words."""
        return f"{self.before} -> {self.after}" if self.after else self.before

    def markdown(self) -> str:
        """The new word in bold, the old one in brackets."""
        text = "".join(p.text if p.original is None else f"**{p.text}** ({p.original})" for p in self.pieces)
        return f"- ({self.name}; {self.classes}) {text}"

    def latex(self) -> str:
        """The new word in red, the old one in blue, as in the paper."""
        text = "".join(
            _breakable(p.text)
            if p.original is None
            else f"\\textcolor{{red}}{{{latex(p.text)}}}(\\textcolor{{blue}}{{{latex(p.original)}}})"
            for p in self.pieces
        )
        return f"    {latex(self.before)} & {latex(self.after)} & \\raggedright {text} \\tabularnewline"


_RUN = re.compile(r"(?<=\S{10})\S{10}|\S{10}(?=\S{10})")
"""Ten letters of a long run, such as DNA, where LaTeX may break the line."""


def _breakable(text: str) -> str:
    """Text for LaTeX in which long runs of letters may break across lines."""
    return latex(_RUN.sub(lambda run: run[0] + "\u200b", text)).replace("\u200b", r"\allowbreak{}")


def cases_markdown(cases: Sequence[Case]) -> str:
    """All cases under the headings of their groups."""
    groups = dict.fromkeys(case.group for case in cases)
    parts = [
        "\n".join([f"### {group}", "", *(case.markdown() for case in cases if case.group == group)]) for group in groups
    ]
    return "\n\n".join(parts) + "\n"


def cases_latex(cases: Sequence[Case]) -> str:
    r"""One table per group; the preamble needs booktabs, longtable and xcolor."""
    parts = []
    for group in dict.fromkeys(case.group for case in cases):
        body = "\n    \\addlinespace\n".join(case.latex() for case in cases if case.group == group)
        parts.append(
            "\\begin{longtable}{llp{0.5\\linewidth}}\n"
            f"    \\caption{{{latex(group)}}}\\\\\n    \\toprule\n"
            f"    Class & Perturbed class & Perturbed text \\\\\n    \\midrule\n{body}\n    \\bottomrule\n"
            "\\end{longtable}\n"
        )
    return "\n".join(parts)


def row_pieces(before: Sequence[str], after: Sequence[str], separator: str = "") -> tuple[Piece, ...]:
    """The pieces of a row of categories, joined by a separator; blanks at the end are left out."""
    pieces: list[Piece] = []
    plain = ""
    for place, pair in enumerate(zip(before, after, strict=True)):
        old, new = (word.replace("\n", "\\n") for word in pair)  # makes a line break visible
        gap = separator if place else ""
        if old == new:
            plain += gap + old
            continue
        pieces += [Piece(plain + gap)] if plain + gap else []
        pieces.append(Piece(new, old))
        plain = ""
    plain = plain.rstrip()
    return (*pieces, Piece(plain)) if plain else tuple(pieces)
