"""Makes the Russian text normalization task: text as it is written, token by token, and how it is read."""

from pathlib import Path

from assay.data.spoken import prepare_tokens


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """A tenth of the sentences is the test."""
    prepare_tokens(raw, public, private, edition, language="ru")
