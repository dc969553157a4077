"""Own splits: by files, time, group and class."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hammingbox.data.dataset import Splits
from hammingbox.data.reading import Reading
from hammingbox.data.split_rule import SplitRule
from hammingbox.data.table import load_table
from hammingbox.data.text_table import load_text_table
from hammingbox.errors import FileError, InputError

ROWS = 400


def visits() -> dict[str, list[object]]:
    random = np.random.default_rng(1)
    return {
        "day": [f"2020-{month:02d}-{day:02d}" for month, day in random.integers(1, (13, 29), (ROWS, 2))],
        "user": random.integers(0, 60, ROWS).tolist(),
        "page": random.integers(0, 500, ROWS).tolist(),
        "bought": [["no", "yes"][int(x < 0.05)] for x in random.random(ROWS)],
    }


def numbers(splits: Splits) -> dict[str, np.ndarray]:
    return {part: getattr(splits, part).numbers.numpy() for part in ("train", "validation", "test")}


def values(column: str, splits: Splits) -> dict[str, np.ndarray]:
    whole = np.array(visits()[column])
    return {part: whole[rows] for part, rows in numbers(splits).items()}


def check_shares(splits: Splits, tolerance: float = 0.03) -> None:
    found = np.concatenate(list(numbers(splits).values()))
    assert sorted(found.tolist()) == list(range(ROWS)), "every row is in one part"
    for part, share in (("train", 0.7), ("validation", 0.1), ("test", 0.2)):
        assert abs(len(getattr(splits, part)) / ROWS - share) <= tolerance, part


def test_by_time_the_oldest_train_and_the_newest_test() -> None:
    table = load_table(visits(), label="bought", time="day")
    check_shares(table.splits)
    day = {part: found.tolist() for part, found in values("day", table.splits).items()}
    assert max(day["train"]) < min(day["validation"])
    assert max(day["validation"]) < min(day["test"]), "rows of one day stay together"
    assert [feature.name for feature in table.splits.schema.features] == ["user", "page"], "time is no feature"
    assert day["train"][:20] != sorted(day["train"])[:20], "the first rows of a part are a fair sample"


def test_by_group_nobody_is_in_two_parts() -> None:
    table = load_table(visits(), label="bought", group="user")
    check_shares(table.splits, tolerance=0.06)
    users = [set(found.tolist()) for found in values("user", table.splits).values()]
    assert not users[0] & users[1] | users[0] & users[2] | users[1] & users[2]


def test_stratified_parts_have_the_same_share_of_each_class() -> None:
    table = load_table(visits(), label="bought", stratified=True)
    check_shares(table.splits)
    rare = [(found == "yes").sum() for found in values("bought", table.splits).values()]
    total = sum(rare)
    assert np.allclose(np.array(rare) / total, [0.7, 0.1, 0.2], atol=1.01 / total)


def test_equal_rows_stay_together() -> None:
    frame = {"a": [i % 50 for i in range(ROWS)], "y": [["n", "y"][i % 50 % 2] for i in range(ROWS)]}
    splits = load_table(frame, label="y", stratified=True).splits
    parts = [set(getattr(splits, part).ids[:, 0].tolist()) for part in ("train", "validation", "test")]
    assert not parts[0] & parts[1] | parts[0] & parts[2] | parts[1] & parts[2]


def test_files_of_their_own() -> None:
    test = {name: column[:30] for name, column in visits().items()}
    table = load_table(visits(), label="bought", test=test, time="day")
    assert table.splits.test.numbers.tolist() == list(range(ROWS, ROWS + 30)), "numbered on from the training file"
    assert len(table.splits.train) + len(table.splits.validation) == ROWS
    assert abs(len(table.splits.validation) / ROWS - 1 / 8) < 0.03
    assert values_of(table.splits) == [str(v) for v in test["page"]]
    all_three = load_table(visits(), label="bought", validation=test, test=test)
    assert (len(all_three.splits.train), len(all_three.splits.validation)) == (ROWS, 30)


def values_of(splits: Splits) -> list[str]:
    page = [feature.name for feature in splits.schema.features].index("page")
    return [splits.schema.decode(row)[page] for row in splits.test.ids.tolist()]


BAD: Mapping[str, tuple[dict[str, object], str]] = {
    "no such column": ({"time": "dya"}, "time column of the frame .* got 'dya'. Did you mean 'day'"),
    "a column without order": (
        {"time": "bought"},
        r"dates .* or numbers in the time column 'bought' .* row 0",
    ),
    "two rules": ({"time": "day", "group": "user"}, "one of --time, --group and --stratified, got several"),
    "too few groups": ({"group": "bought"}, "enough distinct rows, times or groups .* none of which is for"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rules_are_one_clear_sentence(case: str) -> None:
    arguments, message = BAD[case]
    with pytest.raises(InputError, match=message):
        load_table(visits(), label="bought", **arguments)  # type: ignore[arg-type]


def test_a_reading_survives_its_note() -> None:
    reading = Reading(Path("v.csv"), None, SplitRule(time="day"), "latin-1", "review", "characters")
    assert Reading.from_json(reading.to_json()) == reading
    assert Reading.from_json({}) == Reading()
    options = ["--validation", "v.csv", "--time", "day", "--encoding", "latin-1", "--text", "review"]
    assert reading.command_options() == [*options, "--text-unit", "characters"]
    assert Reading(rule=SplitRule(stratified=True)).command_options() == ["--stratified"]
    with pytest.raises(FileError):
        Reading.from_json({"time": 3})
    with pytest.raises(InputError, match="unit of text"):
        Reading(unit="letters")


def reviews() -> dict[str, list[object]]:
    return {
        "review": [f"A {'fine' if i % 2 else 'dull'} film about the number {i} and its friends" for i in range(60)],
        "day": [f"2020-01-{i // 2 + 1:02d}" for i in range(60)],
        "mood": [["bad", "good"][i % 2] for i in range(60)],
    }


def test_a_column_of_text_becomes_words_or_characters() -> None:
    for unit, first in (("words", ("a", "dull", "film")), ("characters", ("A", " ", "d"))):
        splits = load_text_table(reviews(), label="mood", reading=Reading(text="review", unit=unit))
        rows = {int(n): row for n, row in zip(splits.train.numbers, splits.train.ids.tolist(), strict=True)}
        number = min(n for n in rows if n % 2 == 0)
        assert splits.schema.decode(rows[number])[:3] == first
        found = np.concatenate(list(numbers(splits).values()))
        assert sorted(found.tolist()) == list(range(60)), "rows keep their number in the file"
        assert splits.schema.classes == ("bad", "good")
        assert splits.train.labels.tolist() == [int(n) % 2 for n in splits.train.numbers]
    by_time = load_text_table(reviews(), label="mood", reading=Reading(text="review", rule=SplitRule(time="day")))
    assert int(by_time.train.numbers.max()) < int(by_time.test.numbers.min())
    with pytest.raises(InputError, match=r"column of text of the frame .* got 'reviw'"):
        load_text_table(reviews(), label="mood", reading=Reading(text="reviw"))


def test_texts_are_not_taken_for_categories() -> None:
    frame = {name: column for name, column in reviews().items() if name != "day"}
    with pytest.raises(InputError, match=r"got texts in column 'review': .* --text 'review'"):
        load_table(frame, label="mood")
