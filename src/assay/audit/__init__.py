"""Whether a task is sound: `assay audit` looks for broken rules and leaks, `assay new panel` measures it.

Start reading at `task_check.check_task` and `task_audit.audit_task`; `reference_panel.measure_panel` runs a task's
starter and panel in fresh labs.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.audit.finding import AuditFinding as AuditFinding
    from assay.audit.reference_panel import keep_measurements as keep_measurements
    from assay.audit.reference_panel import measure_panel as measure_panel
    from assay.audit.reference_panel import save_measurements as save_measurements
    from assay.audit.task_audit import TaskAudit as TaskAudit
    from assay.audit.task_audit import audit_folder as audit_folder
    from assay.audit.task_audit import audit_task as audit_task
    from assay.audit.task_check import CheckResult as CheckResult
    from assay.audit.task_check import check_task as check_task
    from assay.audit.task_check import perfect_submission as perfect_submission

__all__, __getattr__ = export_lazily(__name__, __file__)
