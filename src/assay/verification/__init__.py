"""Verification of finished runs: who did what as far as it can be proven, and every submission graded once more.

Start reading at `run.py`; whether a record is intact in itself is checked in `records/verify.py`.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.verification.run import Verification as Verification
    from assay.verification.run import verify_run as verify_run

__all__, __getattr__ = export_lazily(__name__, __file__)
