"""A miniature of the ratings: the more often a text has a rating's own word, the higher the rating."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

ROWS = 300


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Three latent qualities decide all ratings; texts hold line ends, commas and quotes."""
    quality = make.rng.random((ROWS, 3))
    words = ("please", "because", "spelled")
    texts = []
    for row in quality:
        telling = [word for word, level in zip(words, row, strict=True) for _ in range(int(4 * level))]
        texts.append(f'{make.words(6)}, "{make.words(2)}"\r\n{" ".join(telling)} {make.words(5)}')
    ratings = {
        name: np.clip(np.round((quality[:, column % 3] + make.rng.normal(0, 0.1, ROWS)) * 6) / 6, 0, 1)
        for column, name in enumerate(job.columns)
    }
    page = "https://site.example/users/{}".format
    make.csv(
        job.raw / "train.csv",
        {
            "qa_id": np.sort(make.rng.choice(10_000, ROWS, replace=False)),
            "question_title": [make.words(5) for _ in range(ROWS)],
            "question_body": texts,
            "question_user_name": ["NA" if row % 40 == 0 else make.words(1) for row in range(ROWS)],
            "question_user_page": [page(row) for row in range(ROWS)],
            "answer": [make.words(10) for _ in range(ROWS)],
            "answer_user_name": [make.words(1) for _ in range(ROWS)],
            "answer_user_page": [page(row + ROWS) for row in range(ROWS)],
            "url": [f"https://site.example/questions/{row}" for row in range(ROWS)],
            "category": make.rng.choice(["TECHNOLOGY", "CULTURE", "SCIENCE"], ROWS).tolist(),
            "host": make.rng.choice(["a.example", "b.example"], ROWS).tolist(),
            **ratings,
        },
    )
