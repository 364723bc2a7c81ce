"""What an audit finds: how serious it is, the evidence for it, and what it was computed on."""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["high", "medium", "low", "none", "skipped"]
"""How serious a finding is.

- high: answers, or a good part of them, can be read from what is public.
- medium: scores can be raised without solving the task, or the grader accepts what it should not.
- low: worth knowing when scores are compared; usually a property of the competition.
- none: the check was made and found nothing.
- skipped: the check does not apply, or could not be made; the text says why.
"""

SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low", "none", "skipped")
"""All severities, the most serious first."""


@dataclass(frozen=True)
class AuditFinding:
    """One result of one check."""

    check: str
    severity: Severity
    text: str
    evidence: tuple[str, ...] = field(default=())
    computed_on: str = ""

    @property
    def is_defect(self) -> bool:
        """Whether this is a defect, and not the report that there is none."""
        return self.severity in ("high", "medium", "low")
