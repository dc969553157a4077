"""Measures `hammingbox threat propose` on a table of 1,000,000 rows and 50 columns: seconds and peak memory.

Run `python benchmarks/threat_propose.py [ROWS]`. The table has known rules (a city decides its region and that its
country, sums, products, dates in order, parts of dates, a one-hot group, absent combinations) among columns of noise;
what is proposed is compared with them. The program runs in a process of its own, whose memory and time are those shown.
"""

import csv
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np

ROWS, CHUNK = 1_000_000, 50_000
NOISE_CATEGORIES, NOISE_NUMBERS = 20, 9
WANTED = (
    'by = ["city"]\n# column = "region"',
    'by = ["region"]\n# column = "country"',
    "total == net + tax",
    "amount == quantity * price",
    "month == month(ordered)",
    "ordered <= shipped",
    'columns = ["is_card", "is_cash", "is_transfer", "is_voucher"]',
    'columns = ["model", "engine"]',
)
"""What must be among the proposals."""
NAMES = (
    "city", "region", "country", "net", "tax", "total", "quantity", "price", "amount", "ordered", "shipped", "month",
    "is_card", "is_cash", "is_transfer", "is_voucher", "model", "engine", "exact", "label",
    *(f"kind{i}" for i in range(NOISE_CATEGORIES)), *(f"value{i}" for i in range(NOISE_NUMBERS)), "code",
)  # fmt: skip


def chunks(rows: int) -> Iterator[list[list[object]]]:
    """The rows of the table, a part at a time."""
    random = np.random.default_rng(0)
    days = [str(date(2020, 1, 1) + timedelta(days=i)) for i in range(1000)]
    months = [int(day[5:7]) for day in days]
    for first in range(0, rows, CHUNK):
        n = min(CHUNK, rows - first)
        city = random.integers(0, 2000, n)
        net, tax = random.integers(0, 50_000, n), random.integers(0, 9_000, n)
        quantity, price = random.integers(1, 40, n), random.integers(1, 10_000, n)
        ordered = random.integers(0, 960, n)
        shipped = ordered + random.integers(0, 40, n)
        paid = random.integers(0, 4, n)
        model = random.integers(0, 12, n)
        engine = (model // 3 * 2 + random.integers(0, 3, n)) % 8
        columns: list[Sequence[object]] = [
            [f"c{c}" for c in city.tolist()],
            [f"r{c % 60}" for c in city.tolist()],
            [f"l{c % 12}" for c in (city % 60).tolist()],
            [f"{v / 100:.2f}" for v in net.tolist()],
            [f"{v / 100:.2f}" for v in tax.tolist()],
            [f"{v / 100:.2f}" for v in (net + tax).tolist()],
            quantity.tolist(),
            price.tolist(),
            (quantity * price).tolist(),
            [days[i] for i in ordered.tolist()],
            [days[i] for i in shipped.tolist()],
            [months[i] for i in ordered.tolist()],
            *([int(p == way) for p in paid.tolist()] for way in range(4)),
            model.tolist(),
            engine.tolist(),
            random.random(n).tolist(),
            random.integers(0, 2, n).tolist(),
            *(random.integers(0, 3 + 7 * i, n).tolist() for i in range(NOISE_CATEGORIES)),
            *(np.round(random.gamma(2, 10 * (i + 1), n), 2).tolist() for i in range(NOISE_NUMBERS)),
            random.integers(0, 5000, n).tolist(),
        ]
        yield list(map(list, zip(*columns, strict=True)))


def main() -> None:
    """Writes the table, runs the program, shows what it took and what it found."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        table, proposal = Path(folder) / "table.csv", Path(folder) / "threat.toml"
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(NAMES)
            for part in chunks(rows):
                writer.writerows(part)
        began = time.perf_counter()
        program = [sys.executable, "-m", "hammingbox", "--threads", "1", "threat", "propose"]
        subprocess.run([*program, str(table), "--label", "label", "--out", str(proposal)], check=True)
        seconds = time.perf_counter() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        text = proposal.read_text()
        print(f"{rows:,} rows, {len(NAMES)} columns, {table.stat().st_size / 2**20:.0f} MiB of CSV")
        print(f"{seconds:.0f} s ({used.ru_utime + used.ru_stime:.0f} s of CPU), peak {used.ru_maxrss / 1024:,.0f} MiB")
        print(f"{text.count('# [[relations]]')} proposals")
        for wanted in WANTED:
            print(f"{'found  ' if wanted in text else 'MISSING'} {wanted!r}")


if __name__ == "__main__":
    main()
