"""Formulas over columns: a small language that is parsed here and computed on tensors; nothing is ever evaluated.

Python's own parser reads the text, and every node that is not listed below is refused. Logic has three values: a
comparison with an empty cell is unknown, and a rule that is unknown is not broken (as CHECK in SQL).
"""

import ast
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.data.schema import Feature, Schema
from hammingbox.data.values import MISSING, UNKNOWN, number_of
from hammingbox.errors import InputError, did_you_mean
from hammingbox.threat.rules.calendar import CALENDAR
from hammingbox.threat.rules.operators import ARITHMETIC, COMPARISONS, MIRRORED, OF_MANY, OF_ONE
from hammingbox.threat.rules.readings import is_numeric, reading
from hammingbox.threat.rules.truth import Truth, both, either, negated

_LONGEST = 4_000
_DEEPEST = 60


Ids = Int64[Tensor, "... columns"]
_Number = Callable[[Ids, Ids], Tensor]
_Logic = Callable[[Ids, Ids], Truth]


@dataclass(frozen=True)
class _Column:
    """A column as a formula names it; `of_clean` is the value that the row had before the attack."""

    feature: Feature
    place: int
    of_clean: bool = False

    def ids(self, written: Ids, clean: Ids) -> Tensor:
        return (clean if self.of_clean else written)[..., self.place]


class Expression:
    """A formula.

    Columns are written by their names, or as col["any name"]. There are + - * / // %, comparisons (also chained),
    and, or, not, in [...], abs, min, max, round, floor, changed(a), clean(a), known(a), and for dates year, month,
    day, weekday, hour, minute, days. Texts are categories: city == "Paris"; a text beside a date is a date.

    Args:
        text: the formula.
        schema: what its names mean.

    Raises:
        InputError: it is no formula of this language, or names something unknown.
    """

    def __init__(self, text: str, schema: Schema) -> None:
        self.text, self._schema = text, schema
        self._columns: list[int] = []
        tree = _parsed(text)
        self._number: _Number | None = None
        self._logic: _Logic | None = None
        part = self._part(tree)
        is_flag = isinstance(part, _IsColumn) and part.column.feature.kind == "boolean"
        if isinstance(part, _IsLogic) or is_flag:
            self._logic = self._as_logic(part)
        else:
            self._number = self._as_number(part)
        if not self._columns:
            raise self._error("names no column")

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns it reads, in the order in which they occur."""
        return tuple(self._columns)

    @property
    def is_logic(self) -> bool:
        """Whether it is true or false, not a number."""
        return self._logic is not None

    def truth(self, written: Ids, clean: Ids) -> Truth:
        """Whether it holds, at points given as the ids of its columns."""
        if self._logic is None:
            raise self._error("is a number, not a comparison")
        return self._logic(written, clean)

    def numbers(self, written: Ids, clean: Ids) -> Float64[Tensor, "..."]:
        """Its number at points given as the ids of its columns: NaN where unknown, 1 and 0 for true and false."""
        if self._number is not None:
            return torch.broadcast_to(self._number(written, clean), written.shape[:-1])
        truth = self.truth(written, clean)
        number = (~truth.can_fail).double()
        return torch.where(truth.can_hold & truth.can_fail, torch.nan, number)

    def _error(self, reason: str) -> InputError:
        return InputError(f"expected a formula such as a + b <= c, got {self.text!r:.200}, which {reason}.")

    def _part(self, node: ast.expr) -> "_Part":
        """A node as a number, a truth, a column or a literal."""
        match node:
            case ast.Constant(value=bool() as value):
                return _IsNumber(_constant(float(value)))
            case ast.Constant(value=(int() | float()) as value):
                try:
                    return _IsNumber(_constant(float(value)))
                except OverflowError:
                    raise self._error("holds a number that is too large") from None
            case ast.Constant(value=str() as value):
                return _IsText(value)
            case ast.Name(id=name):
                return _IsNumber(_constant(float(name == "true"))) if self._is_truth_word(name) else self._column(name)
            case ast.Subscript(value=ast.Name(id="col"), slice=ast.Constant(value=str() as name)):
                return self._column(name)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._as_logic(self._part(operand))
                return _IsLogic(lambda w, c: negated(inner(w, c)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self._as_number(self._part(operand))
                return _IsNumber(lambda w, c: -number(w, c))
            case ast.BoolOp(op=op, values=values):
                parts = [self._as_logic(self._part(value)) for value in values]
                join = both if isinstance(op, ast.And) else either
                return _IsLogic(lambda w, c: join([part(w, c) for part in parts]))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
                return self._arithmetic(ARITHMETIC[type(op)], left, right)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                compared = [self._compared(a, op, b) for a, op, b in zip(sides, ops, others, strict=False)]
                return _IsLogic(lambda w, c: both([part(w, c) for part in compared]))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args)
        raise self._error("holds something other than columns, numbers, texts, comparisons and known functions")

    def _is_truth_word(self, name: str) -> bool:
        return name in ("true", "false") and all(feature.name != name for feature in self._schema.features)

    def _column(self, name: str) -> "_IsColumn":
        index = self._schema.feature_index(name)
        if index not in self._columns:
            self._columns.append(index)
        return _IsColumn(_Column(self._schema.features[index], self._columns.index(index)))

    def _as_number(self, part: "_Part") -> _Number:
        if isinstance(part, _IsNumber):
            return part.compute
        if isinstance(part, _IsColumn):
            column = part.column
            if not is_numeric(column.feature):
                raise self._error(f"computes with column {column.feature.name!r}, whose categories are not numbers")
            table = reading(column.feature)
            return lambda w, c: table.to(w.device)[column.ids(w, c)]
        raise self._error("computes with a text or a comparison")

    def _as_logic(self, part: "_Part") -> _Logic:
        if isinstance(part, _IsLogic):
            return part.compute
        number = self._as_number(part)  # a column of 0 and 1
        return lambda w, c: Truth.of((value := number(w, c)) != 0, ~value.isnan())

    def _arithmetic(self, operation: Callable[[Any, Any], Any], left: ast.expr, right: ast.expr) -> "_IsNumber":
        a, b = self._as_number(self._part(left)), self._as_number(self._part(right))
        return _IsNumber(lambda w, c: _finite(operation(a(w, c), b(w, c))))

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> _Logic:
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple) or not right.elts:
                raise self._error("has no list after in")
            equal = [self._compared(left, ast.Eq(), each) for each in right.elts]
            is_in: _Logic = lambda w, c: either([part(w, c) for part in equal])  # noqa: E731
            return is_in if isinstance(op, ast.In) else lambda w, c: negated(is_in(w, c))
        if type(op) not in COMPARISONS:
            raise self._error("compares with something other than < <= == != >= > and in")
        a, b = self._part(left), self._part(right)
        if isinstance(a, _IsText) and isinstance(b, _IsColumn):
            return self._with_text(b.column, MIRRORED[type(op)], a.text)
        if isinstance(a, _IsColumn) and isinstance(b, _IsText):
            return self._with_text(a.column, type(op), b.text)
        if isinstance(a, _IsColumn) and isinstance(b, _IsColumn) and not is_numeric(a.column.feature):
            return self._of_texts(a.column, type(op), b.column)
        compare = COMPARISONS[type(op)]
        x, y = self._as_number(a), self._as_number(b)

        def logic(w: Ids, c: Ids) -> Truth:
            left_number, right_number = torch.broadcast_tensors(x(w, c), y(w, c))
            return Truth.of(compare(left_number, right_number), ~(left_number.isnan() | right_number.isnan()))

        return logic

    def _with_text(self, column: _Column, op: type[ast.cmpop], text: str) -> _Logic:
        """A column against a text: a category, or a date or number that an ordered column is compared with."""
        feature = column.feature
        if feature.is_ordered and (number := number_of(text, feature.kind)) is not None:
            compare, table = COMPARISONS[op], reading(feature)

            def ordered(w: Ids, c: Ids) -> Truth:
                own = table.to(w.device)[column.ids(w, c)]
                return Truth.of(compare(own, torch.full_like(own, number)), ~own.isnan())

            return ordered
        if op not in (ast.Eq, ast.NotEq):
            raise self._error(f"compares the size of a text in column {feature.name!r}")
        wanted = feature.id_of(text)
        if wanted is None:
            closest = did_you_mean(text, feature.categories)
            raise InputError(
                f"expected a category of column {feature.name!r} in {self.text!r:.200}, got {text!r:.80}.{closest}"
            )
        is_equal = op is ast.Eq

        def logic(w: Ids, c: Ids) -> Truth:
            value = (column.ids(w, c) == wanted) == is_equal
            return Truth(value, ~value)

        return logic

    def _of_texts(self, a: _Column, op: type[ast.cmpop], b: _Column) -> _Logic:
        """Two columns of categories: equal if their texts are."""
        if op not in (ast.Eq, ast.NotEq) or is_numeric(b.feature):
            raise self._error(f"compares the size of a text in column {a.feature.name!r}")
        place = {text: i for i, text in enumerate(a.feature.categories)}
        table = torch.tensor([place.get(text, -1) for text in b.feature.categories], device="cpu")
        is_equal = op is ast.Eq

        def logic(w: Ids, c: Ids) -> Truth:
            value = (a.ids(w, c) == table.to(w.device)[b.ids(w, c)]) == is_equal
            return Truth(value, ~value)

        return logic

    def _call(self, name: str, args: list[ast.expr]) -> "_Part":
        parts = [self._part(arg) for arg in args]
        if name in ("changed", "clean", "known"):
            if len(parts) != 1 or not isinstance(parts[0], _IsColumn):
                raise self._error(f"calls {name} with something other than one column")
            return self._about_column(name, parts[0].column)
        if name in CALENDAR:
            if len(parts) != 1 or not isinstance(parts[0], _IsColumn) or parts[0].column.feature.kind != "date":
                raise self._error(f"calls {name} with something other than one column of dates")
            moment, read = self._as_number(parts[0]), CALENDAR[name]
            return _IsNumber(lambda w, c: read(moment(w, c)))
        numbers = [self._as_number(part) for part in parts]
        if name in OF_ONE and len(numbers) == 1:
            apply = OF_ONE[name]
            return _IsNumber(lambda w, c: apply(numbers[0](w, c)))
        if name in OF_MANY and len(numbers) > 1:
            join = OF_MANY[name]

            def joined(w: Ids, c: Ids) -> Tensor:
                found = numbers[0](w, c)
                for number in numbers[1:]:
                    found = join(found, number(w, c))
                return found

            return _IsNumber(joined)
        known = ["changed", "clean", "known", *CALENDAR, *OF_ONE, *OF_MANY]
        raise self._error(f"calls {name}; known are {', '.join(known)}")

    def _about_column(self, name: str, column: _Column) -> "_Part":
        if name == "clean":
            return _IsColumn(_Column(column.feature, column.place, of_clean=True))
        if name == "known":
            numbers = reading(column.feature)
            table = torch.ones(len(numbers), dtype=torch.bool, device="cpu")
            table[[i for i, text in enumerate(column.feature.categories) if text in (MISSING, UNKNOWN)]] = False
            if is_numeric(column.feature):
                table &= ~numbers.isnan()
            return _IsLogic(lambda w, c: Truth(value := table.to(w.device)[column.ids(w, c)], ~value))
        return _IsLogic(lambda w, c: Truth(value := w[..., column.place] != c[..., column.place], ~value))


@dataclass(frozen=True)
class _IsNumber:
    compute: _Number


@dataclass(frozen=True)
class _IsLogic:
    compute: _Logic


@dataclass(frozen=True)
class _IsColumn:
    column: _Column


@dataclass(frozen=True)
class _IsText:
    text: str


_Part = _IsNumber | _IsLogic | _IsColumn | _IsText


def _parsed(text: Any) -> ast.expr:
    """The syntax tree of a formula.

    Raises:
        InputError: it is no expression, too long, or nested too deeply.
    """
    if not isinstance(text, str) or not text.strip() or len(text) > _LONGEST:
        raise InputError(f"expected a formula of at most {_LONGEST:,} characters, got {text!r:.80}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's compiler, about texts that are not Python
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"expected a formula such as a + b <= c, got {text!r:.200} ({reason}).") from error
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise InputError(f"expected a formula of at most {_DEEPEST} levels, got {text!r:.80}. Split it into several.")
    return tree


def _constant(number: float) -> _Number:
    return lambda w, _c: torch.tensor(number, dtype=torch.float64, device=w.device)


def _finite(numbers: Tensor) -> Tensor:
    """Division by zero has no number."""
    return torch.where(numbers.isfinite(), numbers, torch.nan)
