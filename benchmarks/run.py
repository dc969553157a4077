"""Runs every benchmark, one after the other."""

import runpy
from pathlib import Path

for script in ("paper_attacks.py", "attacks.py", "guided_variants.py", "pcaa_variants.py", "store.py", "report.py"):
    print(f"\n== {script} ==", flush=True)
    runpy.run_path(str(Path(__file__).with_name(script)), run_name="__main__")
