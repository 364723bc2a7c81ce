"""Adapters that let other tools use Assay's tasks and records; so far Inspect AI, in `inspect/`."""
