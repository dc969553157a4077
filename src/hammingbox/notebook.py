"""What results show in a notebook: HTML tables, data frames and axes. Their libraries are imported when first used."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hammingbox.errors import missing_library

Frame = Any
"""A pandas data frame; pandas is an optional dependency."""

_CELL = "padding:2px 10px;border-bottom:1px solid rgba(128,128,128,.35);"


Axes = Any
"""Axes of matplotlib, which is an optional dependency."""


def data_frame(columns: Mapping[str, Any], *, index: Sequence[Any] | None = None, index_name: str = "") -> Frame:
    """A pandas data frame of columns.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise missing_library("pandas", "notebook", "to make a data frame", error) from error
    frame = pandas.DataFrame(dict(columns), index=None if index is None else list(index))
    if index_name:
        frame.index.name = index_name
    return frame


def axes_or_new(axes: Axes | None, *, width: float = 6.0, height: float = 3.0) -> Axes:
    """The axes to draw on: those that were passed, or those of a new figure that a notebook shows by itself.

    Raises:
        InputError: matplotlib is not installed.
    """
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise missing_library("matplotlib", "notebook", "to draw", error) from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def html_table(
    title: str, headings: Sequence[str], lines: Sequence[Sequence[object]], notes: Sequence[str] = ()
) -> str:
    """A table as HTML that follows the colours of the page it stands in. Everything in it is shown as it is.

    Args:
        title: one sentence above it.
        headings: one per column.
        lines: cells; the first of each line is words and stands left, the others are numbers and stand right.
        notes: sentences below it.
    """
    head = "".join(_cell("th", name, place) for place, name in enumerate(headings))
    body = "".join(
        f"<tr>{''.join(_cell('td', value, place) for place, value in enumerate(line))}</tr>" for line in lines
    )
    below = "".join(f"<p style='margin:4px 0;opacity:.75'>{_shown(note)}</p>" for note in notes)
    return (
        f"<div><p style='margin:4px 0'><b>{_shown(title)}</b></p>"
        f"<table style='border-collapse:collapse'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"{below}</div>"
    )


def _cell(tag: str, value: object, place: int) -> str:
    return f"<{tag} style='{_CELL}text-align:{'right' if place else 'left'}'>{_shown(value)}</{tag}>"


def _shown(value: object) -> str:
    """A value as it is: a dollar sign would begin a formula."""
    return escape(str(value)).replace("$", "&#36;")
