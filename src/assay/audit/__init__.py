"""Whether a task is sound: `assay check` and `assay audit` look for broken rules and leaks, `assay panel` measures it.

Start reading at `task_check.check_task` and `task_audit.audit_task`; `reference_panel.measure_panel` runs a task's
starter and panel in fresh labs.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.audit.finding import AuditFinding
    from assay.audit.reference_panel import keep_measurements, measure_panel, save_measurements
    from assay.audit.task_audit import TaskAudit, audit_folder, audit_task
    from assay.audit.task_check import CheckResult, check_task, perfect_submission

_MODULES = {
    "AuditFinding": "finding",
    "CheckResult": "task_check",
    "TaskAudit": "task_audit",
    "audit_folder": "task_audit",
    "audit_task": "task_audit",
    "check_task": "task_check",
    "keep_measurements": "reference_panel",
    "measure_panel": "reference_panel",
    "perfect_submission": "task_check",
    "save_measurements": "reference_panel",
}

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


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
