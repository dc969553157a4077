"""What makes an evaluation doubtful. The files beside this one build findings from numbers: every text exists once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
"""An error makes the figures wrong, a warning makes them doubtful, a note is good to know."""

SHOWN = 5
"""Names that a finding lists before it breaks off."""


@dataclass(frozen=True)
class Finding:
    """Something that makes an evaluation doubtful.

    Attributes:
        check: a short name.
        severity: how much it matters.
        seen: what was observed, with its numbers.
        means: why it matters.
        remedy: what to do.
    """

    check: str
    severity: Severity
    seen: str
    means: str
    remedy: str

    @property
    def slug(self) -> str:
        """The check's name in the documentation: its page is `diagnostics/<slug>`."""
        return re.sub(r"[^a-z0-9]+", "-", self.check.lower()).strip("-")

    def to_json(self) -> dict[str, Any]:
        """As commands print it with --json, and as a checkpoint keeps it."""
        return asdict(self) | {"slug": self.slug}


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, then warnings, then notes."""
    return sorted(findings, key=lambda finding: ("error", "warning", "note").index(finding.severity))


def some_names(names: Sequence[str]) -> str:
    """Names in quotes, the first of them where there are many."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
