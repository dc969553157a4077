"""Concentration: entropies of every budget, and panels of two features that stay and one that changes."""

from hammingbox.reproduction.concentration import CONCENTRATION
from hammingbox.reproduction.recipes import IPS
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, number


def test_concentration_shows_kept_and_changed_features(workspace: Workspace) -> None:
    outcome = CONCENTRATION.run(workspace, Size(victims=(QUICK, IPS), rows=6, budgets=(1, 5)))
    (table,) = outcome.tables
    assert [row[:2] for row in table.rows] == [("splice", 1), ("splice", 5)]
    entropies = [(number(mean), number(largest)) for _, _, mean, largest, *_ in table.rows]
    assert all(0 <= mean <= largest <= 2 for mean, largest in entropies), "four letters: at most two bits"
    assert all(0 <= number(share) <= 100 for row in table.rows for share in row[4:])
    assert list(outcome.figures) == ["splice-pi"]
    axes = outcome.figures["splice-pi"].axes
    assert len(axes) == 6
    changed = [len(a.lines) == 2 for a in axes]  # a likeliest category other than the original has a second mark
    assert changed[3:] == [False, False, True]
    (skipped,) = outcome.skipped
    assert skipped.startswith("ips, the authors' LSTM: ")
