"""ONNX models, asked through onnxruntime: one input for all columns, or one input per column."""

from typing import Any

import numpy as np

from hammingbox.errors import InputError, VictimError, missing_library
from hammingbox.files import damage_as_file_error, sha256
from hammingbox.victims.frames import text_of
from hammingbox.victims.libraries.facts import KnownType, ModelFacts
from hammingbox.victims.libraries.trial import check_opens

_TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
    "tensor(string)": "str",
}


def read(content: bytes, source: object) -> ModelFacts:
    """A model file. It is read from memory, so it cannot refer to other files.

    Raises:
        FileError: it is damaged.
        InputError: onnxruntime is not installed, or the model takes or returns something else than a table.
    """
    try:
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise missing_library("onnxruntime", "onnx", f"to read {source}", error) from error
    check_opens("onnx", content, source)
    model = OnnxModel(content, source)
    inputs, outputs = model.session.get_inputs(), model.session.get_outputs()
    strange = next((part for part in inputs if part.type not in _TYPES or len(part.shape or ()) > 2), None)
    if strange is not None:
        raise InputError(
            f"expected an ONNX model that takes columns of numbers or texts, got the input {strange.name!r} of type "
            f"{strange.type} and shape {strange.shape}."
        )
    scores = [part for part in outputs if part.type in ("tensor(float)", "tensor(double)") or "map" in part.type]
    if not scores:
        raise InputError(
            f"expected an ONNX model with an output of probabilities, got {', '.join(part.name for part in outputs)}."
        )
    model.scores = next((part.name for part in scores if "prob" in part.name.lower()), scores[-1].name)
    if len(inputs) == 1:
        width = inputs[0].shape[-1] if len(inputs[0].shape or ()) == 2 else None
        count = width if isinstance(width, int) else None
        dtype = _TYPES[inputs[0].type]
        types: dict[str | int, KnownType] = {place: KnownType(dtype) for place in range(count or 0)}
        return ModelFacts(
            model, "onnx", "array", None, count, types, None, None, sha256(content), (), model.seen_classes
        )
    names = tuple(part.name for part in inputs)
    types = {part.name: KnownType(_TYPES[part.type]) for part in inputs}
    return ModelFacts(
        model, "onnx", "frame", names, len(names), types, None, None, sha256(content), (), model.seen_classes
    )


class OnnxModel:
    """A session that can be copied to another process: it is opened again there."""

    scores = ""
    """The output that holds the probabilities."""
    _classes: tuple[Any, ...] | None = None

    def __init__(self, content: bytes, source: object) -> None:
        self.content, self.source = content, str(source)
        self.session = self._opened()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.session = self._opened()

    def __call__(self, table: Any) -> Any:
        """The probabilities of a table."""
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            kind = _TYPES[inputs[0].type]
            given = {inputs[0].name: table.astype(object if kind == "str" else kind)}
        else:
            given = {part.name: _column(table[part.name], _TYPES[part.type]) for part in inputs}
        (answers,) = self.session.run([self.scores], given)
        if isinstance(answers, list):
            self._classes = tuple(answers[0])
            return _from_maps(answers)
        return answers

    def seen_classes(self) -> tuple[Any, ...] | None:
        """The names of the classes, if an answer carried them: a converter may write a mapping per row."""
        return self._classes

    def _opened(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # errors come as exceptions
        with damage_as_file_error(self.source, "a whole ONNX model", "Save it again."):
            return onnxruntime.InferenceSession(self.content, options, providers=["CPUExecutionProvider"])


def _column(values: Any, kind: str) -> Any:
    column = values.to_numpy(dtype=object if kind == "str" else kind)
    return column[:, None]


def _from_maps(answers: list[Any]) -> Any:
    """One mapping from classes to probabilities per row, as converters write them, as an array."""
    names = list(answers[0])
    if any(list(answer) != names for answer in answers):
        raise VictimError(f"expected probabilities of {', '.join(map(text_of, names))} for every row, got others.")
    return np.array([list(answer.values()) for answer in answers])
