"""Everything that can go wrong in a way a user can act on.

Raised where the fact is known, shown once at the edge. The message says what is wrong, where, and what to do next.
"""


class AssayError(Exception):
    """The work failed: a task is not prepared, a trial could not run."""

    exit_code = 1


class CallError(AssayError):
    """The call was wrong: no such task, file or option value."""

    exit_code = 2


class NotPrepared(AssayError):
    """The task's data is not on this machine yet."""


class SourceError(AssayError):
    """Raw data could not be fetched, or is not the data it should be."""


class LabError(AssayError):
    """The lab itself failed; what ran inside it is not to blame."""


class ModelFault(AssayError):
    """A model could not be reached or would not answer; who asked it is not to blame."""


class ModelDown(ModelFault):
    """A model's provider is out of order or overloaded for now; it will answer again some time."""


class PromptTooLong(AssayError):
    """What a model was given to read does not fit into its context."""


class UnsafePath(AssayError):
    """Something in a workspace is not a plain file reached through plain folders."""


class InvalidSubmission(AssayError):
    """What was handed in cannot be graded, and why."""


class RecordError(AssayError):
    """A record on disk is damaged or of a format this version does not read."""
