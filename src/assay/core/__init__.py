"""The basics that all other packages use: errors, atomic writes and locks, the home folder, progress, quantities, text.

Start reading at `errors.py`. Nothing here imports another package of Assay. Building a lab environment must work before
anything is installed, so it uses only the modules that need nothing beyond the standard library.
"""

from typing import TYPE_CHECKING

from assay.core.errors import (
    AssayError,
    InvalidSubmission,
    KeyRejected,
    LabError,
    MissingDependency,
    ModelError,
    ModelUnavailable,
    NotPrepared,
    PromptTooLong,
    RecordError,
    RequestRejected,
    SourceError,
    UnsafePath,
    UsageError,
)
from assay.core.lazy_import import import_on_use

if TYPE_CHECKING:
    from assay.core.home import Home

__all__ = [
    "AssayError",
    "Home",
    "InvalidSubmission",
    "KeyRejected",
    "LabError",
    "MissingDependency",
    "ModelError",
    "ModelUnavailable",
    "NotPrepared",
    "PromptTooLong",
    "RecordError",
    "RequestRejected",
    "SourceError",
    "UnsafePath",
    "UsageError",
]

__getattr__ = import_on_use(__name__, {"home": ["Home"]})
