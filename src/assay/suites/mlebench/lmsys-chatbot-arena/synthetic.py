"""A miniature of the votes: the longer answer mostly wins, and answers of about the same length tie."""

import json

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

VOTES = 400
MODELS = ("gpt-4-1106-preview", "koala-13b", "llama-2-70b-chat", "mistral-7b-instruct")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Texts are JSON lists of one or two turns, a few with quotes, line ends, escapes or an answer that is null."""
    outcomes = make.labels(VOTES, 3)
    prompts, first, second = [], [], []
    for outcome in outcomes:
        turns = int(make.rng.integers(1, 3))
        length = int(make.rng.integers(8, 14))
        other = length - 6 if outcome < 2 else length
        lengths = (length, other) if outcome == 0 else (other, length)
        prompts.append(json.dumps([f'{make.words(4)}, "{make.words(1)}"?' for _ in range(turns)]))
        first.append(json.dumps([write_answer(make, lengths[0]) for _ in range(turns)]))
        second.append(json.dumps([write_answer(make, lengths[1]) for _ in range(turns)]))
    models = [make.rng.choice(MODELS, 2, replace=False).tolist() for _ in range(VOTES)]
    winners = {name: (outcomes == outcome).astype(int) for outcome, name in enumerate(job.columns)}
    make.csv(
        job.raw / "train.csv",
        {
            "id": np.sort(make.rng.choice(10**9, VOTES, replace=False)),
            "model_a": [a for a, _ in models],
            "model_b": [b for _, b in models],
            "prompt": prompts,
            "response_a": first,
            "response_b": second,
            **winners,
        },
    )


def write_answer(make: Miniature, length: int) -> str | None:
    """Return text of about so many words, or None, which a conversation holds where a model said nothing."""
    if make.rng.random() < 0.02:
        return None
    return f"{make.words(length)}\n{make.rng.choice(['', 'né', '😀'])} {make.words(2)}."
