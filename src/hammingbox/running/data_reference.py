"""How to find the data of a run again: a built-in name, or an own file by its content, wherever it is written from."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hammingbox.data.dataset import Splits
from hammingbox.data.read_columns import read_columns
from hammingbox.data.reading import Reading
from hammingbox.data.registry import DATASETS, source_named
from hammingbox.errors import FileError, HammingboxError, InputError
from hammingbox.evaluation.drawing import Sample
from hammingbox.files import file_sha256


@dataclass(frozen=True)
class DataReference:
    """Where data is and how it is read.

    Attributes:
        name: a built-in data set, the path of an own file as the user wrote it, or a name that says nothing.
        path: where the own file is; empty for a built-in data set.
        sha256: hash of the content of the own file.
        label: its label column.
        schema: its schema.toml.
        reading: how it was read and split.
        parts: hashes of the files of parts that have their own.
        sample: how the rows of a run were drawn from it; None for the first rows of a split.
        model_name: what the model of a run is called where its name identifies it, in place of its content. It is noted
            here because this is the note that a store keeps of how to repeat a run.
    """

    name: str
    path: str = ""
    sha256: str = ""
    label: str | None = None
    schema: str | None = None
    reading: Reading = field(default_factory=Reading)
    parts: tuple[tuple[str, str], ...] = ()
    sample: Sample | None = None
    model_name: str = ""

    @staticmethod
    def of(
        name: str, *, label: str | None = None, schema: Path | None = None, reading: Reading | None = None
    ) -> "DataReference":
        """The reference of what a user names; a file is hashed."""
        path = Path(name)
        try:
            is_file = name not in DATASETS and path.is_file()
        except (OSError, ValueError):  # a name that cannot be a path
            is_file = False
        if not is_file:
            return DataReference(name)
        where = None if schema is None else str(schema.resolve())
        read = reading or Reading()
        read = read.with_files({part: file.resolve() for part, file in read.files.items()})
        hashes = tuple((part, file_sha256(file)) for part, file in read.files.items())
        return DataReference(name, str(path.resolve()), file_sha256(path), label, where, read, hashes)

    def rows_of(self, split: str) -> str:
        """What to call the rows of a split: the file that holds them, and which part of it they are."""
        files, own = self.reading.files, Path(self.name).name
        if split in files:
            return files[split].name
        if split == "all" and self.path:
            return " and ".join([own, *(file.name for file in files.values())])
        is_whole = (split == "test" and not self.path) or (split == "train" and {"validation", "test"} <= set(files))
        return own if is_whole else f"{own} ({split} rows)"

    def to_text(self) -> str:
        """As a store keeps it; empty for the first rows of a built-in data set and a model without a name."""
        if not self.path and self.sample is None and not self.model_name:
            return ""
        note: dict[str, Any] = {k: getattr(self, k) for k in ("path", "sha256", "label", "schema")}
        if not self.reading.is_default:
            note |= {"reading": self.reading.to_json(), "parts": dict(self.parts)}
        if self.sample is not None:
            note["sample"] = self.sample.to_json()
        if self.model_name:
            note["model_name"] = self.model_name
        return json.dumps(note, sort_keys=True)

    @staticmethod
    def from_text(name: str, text: str) -> "DataReference":
        """What a store kept about the data of a run.

        Raises:
            FileError: it is damaged.
        """
        if not text:
            return DataReference.of(name)
        try:
            value = json.loads(text)
            reading = Reading.from_json(value.get("reading", {}))
            parts = tuple((str(part), str(sha256)) for part, sha256 in value.get("parts", {}).items())
            own = (value["path"], value["sha256"], value["label"], value["schema"])
            sample = Sample.from_json(value["sample"]) if "sample" in value else None
            model_name = value.get("model_name", "")
            if not isinstance(model_name, str):
                raise TypeError("expected the name of a model")
            return DataReference(name, *own, reading, parts, sample, model_name)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError) as error:
            raise FileError(f"expected where the data of a run was, got a damaged note ({error}).") from error

    def load(self, data_dir: Path | None = None, *, schema_digest: str = "") -> Splits:
        """Reads the data again.

        Args:
            data_dir: folder that holds the files of built-in data sets.
            schema_digest: of the run. Where nobody noted the label column, the one that leads to this schema is taken.

        Raises:
            HammingboxError: it is not there, is damaged, or has another content than noted.
        """
        if self.name in DATASETS:
            return source_named(self.name).load(data_dir=data_dir)
        path = Path(self.path or self.name)
        if not path.is_file():
            raise FileError(f"expected the data at {path}, got no such file. Name it with --data.")
        if self.sha256 and file_sha256(path) != self.sha256:
            raise FileError(f"expected {path} as it was when it was attacked, got another content.")
        if self.label is not None or self.schema is not None:
            return self._read(path, self.label)
        for column in read_columns(path, encoding=self.reading.encoding).columns:
            try:
                splits = self._read(path, column.name)
            except HammingboxError:
                continue
            if splits.schema.digest == schema_digest:
                return splits
        raise InputError(f"expected the label column of {path}, got none that leads to the run's schema. Pass --label.")

    def _read(self, path: Path, label: str | None) -> Splits:
        schema = None if self.schema is None else Path(self.schema)
        files = {part: self._part(part, file, path) for part, file in self.reading.files.items()}
        return source_named(str(path), label=label, schema=schema, reading=self.reading.with_files(files)).load()

    def _part(self, part: str, noted: Path, path: Path) -> Path:
        """The file of a part: where it was, or beside the file of the training rows, if both have moved.

        Raises:
            FileError: it is not there, or has another content than noted.
        """
        places = [place for place in (noted, path.parent / noted.name) if place.is_file()]
        if not places:
            raise FileError(f"expected the {part} rows at {noted}, got no such file. Put it beside {path}.")
        for place in places:
            if dict(self.parts).get(part) in (None, file_sha256(place)):
                return place
        raise FileError(f"expected {places[0]} as it was when it was attacked, got another content.")
