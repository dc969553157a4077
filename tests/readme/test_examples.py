"""Every example runs, small, and does what it says."""

from pathlib import Path

import pytest

from toys.examples import EXAMPLES, load_example


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short_and_tested(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 60
    tests = "".join(file.read_text() for file in Path(__file__).parent.glob("test_example*.py"))
    assert f'load_example("{path.stem}")' in tests, "add a test that runs it"


def test_own_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accuracy = load_example("own_table").main(tmp_path, epochs=6)
    assert accuracy > 0.75, "better than the commonest class (70 %)"
    assert "1728 rows, classes {'acc': 384, 'good': 69, 'unacc': 1210, 'vgood': 65}" in capsys.readouterr().out
    assert (tmp_path / "schema.toml").read_text().count("immutable = true") == 1


def test_own_model(capsys: pytest.CaptureFixture[str]) -> None:
    success = load_example("own_model").main(epochs=1, rows=8)
    assert success > 0.3
    assert "two changed bases break" in capsys.readouterr().out


def test_audit_credit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load_example("audit_credit").main(tmp_path, rows_per_class=20)
    assert "bad -> good" in capsys.readouterr().out
    assert found.classes[1].lines[0].attacked > 5
    assert (tmp_path / "audit" / "report.html").is_file()
    changed = found.rows(3)["changes"].str.cat(sep="; ")
    assert "age: " not in changed
