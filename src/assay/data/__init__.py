"""Raw data → public files and private answers.

Start with `store.prepare`, which runs a task's `prepare.py` through a `PrepareJob`. Tasks are written with the building
blocks `splits`, `pandas_tables`, `polars_tables`, `files` and `archives`, and with `miniature` for synthetic data.
`sources/` downloads raw data, `proof` decides whether it is the published one, `recipe` when prepared data is stale.
"""

from assay.data.job import PrepareJob, SynthesisJob
from assay.data.publish import File
from assay.data.store import Manifest, Prepared, PrepareOptions, load_prepared, prepare

__all__ = ["File", "Manifest", "PrepareJob", "PrepareOptions", "Prepared", "SynthesisJob", "load_prepared", "prepare"]
