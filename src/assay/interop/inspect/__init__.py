"""Inspect AI: suites as its tasks, the lab as its sandbox, the grade as its score, records as its logs.

Start reading at `tasks.py` for running Assay's tasks under Inspect, and at `logs.py` for exporting a run.
"""
