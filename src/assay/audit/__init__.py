"""Whether a task is sound: `assay check` and `assay audit` look for broken rules and leaks, `assay panel` measures it.

Start reading at `task_check.check_task` and `task_audit.audit_task`; `reference_panel.measure_panel` runs a task's
starter and panel in fresh labs.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.audit.finding import AuditFinding
    from assay.audit.reference_panel import keep_measurements, measure_panel, save_measurements
    from assay.audit.task_audit import TaskAudit, audit_folder, audit_task
    from assay.audit.task_check import CheckResult, check_task, perfect_submission

__all__ = [
    "AuditFinding",
    "CheckResult",
    "TaskAudit",
    "audit_folder",
    "audit_task",
    "check_task",
    "keep_measurements",
    "measure_panel",
    "perfect_submission",
    "save_measurements",
]

__getattr__ = import_on_use(
    __name__,
    {
        "finding": ["AuditFinding"],
        "reference_panel": ["keep_measurements", "measure_panel", "save_measurements"],
        "task_audit": ["TaskAudit", "audit_folder", "audit_task"],
        "task_check": ["CheckResult", "check_task", "perfect_submission"],
    },
)
