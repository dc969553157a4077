"""Checks of a threat with prices and relations: rows without a change, and changes that cannot be written."""

import torch

from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.diagnose.data_findings import budget_too_small, no_change_allowed, unwritable_changes
from hammingbox.evaluation.diagnose.finding import Finding
from hammingbox.threat.goal import AnyOther, Goal
from hammingbox.threat.ruled_candidates import RuledCandidates
from hammingbox.threat.ruled_space import RuledSpace
from hammingbox.threat.threat_model import ThreatModel

_MOST_ROWS = 500
"""Rows whose options are looked at."""
_SHARE = 0.01
"""Changes that cannot be written, of all, from which on it is said."""


def diagnose_rules(data: Dataset, threat: ThreatModel, *, goal: Goal | None = None) -> list[Finding]:
    """Checks what rules leave of S(x) on the first rows that the goal is about; nothing for spaces without rules."""
    if not isinstance(threat.space, RuledSpace) or threat.budget == 0:
        return []
    x, y = data.batch(slice(0, _MOST_ROWS))
    x = x.long()[(goal or AnyOther()).of(y.long(), data.schema).possible]
    fixed = poor = lost = moves = 0
    for rows in x.split(64):
        candidates = threat.space.slots_of(rows)
        able = candidates.within(candidates.purse(threat.budget)).moves.clone()
        who, option = able.nonzero().unbind(1)
        writable = _writable(candidates, who, option)
        able[who[~writable], option[~writable]] = False
        fixed += int((~candidates.changeable).sum())
        poor += int((candidates.changeable & ~able.any(1)).sum())
        lost, moves = lost + int((~writable).sum()), moves + len(who)
    findings = [no_change_allowed(fixed, len(x))] if fixed else []
    findings += [budget_too_small(poor, len(x))] if poor else []
    if threat.space.rules.derived and lost > _SHARE * moves:
        findings.append(unwritable_changes(lost, moves))
    return findings


def _writable(candidates: RuledCandidates, rows: torch.Tensor, options: torch.Tensor) -> torch.Tensor:
    """Which single changes have values for the columns that follow from them."""
    layout, kept = candidates.layout, [torch.empty(0, dtype=torch.bool, device=rows.device)]
    for part in torch.arange(len(rows), device=rows.device).split(20_000):
        slots = torch.zeros(len(part), layout.features, dtype=torch.int64, device=rows.device)
        slots.scatter_(1, layout.feature_of[options[part]][:, None], layout.slot_of[options[part]][:, None])
        kept.append(candidates.writable(rows[part], slots))
    return torch.cat(kept)
