"""Is an evaluation sound? Checks in the spirit of AutoAttack's, for categorical victims.

A robustness figure is only as good as the attack behind it. Each finding says what was seen, what it means and what to
do about it.
"""

from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.evaluation.diagnose.result_checks import diagnose_results
from hammingbox.evaluation.diagnose.victim_checks import diagnose_victim

__all__ = ["Finding", "diagnose_results", "diagnose_victim"]
