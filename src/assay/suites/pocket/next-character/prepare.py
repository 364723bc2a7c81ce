"""Next character: most chapters as text, and contexts from the others with the character that follows."""

import re

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write

TEST_SHARE = 0.25
CONTEXTS, LENGTH = 2500, 100
SEED = 20273
NAMES = {" ": "space", ".": "period", ",": "comma", "*": "other"}


def prepare(job: PrepareJob) -> None:
    """Cut contexts that do not overlap, so that no context shows what follows another one."""
    text = (job.raw / "package/data/data.txt").read_text("utf-8")
    chapters = [simplify(chapter) for chapter in re.split(r"CHAPTER \d+\.", text) if len(chapter) > 2000]
    random = np.random.RandomState(SEED)
    order = random.permutation(len(chapters))
    cut = int(len(chapters) * TEST_SHARE)
    hidden = [chapters[number] for number in sorted(order[:cut])]
    pieces = [
        chapter[start : start + LENGTH + 1]
        for chapter in hidden
        for start in range(0, len(chapter) - LENGTH, LENGTH + 20)
    ]
    chosen = [pieces[row] for row in random.permutation(len(pieces))[:CONTEXTS]]
    job.public.joinpath("train.txt").write_text("\n".join(chapters[number] for number in sorted(order[cut:])) + "\n")
    ids = list(range(len(chosen)))
    write(pl.DataFrame({"context_id": ids, "context": [piece[:-1] for piece in chosen]}), job.public / "test.csv")
    uniform = {name: [f"{1 / len(job.columns):.6f}"] * len(chosen) for name in job.columns}
    write(pl.DataFrame({"context_id": ids, **uniform}), job.public / "sample_submission.csv")
    following = [NAMES.get(piece[-1], piece[-1]) for piece in chosen]
    truth = {name: [int(name == answer) for answer in following] for name in job.columns}
    write(pl.DataFrame({"context_id": ids, **truth}), job.private / "answers.csv")


def simplify(text: str) -> str:
    """Return lower-case letters, spaces, periods and commas; every other character becomes `*`."""
    text = re.sub(r"\s+", " ", text.lower()).strip()
    return re.sub(r"[^a-z ., ]", "*", text)
