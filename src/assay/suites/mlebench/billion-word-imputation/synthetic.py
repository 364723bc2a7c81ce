"""Miniature raw data for billion-word-imputation: every word has one that usually follows it."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

LINES = 4000
VOCABULARY = 60


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Sentences with quotes, some too short to lack a word, with blanks at the ends or between words."""
    words = [make.words(1) + make.words(1) for _ in range(VOCABULARY)]
    words[::15] = ['"', ",", "café", "1,000"]
    lines = []
    for _ in range(LINES):
        start, length = make.rng.integers(VOCABULARY), make.rng.integers(4, 16)
        chosen = [words[(start + offset) % VOCABULARY] for offset in range(length)]
        lines.append(" ".join([*chosen, "."]))
    for line in make.rng.choice(LINES, LINES // 10, replace=False):
        lines[line] = str(
            make.rng.choice(["", ".", "Sopati .", f"  {lines[line]} ", lines[line].replace(" ", "  ", 2)])
        )
    make.zip(job.raw / "train_v2.txt.zip", {"train_v2.txt": ("\n".join(lines) + "\n").encode()})
