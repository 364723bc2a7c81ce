"""Executors, which start the processes of trials: on this machine, on Slurm or on Ray.

`make_executor` creates the one that a configuration names. All of them implement `assay.runs.driver.Executor`.
"""

from assay.runs.executors.config import (
    ExecutorConfig,
    check_executor_config,
    load_executor_config,
    make_executor,
    save_executor_config,
)

__all__ = [
    "ExecutorConfig",
    "check_executor_config",
    "load_executor_config",
    "make_executor",
    "save_executor_config",
]
