"""English text normalization: written text, token by token, and how it is read aloud."""

from assay.data.job import PrepareJob

from .._shared.text_normalization import prepare_tokens


def prepare(job: PrepareJob) -> None:
    """Use a tenth of the sentences as the test set."""
    prepare_tokens(job, language="en")
