"""From raw data to what agents see and what they do not: sources, splits, tables, and the store of prepared tasks."""

from assay.data.publish import File
from assay.data.store import Manifest, Prepared, prepare, prepared

__all__ = ["File", "Manifest", "Prepared", "prepare", "prepared"]
