"""How a user's own file is read: its encoding, its split, its test file, its column of text."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hammingbox.data.split_rule import SplitRule
from hammingbox.errors import FileError, InputError, unknown_name

UNITS = ("words", "characters")


@dataclass(frozen=True)
class Reading:
    """How a user's own file is read.

    Attributes:
        validation: a file of validation rows; without it they are a part of the file.
        test: a file of test rows; without it they are a part of the file.
        rule: what decides the part of a row.
        encoding: of text files.
        text: the column of text; the file is then a corpus, not a table.
        unit: what a feature of a text is: "words" or "characters".
    """

    validation: Path | None = None
    test: Path | None = None
    rule: SplitRule = field(default_factory=SplitRule)
    encoding: str = "utf-8-sig"
    text: str | None = None
    unit: str = "words"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise unknown_name("unit of text", self.unit, UNITS)
        if self.validation is not None and self.test is not None and self.rule != SplitRule():
            raise InputError(
                "expected --time, --group or --stratified only where rows are split, got files for all parts. "
                "Leave them out."
            )

    @property
    def is_default(self) -> bool:
        """Whether nothing is said about the file."""
        return self == Reading()

    @property
    def files(self) -> dict[str, Path]:
        """The files of parts that have their own."""
        named = {"validation": self.validation, "test": self.test}
        return {part: path for part, path in named.items() if path is not None}

    def with_files(self, files: Mapping[str, Path]) -> "Reading":
        """The same with other files of parts."""
        return replace(self, validation=files.get("validation", self.validation), test=files.get("test", self.test))

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        own = {
            "validation": None if self.validation is None else str(self.validation),
            "test": None if self.test is None else str(self.test),
            "time": self.rule.time, "group": self.rule.group, "stratified": self.rule.stratified or None,
            "encoding": None if self.encoding == Reading.encoding else self.encoding, "text": self.text,
            "unit": None if self.unit == Reading.unit else self.unit,
        }  # fmt: skip
        return {name: value for name, value in own.items() if value is not None}

    def command_options(self) -> list[str]:
        """The options of the command line that say the same."""
        names = {"unit": "text-unit"}
        return [
            word
            for name, value in self.to_json().items()
            for word in (f"--{names.get(name, name)}", *([] if value is True else [str(value)]))
        ]

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Reading":
        """Inverse of `to_json`.

        Raises:
            FileError: it is damaged.
        """
        texts = {name: value.get(name) for name in ("validation", "test", "time", "group", "encoding", "text", "unit")}
        if not all(isinstance(text, str | None) for text in texts.values()):
            raise FileError("expected how an own file was read, got a damaged note.")
        rule = SplitRule(texts["time"], texts["group"], value.get("stratified") is True)
        paths = {part: None if (path := texts[part]) is None else Path(path) for part in ("validation", "test")}
        encoding, unit = texts["encoding"] or Reading.encoding, texts["unit"] or Reading.unit
        return Reading(**paths, rule=rule, encoding=encoding, text=texts["text"], unit=unit)
