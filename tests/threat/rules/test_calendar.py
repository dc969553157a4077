"""The calendar on every day of sixteen centuries, against NumPy's."""

import numpy as np
import torch

from hammingbox.threat.rules.calendar import CALENDAR


def test_every_day_of_four_cycles() -> None:
    """The rules of leap years repeat after 400 years, so four whole cycles hold every case several times."""
    dates = np.arange("1199-12-30", "2801-01-03", dtype="datetime64[D]")
    days = dates.astype(np.int64)
    seconds = torch.from_numpy(days.astype(np.float64)) * 86_400
    months = dates.astype("datetime64[M]")
    wanted = {
        "year": dates.astype("datetime64[Y]").astype(np.int64) + 1970,
        "month": months.astype(np.int64) % 12 + 1,
        "day": (dates - months).astype(np.int64) + 1,
        "weekday": (days + 3) % 7,  # 1970-01-01 was a Thursday
        "days": days,
    }
    for moment in (0, 86_399):  # the first and the last second of the day
        for name, numbers in wanted.items():
            assert np.array_equal(CALENDAR[name](seconds + moment).numpy(), numbers), name


def test_every_minute_of_three_days() -> None:
    seconds = torch.arange(-100_000, 100_000, dtype=torch.float64)
    of_day = np.arange(-100_000, 100_000) % 86_400
    assert np.array_equal(CALENDAR["hour"](seconds).numpy(), of_day // 3_600)
    assert np.array_equal(CALENDAR["minute"](seconds).numpy(), of_day % 3_600 // 60)
