"""Tests of `assay try` use the synthetic trials of the tests of results."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "results"))
