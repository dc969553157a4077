"""`hammingbox threat` as a user calls it."""

import json
import re
from pathlib import Path

import pytest

from hammingbox.errors import FileError, InputError
from toys.program import call_program as call

THREAT = """\
unit = 0.1
currency = "EUR"
budgets = [0.1, 1]
[columns."*"]
frozen = true
[columns.city]
price = 0.5
[columns.country]
price = 0
[columns.net]
up = 0.1
down = "cannot"
order = ["1", "2", "3"]
[[derived]]
column = "total"
formula = "net + tax"
agree = 0.9
[[relations]]
kind = "determines"
by = ["city"]
column = "country"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Orders: the city decides the country but in row 7, and the total is wrong in row 8."""
    folder = tmp_path_factory.mktemp("threat")
    cities = {"Paris": "France", "Rome": "Italy", "Milan": "Italy"}
    lines = ["city,country,net,tax,total,kind,label"]
    for i in range(120):
        city = list(cities)[i % 3]
        country = "France" if i == 7 else cities[city]
        net, tax = i % 3 + 1, (i // 3) % 3
        total = net + tax + (i == 8)
        lines.append(f"{city},{country},{net},{tax},{total},{'ab'[i % 2]}{i // 12},{i // 5 % 2}")
    (folder / "orders.csv").write_text("\n".join(lines) + "\n")
    (folder / "threat.toml").write_text(THREAT)
    return folder


def test_check_says_what_the_data_breaks_and_what_changes_cost(folder: Path) -> None:
    shown = call("threat", "check", folder / "orders.csv", folder / "threat.toml", "--label", "label")
    text = " ".join(shown.split())
    assert re.search(r"city decides country\s+1\s+0.83 %\s+7", text), shown
    assert re.search(r"total = net \+ tax\s+1\s+0.83 %\s+8", text), shown
    assert re.search(r"city \+ country\s+120\s+0 EUR\s+0.5 EUR", text), "row 7 is mended for nothing"
    assert "budget 0.1 EUR: pays for some change in 80 of 120 rows" in text
    assert "budget 1 EUR: pays for some change in 120 of 120 rows" in text
    assert "rows that cannot be attacked, since no change is allowed: 0" in text
    facts = json.loads(
        call("threat", "check", folder / "orders.csv", folder / "threat.toml", "--label", "label", "--json")
    )
    assert facts["broken"][0]["rows"] == 1
    assert facts["looked_at"] == 120
    assert round(10 ** facts["log10_largest"]) == 3 * 3, "three cities, and net from 1 to 3"


def test_check_shows_what_can_be_done_to_a_row(folder: Path) -> None:
    table, threat = folder / "orders.csv", folder / "threat.toml"
    shown = call("threat", "check", table, threat, "--label", "label", "--row", 0)
    text = " ".join(shown.split())
    assert "S(x): 9 rows" in text
    facts = json.loads(call("threat", "check", table, threat, "--label", "label", "--row", 0, "--json"))
    moves = {tuple(each["columns"]): each for each in facts["moves"]}
    joint = moves["city", "country"]["cheapest"]
    assert [move["ticks"] for move in joint] == [5, 5]
    assert {"city": "Rome", "country": "Italy"} in [move["write"] for move in joint], "a compound move"
    assert [move["write"] for move in moves["net", "tax"]["cheapest"]] == [
        {"net": "2", "total": "2"}, {"net": "3", "total": "3"},
    ]  # fmt: skip
    broken = json.loads(call("threat", "check", table, threat, "--label", "label", "--row", 7, "--json"))
    assert broken["breaks"] == ["city decides country"]
    with pytest.raises(InputError, match="0 to 119, got 500"):
        call("threat", "check", table, threat, "--label", "label", "--row", 500)


def test_rows_that_no_rule_lets_change_are_counted(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "threat.toml"
    file.write_text('[columns."*"]\nfrozen = true\n[columns.net]\ndirection = "grows"\n')
    shown = call("threat", "check", folder / "orders.csv", file, "--label", "label")
    assert "no change is allowed: 40, such as rows" in " ".join(shown.split()), shown
    row = call("threat", "check", folder / "orders.csv", file, "--label", "label", "--row", 2)
    assert "this row cannot be attacked" in row


def test_a_mistake_is_one_sentence_with_its_line(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "threat.toml"
    file.write_text(THREAT.replace("price = 0.5", "prize = 0.5"))
    with pytest.raises(FileError, match=r"threat.toml, line 7: .*Did you mean 'price'"):
        call("threat", "check", folder / "orders.csv", file, "--label", "label")


def test_a_function_runs_only_if_its_owner_names_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rules_of_orders.py").write_text("def small(written, clean):\n    return written['net'] != '3'\n")
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "threat.toml"
    file.write_text('[[relations]]\nkind = "function"\nfunction = "my_rules_of_orders:small"\ncolumns = ["net"]\n')
    with pytest.raises(FileError, match=r"line 1: .*no file runs code"):
        call("threat", "check", folder / "orders.csv", file, "--label", "label")
    shown = call(
        "threat", "check", folder / "orders.csv", file, "--label", "label", "--function", "my_rules_of_orders:small"
    )
    assert re.search(r"my_rules_of_orders:small\s+40", shown), shown


def test_proposed_lines_are_accepted_by_check(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "proposed.toml"
    call("threat", "propose", folder / "orders.csv", "--label", "label", "--out", file)
    text = file.read_text()
    assert "## kept by 119 of 120 rows (99.17 %), 1 break it" in text
    assert '# formula = "total == net + tax"' in text
    with pytest.raises(FileError, match="--overwrite"):
        call("threat", "propose", folder / "orders.csv", "--label", "label", "--out", file)
    assert call("threat", "propose", folder / "orders.csv", "--label", "label") == text
    file.write_text(re.sub(r"^# ", "", text, flags=re.MULTILINE))
    shown = call("threat", "check", folder / "orders.csv", file, "--label", "label", "--rows", 5)
    assert "total == net + tax" in shown
