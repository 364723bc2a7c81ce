"""Results of other harnesses as rows of the frame `trials/1`; what they do not report is unknown.

`read_results` reads run folders and the files of other harnesses alike. An importer is one module with an `Importer`,
registered under the entry-point group `assay.importers`.
"""

from assay.interop.importers.read import IMPORTERS as IMPORTERS
from assay.interop.importers.read import Importer as Importer
from assay.interop.importers.read import Results as Results
from assay.interop.importers.read import is_run as is_run
from assay.interop.importers.read import read_results as read_results
from assay.interop.importers.trial import ReportedTrial as ReportedTrial

__all__ = ["IMPORTERS", "Importer", "ReportedTrial", "Results", "is_run", "read_results"]
