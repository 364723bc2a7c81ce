"""The entry point `inspect_ai`: importing this module registers tasks, sandbox and scorer with Inspect."""

from assay.interop.inspect.sandbox import LabSandbox
from assay.interop.inspect.scorer import grade
from assay.interop.inspect.tasks import mlagentbench, mlebench, pocket

__all__ = ["LabSandbox", "grade", "mlagentbench", "mlebench", "pocket"]
