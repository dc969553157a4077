"""Takes the gallery's screenshots of reports.

    python docs/_screenshots.py runs/demo/report.html                                  # of `make demo`
    python docs/_screenshots.py runs/audit/bank_fraud-xgboost/audit/report.html audit  # of an audit

Needs chromium, and Pillow, which matplotlib installs. Headless chromium cannot photograph a page that is scrolled and
does not wait for idle callbacks, so each picture is of a copy of the page that hides the sections above and unpacks its
rows at once.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

FOLDER = Path(__file__).parent / "pictures"

MARGIN = 44
"""Empty pixels above the first section."""

# set: {name: (first heading to show, None for the whole page; width; height; dark)}
SHOTS: dict[str, dict[str, tuple[str | None, int, int, bool]]] = {"demo": {
    "report-headline": (None, 1100, 960, False),
    "report-attacks": ("attacks-0", 700, 940, False),
    "report-features": ("features-0", 1100, 840, False),
    "report-rows": ("rows-0", 1100, 960, False),
    "report-dark": ("trade-0", 1100, 760, True),
    "report-phone": (None, 420, 900, False),
}, "audit": {
    "audit-headline": (None, 1100, 900, False),
    "audit-classes": ("classes-0", 1100, 900, False),
    "audit-what-if": ("features-0", 1100, 1250, False),
}}  # fmt: skip


def prepared(page: str, heading: str | None) -> str:
    """The page without what stands above a heading, its rows unpacked at once."""
    policy = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
    page = policy.sub("<script>window.requestIdleCallback = undefined</script>", page)
    if heading is None:
        return page
    start = page.rindex("<section", 0, page.index(f'aria-labelledby="{heading}"'))
    return re.sub(r"<(section|header)\b", r"<\1 hidden", page[:start]) + page[start:]


def shoot(page: Path, width: int, height: int, *, dark: bool, out: Path) -> None:
    """One picture of the top of a page."""
    with TemporaryDirectory() as profile:
        command = [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--hide-scrollbars", "--virtual-time-budget=8000", f"--user-data-dir={profile}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--window-size={width},{height}", f"--screenshot={out}", page.as_uri(),
        ]  # fmt: skip
        subprocess.run(command, check=True, timeout=120, capture_output=True)


def main(report: Path, which: str = "demo") -> None:
    """All pictures of a set."""
    text = report.read_text("utf-8")
    with TemporaryDirectory() as folder:
        page, picture = Path(folder) / "report.html", Path(folder) / "picture.png"
        for name, (heading, width, height, dark) in SHOTS[which].items():
            page.write_text(prepared(text, heading), "utf-8")
            shoot(page, width, height, dark=dark, out=picture)
            above = MARGIN if heading else 0
            shown = Image.open(picture).convert("RGB").crop((0, above, width, height))
            shown.save(FOLDER / f"{name}.webp", quality=82, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
