"""Errors that a user can act on.

    AssayError                  exit code 1: the work failed
    ├── UsageError              exit code 2: the command or the call was wrong
    ├── MissingDependency       an optional package is not installed
    ├── NotPrepared             the data of a task is not on this machine
    ├── SourceError             raw data cannot be downloaded, or is not the expected data
    ├── LabError                the sandbox or the machine failed
    ├── ModelError              a model cannot be reached, or refuses to answer
    │   ├── KeyRejected         … because of the API key
    │   ├── ModelUnavailable    … and a later attempt may succeed
    │   └── RequestRejected     … because of what the request contains
    ├── PromptTooLong           a conversation does not fit into a model's context
    ├── UnsafePath              a path in a workspace is not a regular file below plain folders
    ├── InvalidSubmission       a submission cannot be graded
    │   └── RefusedCode         … because there is no code to rerun
    └── RecordError             a record is damaged, or has a format that this version cannot read

Errors are raised where the fact is known and shown once, by the command line. The message says what is wrong, where,
and what to do next; code decides by the class, never by the message.
"""

from typing import ClassVar, Literal


class AssayError(Exception):
    """The work failed: a task is not prepared, a trial could not run."""

    exit_code: ClassVar[int] = 1


class UsageError(AssayError):
    """The command or the call was wrong: no such task, file or option value."""

    exit_code = 2


class MissingDependency(AssayError):
    """An optional package is not installed; the message names the extra that brings it."""

    def __init__(self, feature: str, extra: str) -> None:
        from assay.core.installation import install_command

        super().__init__(f"{feature} requires the extra '{extra}'; run: {install_command(extra)}")
        self.extra = extra


class NotPrepared(AssayError):
    """The data of a task has not been prepared on this machine."""


class SourceError(AssayError):
    """Raw data cannot be downloaded, or is not the expected data."""


class LabError(AssayError):
    """The lab failed; the code that ran in it is not to blame."""


class ModelError(AssayError):
    """A model cannot be reached or refuses to answer; the agent is not to blame."""


class ModelUnavailable(ModelError):
    """The provider of a model is down or overloaded; a later attempt may succeed."""


class RequestRejected(ModelError):
    """The provider of a model rejects the content of a request, and would reject it again."""

    def __init__(self, message: str, model: str) -> None:
        super().__init__(message)
        self.model = model


class KeyRejected(ModelError):
    """The provider of a model rejects the API key; no later attempt can succeed."""


PROVIDER_ERRORS = frozenset(error.__name__ for error in (ModelError, KeyRejected, ModelUnavailable, RequestRejected))
"""The names of errors of models' providers, as records have them."""


class PromptTooLong(AssayError):
    """A conversation does not fit into the context of a model."""


class UnsafePath(AssayError):
    """A path in a workspace is not a regular file reached through plain folders."""


class InvalidSubmission(AssayError):
    """A submission cannot be graded; the message says why. It may quote the submission, so its length is limited."""

    max_length: ClassVar[int] = 4_000

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= self.max_length else f"{message[: self.max_length - 1]}…")


class RefusedCode(InvalidSubmission):
    """There is no code that can be rerun, or what was submitted as code is something else."""

    def __init__(self, message: str, cause: Literal["no code", "refused file"] = "refused file") -> None:
        super().__init__(message)
        self.cause = cause


class RecordError(AssayError):
    """A record on disk is damaged, or has a format that this version cannot read."""
