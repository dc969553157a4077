"""The prices of one column as tensors: what each change costs, for many changes at once."""

from decimal import Decimal

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from hammingbox.data.schema import Feature
from hammingbox.errors import InputError
from hammingbox.threat.rules.limits import NO_LIMITS, places_in_order
from hammingbox.threat.rules.prices import ANY, CANNOT, ColumnRule, category_id
from hammingbox.threat.rules.readings import TOLERANCE, reading
from hammingbox.threat.rules.unit import MOST_TICKS

_UNSTATED = -2
_LARGEST_TABLE = 1 << 16
"""Pairs of categories whose prices are kept in one table; more are computed when they are asked for."""
_DAY = 86_400


class Tariff:
    """What changes of one column cost.

    Args:
        rule: of the column.
        feature: the column.
        priced: whether changes have prices; if not, every allowed change costs 1.

    Raises:
        InputError: the rule does not fit the column.
    """

    def __init__(self, rule: ColumnRule, feature: Feature, *, priced: bool) -> None:
        rule.check(feature, priced=priced)
        self._rule, self._feature = rule, feature
        self._flat = (CANNOT if rule.price == CANNOT else 1) if not priced else rule.price
        size = len(feature.categories)
        self._numbers = reading(feature)
        self._places = self._numbers if feature.is_ordered else places_in_order(feature, rule.order)
        self._step = Decimal(1) if rule.step is None else rule.step * (_DAY if feature.kind == "date" else 1)
        self._write = torch.full((size,), _UNSTATED, dtype=torch.int64, device="cpu")
        self._to, self._from = self._write.clone(), self._write.clone()
        for text, price in rule.write.items():
            self._write[category_id(feature, text)] = price
        keys, prices = [], []
        for own, to, price in rule.pairs:
            if own == to == ANY:
                self._flat = price
            elif own == ANY:
                self._to[category_id(feature, to)] = price
            elif to == ANY:
                self._from[category_id(feature, own)] = price
            else:
                keys.append(category_id(feature, own) * size + category_id(feature, to))
                prices.append(price)
        self._pairs, order = torch.sort(torch.tensor(keys, dtype=torch.int64, device="cpu"))
        self._pair_prices = torch.tensor(prices, dtype=torch.int64, device="cpu")[order]
        self._table: Int64[Tensor, "pairs"] | None = None
        if size * size <= _LARGEST_TABLE:
            every = torch.arange(size, device="cpu")
            self._table = self._compute(every[:, None].expand(size, size), every.expand(size, size)).flatten()
        if rule.limits != NO_LIMITS and size > 1 and not self._some_change():
            raise InputError(
                f"expected limits of column {feature.name!r} that allow some change, got limits that allow none. "
                "Loosen one of them, or write frozen = true."
            )

    def ticks(self, clean: Int64[Tensor, "*points"], written: Int64[Tensor, "*points"]) -> Int64[Tensor, "*points"]:
        """What each change costs: 0 where nothing changes, `CANNOT` where the change is not allowed."""
        if self._table is not None:
            return self._table.to(clean.device)[clean * len(self._feature.categories) + written]
        return self._compute(clean, written)

    def _some_change(self) -> bool:
        """Whether any value may replace any other: looks at a few values first, and at all only if those allow none."""
        size = len(self._feature.categories)
        for stride in dict.fromkeys((max(1, size // 256), 1)):
            for clean in torch.arange(0, size, stride, device="cpu").split(max(1, _LARGEST_TABLE // size)):
                written = torch.arange(size, device="cpu").expand(len(clean), size)
                own = clean[:, None].expand_as(written)
                if bool(((self.ticks(own, written) != CANNOT) & (own != written)).any()):
                    return True
        return False

    def _compute(self, clean: Int64[Tensor, "*points"], written: Int64[Tensor, "*points"]) -> Int64[Tensor, "*points"]:
        device, rule = clean.device, self._rule
        if rule.frozen:
            return torch.where(clean == written, 0, CANNOT)
        steps = self._steps(clean, written)
        price = torch.full_like(clean, CANNOT if self._flat is None else self._flat)
        if rule.is_stepped:
            price = self._stepped_price(steps)
        price = _override(price, self._write.to(device)[written])
        price = _override(price, self._from.to(device)[clean])
        price = _override(price, self._to.to(device)[written])
        if len(self._pairs):
            pairs, key = self._pairs.to(device), clean * len(self._feature.categories) + written
            place = torch.searchsorted(pairs, key.contiguous()).clamp(max=len(pairs) - 1)
            stated = torch.where(pairs[place] == key, self._pair_prices.to(device)[place], _UNSTATED)
            price = _override(price, stated)
        limits, numbers = rule.limits, self._numbers.to(device)
        allowed = limits.allow(numbers[clean], numbers[written], self._feature)
        if limits.direction == "grows":
            allowed = allowed & (steps > 0)
        elif limits.direction == "shrinks":
            allowed = allowed & (steps < 0)
        if limits.most_steps is not None:
            allowed = allowed & (steps.abs() <= limits.most_steps)
        return torch.where(clean == written, 0, torch.where(allowed, price, CANNOT))

    def _steps(self, clean: Int64[Tensor, "*points"], written: Int64[Tensor, "*points"]) -> Float64[Tensor, "*points"]:
        """How many steps up (positive) or down a change takes; a part of a step counts as one; NaN without an order."""
        places = self._places.to(clean.device)
        exact = (places[written] - places[clean]) / float(self._step)
        slack = TOLERANCE * exact.abs().clamp(min=1.0)
        # Never 0 for a change: values closer than the tolerance are still two values.
        return exact.sign() * (exact.abs() - slack).ceil().clamp(min=1.0)

    def _stepped_price(self, steps: Float64[Tensor, "*points"]) -> Int64[Tensor, "*points"]:
        """The price of a number of steps; what would cost more than any budget cannot be written."""
        rule = self._rule
        up, down = (CANNOT if price is None else price for price in (rule.up, rule.down))
        each = torch.where(steps > 0, float(up), float(down))
        total = each * steps.abs()
        possible = (each >= 0) & ~steps.isnan() & (total <= MOST_TICKS)
        return torch.where(possible, total, float(CANNOT)).long()


def _override(price: Tensor, stated: Tensor) -> Tensor:
    return torch.where(stated == _UNSTATED, price, stated)
