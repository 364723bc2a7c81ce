"""Runs: a plan expands to trials, and an executor runs them on this machine or on a cluster.

Start reading at `plan.py` (what to run) and `execute.py` (run it), then `driver.py` (many trials), `trial.py` (one
trial from an empty workspace to a grade) and `executors/` (where trials run).
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.runs.driver import Executor, Stopped, Unstarted, execute_run
    from assay.runs.execute import Reporting, add_trials, check_infrastructure, choose_run_folder, execute_trials
    from assay.runs.executors import ExecutorConfig, make_executor
    from assay.runs.forecast import Forecast, forecast
    from assay.runs.plan import Plan
    from assay.runs.plan_config import PlanConfig, build_plan, read_plan_file, resolve_config
    from assay.runs.retry import Allowance, Retries
    from assay.runs.status import RunStatus, read_status

__all__ = [
    "Allowance",
    "Executor",
    "ExecutorConfig",
    "Forecast",
    "Plan",
    "PlanConfig",
    "Reporting",
    "Retries",
    "RunStatus",
    "Stopped",
    "Unstarted",
    "add_trials",
    "build_plan",
    "check_infrastructure",
    "choose_run_folder",
    "execute_run",
    "execute_trials",
    "forecast",
    "make_executor",
    "read_plan_file",
    "read_status",
    "resolve_config",
]

__getattr__ = import_on_use(
    __name__,
    {
        "driver": ["Executor", "Stopped", "Unstarted", "execute_run"],
        "execute": ["Reporting", "add_trials", "check_infrastructure", "choose_run_folder", "execute_trials"],
        "executors": ["ExecutorConfig", "make_executor"],
        "forecast": ["Forecast", "forecast"],
        "plan": ["Plan"],
        "plan_config": ["PlanConfig", "build_plan", "read_plan_file", "resolve_config"],
        "retry": ["Allowance", "Retries"],
        "status": ["RunStatus", "read_status"],
    },
)
