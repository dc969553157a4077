"""The docs name what is there: attacks, public names, diagnostics."""

import re
from pathlib import Path

import hammingbox
from hammingbox import ATTACKS, DEFENCES
from hammingbox.evaluation import diagnose
from hammingbox.evaluation.diagnose import Finding

DOCS = Path(__file__).parents[2] / "docs"


def test_every_attack_and_defence_is_in_its_guide() -> None:
    attacks, defences = ((DOCS / "guides" / f"{name}.md").read_text() for name in ("attacks", "defences"))
    assert [name for name in ATTACKS if f"| `{name}` |" not in attacks] == []
    assert [name for name in DEFENCES if f"| `{name}` |" not in defences] == []


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(path.read_text() for path in (DOCS / "reference").glob("*.md"))
    described = set(re.findall(r"^::: hammingbox\.(\w+)$", text, re.M))
    assert described == set(hammingbox.__all__)


def test_every_diagnostic_has_a_page() -> None:
    code = "".join(path.read_text() for path in Path(diagnose.__file__).parent.glob("*_findings.py"))
    checks = set(re.findall(r'Finding\(\s*"([^"]+)"', code))
    assert len(checks) > 10
    slugs = {Finding(check, "note", "", "", "").slug for check in checks}
    pages = {path.stem for path in (DOCS / "diagnostics").glob("*.md")} - {"index"}
    assert pages == slugs
