"""A miniature of jigsaw-toxic-comment-classification-challenge: each label has its own word."""

import pandas as pd

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

WORDS = {
    "toxic": "grumzit",
    "severe_toxic": "grumzitissimo",
    "obscene": "flobbed",
    "threat": "skralwait",
    "insult": "plimpy",
    "identity_hate": "norvikish",
}


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 400 comments for training and 300 for the test, a third of which was never scored."""
    ids = make.hex_ids(700, 16)
    train, test = comments(make, ids[:400]), comments(make, ids[400:])
    labels = test.drop(columns="comment_text")
    labels.loc[make.rng.permutation(300) < 100, list(WORDS)] = -1
    tables = {
        "train.csv": train,
        "test.csv": test[["id", "comment_text"]],
        "test_labels.csv": labels,
        "sample_submission.csv": labels.assign(**dict.fromkeys(WORDS, 0.5)).sort_values("id"),
    }
    for name, table in tables.items():
        make.zip(job.raw / f"{name}.zip", {name: table.to_csv(index=False).encode()})


def comments(make: Miniature, ids: list[str]) -> pd.DataFrame:
    """Return comments with their labels; a label's word is missing or misplaced once in fifty times."""
    labels = pd.DataFrame(make.rng.random((len(ids), len(WORDS))) < 0.25, columns=list(WORDS))
    labels["toxic"] |= labels["severe_toxic"]
    said = labels ^ (make.rng.random(labels.shape) < 0.02)
    texts = [text(make, [WORDS[name] for name in WORDS if row[name]]) for _, row in said.iterrows()]
    return pd.concat([pd.DataFrame({"id": ids, "comment_text": texts}), labels.astype(int)], axis=1)


def text(make: Miniature, words: list[str]) -> str:
    """Return these words among neutral ones, in several lines and with quotes."""
    parts = make.rng.permutation([*make.words(12).split(), *words])
    return f'"{parts[0]}", {" ".join(parts[1:5])}\n\n{" ".join(parts[5:])}'
