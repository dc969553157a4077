"""Lints the report's JavaScript: `python tools/lint_scripts.py`.

The files are parts of one script and share one scope (see `hammingbox.report.page`). The linter therefore reads them
joined, as the browser does: a name that no part defines, or that no part uses, is found. Messages name the file and
line of the part.
"""

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LINTER = Path(sysconfig.get_path("scripts")) / "oxlint"


def main() -> int:
    """Prints one line per problem; 0 if there is none."""
    parts = sorted((ROOT / "src" / "hammingbox").rglob("*.js"))
    if not parts:
        print("expected the scripts of the report in src/hammingbox, got none.")
        return 1
    script, origins = ['"use strict";', "(() => {"], ["", ""]
    for part in parts:
        for number, line in enumerate(part.read_text("utf-8").splitlines(), 1):
            script.append(line)
            origins.append(f"{part.relative_to(ROOT)}:{number}")
    script.append("})();")
    origins.append("")
    with tempfile.TemporaryDirectory() as folder:
        joined = Path(folder) / "page.js"
        joined.write_text("\n".join(script) + "\n", "utf-8")
        command = [str(LINTER), "--config", str(ROOT / ".oxlintrc.json"), "--format", "json", str(joined)]
        done = subprocess.run(command, capture_output=True, text=True)
    try:
        problems = json.loads(done.stdout)["diagnostics"]
    except (ValueError, KeyError):
        print(f"expected diagnostics from oxlint, got:\n{done.stdout}{done.stderr}")
        return 1
    for problem in problems:
        print(_line(problem, origins))
    return 1 if problems or done.returncode else 0


def _line(problem: dict[str, Any], origins: list[str]) -> str:
    labels = problem.get("labels") or [{}]
    place = labels[0].get("span", {})
    origin = origins[place["line"] - 1] if "line" in place else ""
    return (
        f"{origin or 'the joined script'}:{place.get('column', 1)}: {problem['message']} [{problem.get('code', '?')}]"
    )


if __name__ == "__main__":
    sys.exit(main())
