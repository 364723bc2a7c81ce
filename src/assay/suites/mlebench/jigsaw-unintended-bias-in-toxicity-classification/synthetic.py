"""A miniature of the comments: some words are toxic, others name an identity, most say nothing."""

from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

TRAIN, TEST = 600, 600
SCORED = (
    "male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white",
    "psychiatric_or_mental_illness",
)  # fmt: skip
UNSCORED = (
    "asian", "atheist", "bisexual", "buddhist", "heterosexual", "hindu", "intellectual_or_learning_disability",
    "latino", "other_disability", "other_gender", "other_race_or_ethnicity", "other_religion",
    "other_sexual_orientation", "physical_disability", "transgender",
)  # fmt: skip
KINDS = ("severe_toxicity", "obscene", "threat", "insult", "identity_attack", "sexual_explicit")
REACTIONS = ("funny", "wow", "sad", "likes", "disagree")
TOXIC_WORDS = ("snorvik", "plimpy grobb", "dumfrid")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Both files have 45 columns; in that for training, the toxicity is called `target`."""
    ids = make.rng.choice(np.arange(10**6, 10**7), TRAIN + TEST, replace=False)
    train, test = _rate(make, ids[:TRAIN]), _rate(make, ids[TRAIN:])
    make.csv(job.raw / "train.csv", {("target" if name == "toxicity" else name): train[name] for name in train})
    make.csv(job.raw / "test_private_expanded.csv", test)


def _rate(make: Miniature, ids: Any) -> dict[str, Any]:
    """Return comments with their ratings; a third was never rated for identities."""
    count = len(ids)
    toxicity, rated = make.rng.random(count) * 0.9, make.rng.random(count) < 0.67
    identities = {name: make.rng.random(count) * 0.75 for name in SCORED}
    comments = []
    for row in range(count):
        named = [name.replace("_", " ") for name in SCORED if identities[name][row] >= 0.5]
        is_toxic = toxicity[row] + make.rng.normal(0, 0.1) >= 0.5
        telling = TOXIC_WORDS[row % len(TOXIC_WORDS)] if is_toxic else make.words(1)
        comments.append(f'{make.words(5)}, "{telling}"\r\n{" ".join(named)} {make.words(3)}')
    comments[1] = "N/A"
    shares = identities | {name: np.zeros(count) for name in UNSCORED}
    return {
        "id": ids,
        "comment_text": comments,
        "toxicity": toxicity.round(4),
        **{name: np.round(toxicity * make.rng.random(count), 4) for name in KINDS},
        **{name: np.where(rated, shares[name].round(4), np.nan) for name in sorted(shares)},
        "created_date": [f"2017-03-{1 + row % 28:02d} 15:21:53.675241+00" for row in range(count)],
        "publication_id": make.rng.integers(1, 60, count),
        "parent_id": [None if row % 2 else int(ids[row]) - 5 for row in range(count)],
        "article_id": make.rng.integers(10**5, 10**6, count),
        "rating": ["rejected" if row % 17 == 0 else "approved" for row in range(count)],
        **{name: make.rng.poisson(0.5, count) for name in REACTIONS},
        "identity_annotator_count": np.where(rated, 4, 0),
        "toxicity_annotator_count": make.rng.integers(3, 11, count),
    }
