"""Parts of a date, computed on tensors of seconds since 1970 (UTC)."""

from collections.abc import Callable

import torch
from torch import Tensor

_DAY = 86_400


def _days(seconds: Tensor) -> Tensor:
    return torch.floor(seconds / _DAY)


def _civil(seconds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Year, month and day in the Gregorian calendar.

    Years are counted from March, so that the leap day is the last day of a year, in cycles of 400 years (146,097 days).
    """
    day = _days(seconds) + 719_468  # days since 0000-03-01
    era = torch.floor(day / 146_097)
    of_era = day - era * 146_097
    year_of_era = torch.floor(
        (of_era - torch.floor(of_era / 1_460) + torch.floor(of_era / 36_524) - torch.floor(of_era / 146_096)) / 365
    )
    of_year = of_era - (365 * year_of_era + torch.floor(year_of_era / 4) - torch.floor(year_of_era / 100))
    from_march = torch.floor((5 * of_year + 2) / 153)
    month = torch.where(from_march < 10, from_march + 3, from_march - 9)
    year = year_of_era + era * 400 + (month <= 2)
    return year, month, of_year - torch.floor((153 * from_march + 2) / 5) + 1


CALENDAR: dict[str, Callable[[Tensor], Tensor]] = {
    "year": lambda seconds: _civil(seconds)[0],
    "month": lambda seconds: _civil(seconds)[1],
    "day": lambda seconds: _civil(seconds)[2],
    "weekday": lambda seconds: torch.remainder(_days(seconds) + 3, 7),  # 0 is Monday
    "hour": lambda seconds: torch.floor(torch.remainder(seconds, _DAY) / 3_600),
    "minute": lambda seconds: torch.floor(torch.remainder(seconds, 3_600) / 60),
    "days": _days,
}
"""What a formula may ask of a date."""
