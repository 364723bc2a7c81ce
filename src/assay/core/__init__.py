"""The basics that all other packages use: errors, atomic writes and locks, the home folder, progress, quantities, text.

Start reading at `errors.py`. Nothing here imports another package of Assay. Building a lab environment must work before
anything is installed, so it uses only the modules that need nothing beyond the standard library.
"""

from typing import TYPE_CHECKING

from assay.core.errors import AssayError as AssayError
from assay.core.errors import InvalidSubmission as InvalidSubmission
from assay.core.errors import KeyRejected as KeyRejected
from assay.core.errors import LabError as LabError
from assay.core.errors import MissingDependency as MissingDependency
from assay.core.errors import ModelError as ModelError
from assay.core.errors import ModelUnavailable as ModelUnavailable
from assay.core.errors import NotPrepared as NotPrepared
from assay.core.errors import PromptTooLong as PromptTooLong
from assay.core.errors import RecordError as RecordError
from assay.core.errors import RequestRejected as RequestRejected
from assay.core.errors import SourceError as SourceError
from assay.core.errors import UnsafePath as UnsafePath
from assay.core.errors import UsageError as UsageError
from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.core.home import Home as Home

__all__, __getattr__ = export_lazily(__name__, __file__)
