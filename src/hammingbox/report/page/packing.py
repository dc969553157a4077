"""Rows for the browser: typed columns in one gzipped block, read by `rows.js`, small enough for a page of 5 MB."""

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, Shaped

from hammingbox.report.ragged_pairs import SHOWN_CLASSES, Ragged, likeliest
from hammingbox.report.result_set import ResultSet
from hammingbox.report.run_rows import RunRows
from hammingbox.report.status import STATUSES, status_codes

_MOST_RAW = 24_000_000
"""Bytes worth compressing: no page would hold the result of more."""


@dataclass(frozen=True)
class Packed:
    """The block as base64, and how many of the result set's rows are in it."""

    text: str
    rows: int
    total: int


def pack(results: ResultSet, limit: int) -> Packed:
    """Packs all rows of a result set, or a sample of them where all would be more than `limit` characters.

    The sample has every k-th clean row with all its runs, so attacks stay comparable on the rows that are shown.
    """
    total, places = sum(run.rows for run in results.runs), len(results.clean)
    share = min(1.0, _MOST_RAW / max(1, _raw_size(results)))
    while True:
        keep = np.zeros(places, np.bool_)
        if places:
            keep[np.linspace(0, places - 1, max(1, round(share * places))).astype(np.int64)] = True
        rows = sum(int(keep[run.place].sum()) for run in results.runs)
        text = base64.b64encode(_block(results, keep)).decode()
        if len(text) <= limit or keep.sum() <= 1:
            return Packed(text, rows, total)
        share *= 0.95 * limit / len(text)


def _raw_size(results: ResultSet) -> int:
    pairs = sum(len(run.changes.keys) + len(run.after.keys) for run in results.runs)
    return len(results.clean) * len(results.schema.features) * 2 + 4 * pairs + 8 * sum(map(len, results.runs))


def _block(results: ResultSet, keep: Bool[np.ndarray, "places"]) -> bytes:
    """Little-endian: the length of a JSON header, the header, then the columns it names, each aligned to 8 bytes."""
    columns = _columns(results, keep)
    table: dict[str, list[Any]] = {}
    body, offset = [], 0
    for name, values in columns.items():
        narrow = _narrow(values)
        content = narrow.tobytes()
        table[name] = [narrow.dtype.str[1:], offset, len(narrow)]
        padding = -len(content) % 8
        body.append(content + bytes(padding))
        offset += len(content) + padding
    header = json.dumps(_header(results) | {"columns": table}, ensure_ascii=False).encode()
    header += b" " * (-(len(header) + 4) % 8)
    # Level 6 takes three times as long to save 2 %. mtime=0: the same results make the same page, byte for byte.
    return gzip.compress(len(header).to_bytes(4, "little") + header + b"".join(body), 5, mtime=0)


def _header(results: ResultSet) -> dict[str, Any]:
    victims = results.victims
    return {
        "form": results.form,
        "shown": SHOWN_CLASSES,
        "statuses": STATUSES,
        "schema": results.schema.to_json(),
        "victims": victims,
        "runs": [
            {
                "victim": victims.index(run.facts.victim),
                "attack": run.facts.attack,
                "budget": int(run.facts.budget),
                "budgetText": str(run.facts.budget),
                "seed": run.facts.seed,
            }
            for run in results.runs
        ],
    }


def _columns(results: ResultSet, keep: Bool[np.ndarray, "places"]) -> dict[str, Shaped[np.ndarray, "values"]]:
    new_place = np.cumsum(keep) - 1
    runs = [(run, keep[run.place]) for run in results.runs]

    def joined(name: str) -> Int64[np.ndarray, "rows"]:
        return np.concatenate([np.empty(0, np.int64), *(getattr(run, name)[kept] for run, kept in runs)])

    columns = {
        # Delta-encoded: most rows are in order, so the differences are equal and compress to almost nothing.
        "number_step": _steps(np.array(results.numbers, dtype=np.int64)[keep]),
        "label": np.array(results.labels, dtype=np.int64)[keep],
        "clean": results.clean_ids()[keep].ravel(),
        "run": np.concatenate([np.full(int(kept.sum()), i) for i, (_, kept) in enumerate(runs)]),
        "place_step": _steps(new_place[joined("place")]),
        "status": np.concatenate([_status(run)[kept] for run, kept in runs]),
        "predicted": joined("predicted"),
        "forward": joined("forward"),
        "backward": joined("backward"),
        "stage": joined("stage"),
    }
    if results.rare is not None:
        columns["pairs"] = joined("unseen_pairs")
        columns["anomaly"] = np.concatenate([np.empty(0, np.int64), *(_thousandths(run)[kept] for run, kept in runs)])
    columns |= _pairs("change", Ragged.join([run.changes.take(kept) for run, kept in runs]))
    columns |= _pairs("after", Ragged.join([run.after.take(kept) for run, kept in runs]))
    for number, victim in enumerate(results.victims):
        if victim in results.before:
            places = np.array(results.before[victim].places, dtype=np.int64)
            kept = keep[places]
            places, logits = places[kept], results.before[victim].logits()[kept]
            own = np.array(results.labels, dtype=np.int64)[places]
            columns |= _pairs(f"before{number}", likeliest(logits.astype(np.float64), own))
            columns[f"before{number}_step"] = _steps(new_place[places])
    return columns


def _status(run: RunRows) -> Int64[np.ndarray, "rows"]:
    return status_codes(correct=run.correct, attacked=run.attacked, broken=run.broken, proven=run.proven)


def _thousandths(run: RunRows) -> Int64[np.ndarray, "rows"]:
    """Anomalies in thousandths, rounded down; -1 where none is known."""
    known = ~np.isnan(run.anomaly)
    return np.where(known, np.floor(1000 * np.where(known, run.anomaly, 0.0)), -1).astype(np.int64)


def _steps(values: Int64[np.ndarray, "values"]) -> Int64[np.ndarray, "values"]:
    """Delta-encodes: differences between neighbours, which the browser adds up again."""
    return np.diff(values, prepend=0)


def _pairs(name: str, ragged: Ragged) -> dict[str, Shaped[np.ndarray, "values"]]:
    return {f"{name}_count": ragged.counts, f"{name}_key": ragged.keys, f"{name}_value": ragged.values}


def _narrow(values: Shaped[np.ndarray, "values"]) -> Shaped[np.ndarray, "values"]:
    """The same whole numbers in the narrowest type that holds them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    kinds = ("<i1", "<i2", "<i4") if low < 0 else ("<u1", "<u2", "<u4")
    kind = next(k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return values.astype(kind)
