"""Runs: a plan expands to trials, and an executor runs them on this machine or on a cluster.

Start reading at `plan.py` (what to run) and `execute.py` (run it), then `driver.py` (many trials), `trial.py` (one
trial from an empty workspace to a grade) and `executors/` (where trials run).
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.runs.driver import Executor as Executor
    from assay.runs.driver import Stopped as Stopped
    from assay.runs.driver import Unstarted as Unstarted
    from assay.runs.driver import execute_run as execute_run
    from assay.runs.execute import Reporting as Reporting
    from assay.runs.execute import add_trials as add_trials
    from assay.runs.execute import check_infrastructure as check_infrastructure
    from assay.runs.execute import choose_run_folder as choose_run_folder
    from assay.runs.execute import execute_trials as execute_trials
    from assay.runs.executors import ExecutorConfig as ExecutorConfig
    from assay.runs.executors import make_executor as make_executor
    from assay.runs.forecast import Forecast as Forecast
    from assay.runs.forecast import forecast as forecast
    from assay.runs.plan import Plan as Plan
    from assay.runs.plan_config import PlanConfig as PlanConfig
    from assay.runs.plan_config import build_plan as build_plan
    from assay.runs.plan_config import read_plan_file as read_plan_file
    from assay.runs.plan_config import resolve_config as resolve_config
    from assay.runs.retry import Allowance as Allowance
    from assay.runs.retry import Retries as Retries
    from assay.runs.status import RunStatus as RunStatus
    from assay.runs.status import read_status as read_status

__all__, __getattr__ = export_lazily(__name__, __file__)
