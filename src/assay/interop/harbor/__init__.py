"""Assay's tasks, trajectories and results for Harbor, and Harbor's for Assay.

`dataset.py` writes tasks as Harbor task folders, `verifier.py` grades in them, and `environment.py` lets Harbor run
trials in labs instead of containers. Only `environment.py` imports Harbor.
"""
