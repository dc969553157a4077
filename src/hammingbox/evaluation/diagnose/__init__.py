"""Is an evaluation sound? Checks in the spirit of AutoAttack's, for categorical victims.

A robustness figure is only as good as the attack behind it. Each finding says what was seen, what it means and what to
do about it.
"""

from hammingbox.evaluation.diagnose.class_checks import diagnose_classes, diagnose_counts
from hammingbox.evaluation.diagnose.code_checks import diagnose_codes
from hammingbox.evaluation.diagnose.data_checks import diagnose_data, diagnose_leak
from hammingbox.evaluation.diagnose.finding import Finding, by_severity
from hammingbox.evaluation.diagnose.result_checks import diagnose_results
from hammingbox.evaluation.diagnose.row_checks import diagnose_denominator, diagnose_rows, diagnose_totals
from hammingbox.evaluation.diagnose.victim_checks import diagnose_victim

__all__ = [
    "Finding",
    "by_severity",
    "diagnose_classes",
    "diagnose_codes",
    "diagnose_counts",
    "diagnose_data",
    "diagnose_denominator",
    "diagnose_leak",
    "diagnose_results",
    "diagnose_rows",
    "diagnose_totals",
    "diagnose_victim",
]
