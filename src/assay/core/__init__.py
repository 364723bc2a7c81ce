"""The basics that all other packages use: errors, atomic writes and locks, the home folder, progress, quantities, text.

Start reading at `errors.py`. Nothing here imports another package of Assay. Building a lab environment must work before
anything is installed, so it uses only the modules that need nothing beyond the standard library.
"""

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Import `Home` on first use: most commands that only print something do not need it."""
    if name == "Home":
        from assay.core.home import Home

        return Home
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
