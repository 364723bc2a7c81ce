"""Adapters that let other tools use Assay's tasks and records; so far Inspect AI, in `inspect/`.

Start reading at `inspect/tasks.py`. `inspect` imports Inspect AI, so nothing here is imported before it is used.
"""

__all__ = ["inspect"]
