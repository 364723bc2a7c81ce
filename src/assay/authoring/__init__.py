"""Making tasks from data: `assay new task`. Start reading at `create.py`."""

from assay.authoring.create import SUITE, NewTask, create_suite, create_task, describe_new_task
from assay.authoring.draft import Wishes
from assay.authoring.own_data import OwnData, read_archive, read_own_data

__all__ = [
    "SUITE",
    "NewTask",
    "OwnData",
    "Wishes",
    "create_suite",
    "create_task",
    "describe_new_task",
    "read_archive",
    "read_own_data",
]
