"""A miniature of the essays: weak writers write short texts and misspell the same few words."""

import numpy as np
from numpy.typing import NDArray

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

ESSAYS = 240
TRAITS = ("cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions")
RIGHT, WRONG = ["because", "their", "people", "would", "always"], ["becouse", "thier", "peple", "wud", "allways"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write essays with scores from 1.0 to 5.0 in steps of 0.5; the six scores of an essay are correlated."""
    skill = np.clip(make.rng.normal(3.1, 0.65, ESSAYS), 1, 5)
    marks = {trait: halves(skill + make.rng.normal(0, 0.3, ESSAYS)) for trait in TRAITS}
    texts = [essay(make, level) for level in skill]
    make.csv(job.raw / "train.csv", {"text_id": make.hex_ids(ESSAYS, 12), "full_text": texts, **marks})
    unmarked = {"text_id": make.hex_ids(3, 12), "full_text": [essay(make, 3.0) for _ in range(3)]}
    make.csv(job.raw / "test.csv", unmarked)
    make.csv(job.raw / "sample_submission.csv", {"text_id": unmarked["text_id"], **dict.fromkeys(TRAITS, [3.0] * 3)})


def halves(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(np.round(2 * values) / 2, 1, 5)


def essay(make: Miniature, skill: float) -> str:
    """Return two paragraphs with commas, quotes and line breaks, which a CSV reader must handle."""
    paragraphs = []
    for _ in range(2):
        known = [RIGHT if make.rng.random() < skill / 5 else WRONG for _ in range(12)]
        chosen = [words[make.rng.integers(0, len(words))] for words in known]
        paragraphs.append(f'{make.words(int(8 * skill))}, "{" ".join(chosen)}".')
    return "\n\n".join(paragraphs)
