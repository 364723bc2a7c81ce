"""A miniature of the essays: the better the essay, the longer it is, and the more connectives it has."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

CONNECTIVES = ("therefore", "however", "furthermore", "in conclusion", "for example")
ESSAYS = 400


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Essays of one to three paragraphs, some with quotes, Windows line ends or characters beyond ASCII."""
    scores = make.labels(ESSAYS, 6) + 1
    essays = [write_essay(make, int(score)) for score in scores]
    make.csv(
        job.raw / "train.csv", {"essay_id": make.hex_ids(ESSAYS, 7), "full_text": essays, "score": scores.tolist()}
    )


def write_essay(make: Miniature, score: int) -> str:
    """Return an essay with about as many connectives as its score, between paragraphs of noise."""
    words = make.words(8 + 3 * score + int(make.rng.integers(8))).split(" ")
    for _ in range(max(0, score + int(make.rng.integers(-1, 2)))):
        words.insert(int(make.rng.integers(len(words))), str(make.rng.choice(CONNECTIVES)))
    half, paragraph = len(words) // 2, str(make.rng.choice([" ", "\n\n", "\r\n", ', "so to say", ', " – naïve "]))
    return f"{' '.join(words[:half]).capitalize()}{paragraph}{' '.join(words[half:])}."
