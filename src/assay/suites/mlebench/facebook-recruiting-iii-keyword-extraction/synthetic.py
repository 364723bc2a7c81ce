"""A miniature of the questions: most tags are named in the title or the body, and some questions were asked twice."""

import csv

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

QUESTIONS, REPEATED = 320, 80
TAGS = ["javascript", "c#", "python", "php", "java", "jquery", "asp.net-mvc", "c++", "ios", "sql", "node.js", "nan"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Every field is quoted; texts hold line ends, quotes and commas; `nan` as the only tag is read as missing."""
    popularity = 1 / np.arange(1, len(TAGS) + 1)
    questions = []
    for _ in range(QUESTIONS):
        tags = make.rng.choice(TAGS, make.rng.integers(1, 4), replace=False, p=popularity / popularity.sum()).tolist()
        named = [tag for tag in tags if make.rng.random() < 0.8]
        title = f"{make.words(3)} {' '.join(named[:1])} {make.words(2)}?"
        code = f'<pre><code>{make.words(2)} = "{make.words(1)}"\r\n</code></pre>'
        questions.append((title, f"<p>{make.words(6)}, {' '.join(named)}</p>\n\n{code}", " ".join(tags)))
    questions[5] = ("N/A", questions[5][1], "nan")
    repeated = [questions[row] for row in make.rng.choice(QUESTIONS, REPEATED, replace=False)]
    rows = [(questions + repeated)[row] for row in make.rng.permutation(QUESTIONS + REPEATED)]
    titles, bodies, tags = zip(*rows, strict=True)
    columns = {"Id": [str(number) for number in range(1, len(rows) + 1)], "Title": titles, "Body": bodies, "Tags": tags}
    make.zip(job.raw / "Train.zip", {"Train.csv": make.table(columns, quoting=csv.QUOTE_ALL)})
