"""Next character: contexts with the character that follows are cut from the end of the training text."""

import polars as pl

from assay.data.polars_tables import read, write
from assay.data.selection import SelectionJob

LENGTH, GAP, CONTEXTS = 100, 20, 800
NAMES = {" ": "space", ".": "period", ",": "comma", "*": "other"}


def split(job: SelectionJob) -> pl.DataFrame:
    """Take the last share of the text away, and give contexts from it that do not overlap, as test contexts are."""
    text = (job.source / "train.txt").read_text("utf-8")
    start = text.rindex("\n", 0, int(len(text) * (1 - job.task.selection.share)))
    chapters = text[start:].split("\n")
    pieces = [
        chapter[first : first + LENGTH + 1]
        for chapter in chapters
        for first in range(0, len(chapter) - LENGTH, LENGTH + GAP)
    ]
    chosen = [pieces[row] for row in job.random.permutation(len(pieces))[:CONTEXTS]]
    test, sample = read(job.source / "test.csv"), read(job.source / "sample_submission.csv")
    ids = [str(test.height + number) for number in range(len(chosen))]
    contexts = pl.DataFrame({"context_id": ids, "context": [piece[:-1] for piece in chosen]})
    constants = {name: [sample[name][0]] * len(ids) for name in sample.columns[1:]}
    (job.public / "train.txt").write_text(text[:start] + "\n")
    write(pl.concat([test, contexts]), job.public / "test.csv")
    write(pl.concat([sample, pl.DataFrame({"context_id": ids, **constants})]), job.public / "sample_submission.csv")
    following = [NAMES.get(piece[-1], piece[-1]) for piece in chosen]
    truth = {name: [str(int(name == answer)) for answer in following] for name in sample.columns[1:]}
    return pl.DataFrame({"context_id": ids, **truth})
