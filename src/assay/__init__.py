"""Assay measures how well AI agents do machine-learning engineering."""

__version__ = "0.1.0"
