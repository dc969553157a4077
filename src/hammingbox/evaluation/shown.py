"""How an evaluation shows itself in a notebook: one line per row, one line per class, one bar per class."""

from typing import Any

import numpy as np

from hammingbox.data.schema import Schema
from hammingbox.errors import unknown_name
from hammingbox.evaluation.rates import Rate
from hammingbox.evaluation.rows import Rows
from hammingbox.notebook import Axes, Frame, axes_or_new, data_frame, html_table
from hammingbox.types import RowMask

STATUS = ("wrong before", "broken", "proven", "unknown", "not attackable", "not attacked")
"""What may have happened to a row."""
_COLOURS = ("#999999", "#D55E00", "#009E73", "#56B4E9", "#C5D9CE", "#DDDDDD")
"""One for each status; people with any colour vision tell them apart."""
_CONTENTS = ("outcome", "clean", "adversarial")
_CHANGES_SHOWN = 20


def status_of(rows: Rows) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The index in `STATUS` of what happened to each row."""
    masks = (
        ~rows.correct,
        rows.success,
        rows.proven & rows.attacked & ~rows.success,
        rows.unknown,
        rows.not_attackable,
    )
    return np.select([mask.numpy() for mask in masks], range(5), default=5)


def frame_of(rows: Rows, schema: Schema, contents: str = "outcome") -> Frame:
    """One line per row, indexed by the number of the row in its source.

    Args:
        rows: what happened.
        schema: what ids mean.
        contents: "outcome" for what happened to each row, "clean" or "adversarial" for the values of its features.

    Raises:
        InputError: other contents, or pandas is not installed.
    """
    if contents not in _CONTENTS:
        raise unknown_name("content of a frame", contents, _CONTENTS)
    numbers = rows.numbers.tolist()
    if contents != "outcome":
        ids = (rows.clean if contents == "clean" else rows.adversarial).numpy()
        columns = {
            feature.name: np.array(feature.categories, dtype=object)[ids[:, place]]
            for place, feature in enumerate(schema.features)
        }
        return data_frame(columns, index=numbers, index_name="row")
    classes = np.array(schema.classes, dtype=object)
    return data_frame(
        {
            "label": classes[rows.labels.numpy()],
            "before": classes[rows.clean_logits.argmax(1).numpy()],
            "after": classes[rows.logits.argmax(1).numpy()],
            "status": np.array(STATUS, dtype=object)[status_of(rows)],
            "distance": rows.distance.numpy(),
            "changes": changes_in_words(rows, schema),
            "margin": rows.margin.numpy(),
            "forward": rows.forward.numpy(),
            "backward": rows.backward.numpy(),
        },
        index=numbers,
        index_name="row",
    )


def changes_in_words(rows: Rows, schema: Schema) -> list[str]:
    """What was written into each row: "colour: red -> blue; size: 1 -> 2"."""
    found: list[list[str]] = [[] for _ in range(len(rows))]
    for row, place in (rows.clean != rows.adversarial).nonzero().tolist():
        feature = schema.features[place]
        before, after = (feature.categories[int(ids[row, place])] for ids in (rows.clean, rows.adversarial))
        found[row].append(f"{feature.name}: {before} -> {after}")
    return ["; ".join(words[:_CHANGES_SHOWN]) + ("; ..." if len(words) > _CHANGES_SHOWN else "") for words in found]


def html_of(rows: Rows, schema: Schema, title: str, notes: tuple[str, ...] = ()) -> str:
    """A table with one line per class, and one for all rows."""
    groups: list[tuple[str, RowMask]] = [
        (name, rows.labels == place) for place, name in enumerate(schema.classes) if bool((rows.labels == place).any())
    ]
    lines = [_line(name, rows.take(mask)) for name, mask in groups]
    headings = ("class", "rows", "right before", "attacked", "broken", "success rate", "95 % interval", "proven")
    return html_table(title, headings, [*lines, _line("all rows", rows)], notes)


def percent(rate: Rate) -> str:
    """A rate in per cent; a dash where there were no rows."""
    return f"{100 * rate.value:.1f} %" if rate.rows else "-"


def interval_in_words(rate: Rate) -> str:
    """The interval of a rate in per cent."""
    return "{:.1f} to {:.1f} %".format(*(100 * end for end in rate.interval)) if rate.rows else "-"


def bars_by_class(rows: Rows, schema: Schema, title: str, axes: Axes | None = None) -> Axes:
    """One bar per class: which share of its rows was wrong before, broken, proven, or is unknown.

    Raises:
        InputError: matplotlib is not installed.
    """
    status, labels = status_of(rows), rows.labels.numpy()
    present = [place for place in range(len(schema.classes)) if (labels == place).any()]
    axes = axes_or_new(axes, width=7.0, height=1.2 + 0.4 * len(present))
    left = np.zeros(len(present))
    for kind, colour in enumerate(_COLOURS):
        share = np.array([100.0 * (status[labels == place] == kind).mean() for place in present])
        if share.any():
            axes.barh(range(len(present)), share, left=left, color=colour, label=STATUS[kind])
        left += share
    axes.set_yticks(range(len(present)), [f"{schema.classes[p]} ({(labels == p).sum():,} rows)" for p in present])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("rows, %")
    axes.set_title(title, fontsize="medium", loc="left")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    return axes


def _line(name: str, rows: Rows) -> tuple[object, ...]:
    rate = rows.success_rate
    counts = (f"{len(rows):,}", f"{rows.accuracy.hits:,}", f"{rate.rows:,}", f"{rate.hits:,}")
    return (name, *counts, percent(rate), interval_in_words(rate), f"{int((rows.proven & rows.attacked).sum()):,}")
