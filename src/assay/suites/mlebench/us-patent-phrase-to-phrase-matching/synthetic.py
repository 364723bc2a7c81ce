"""A miniature of the phrase pairs: the more words two phrases share, the more similar they are rated."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

PAIRS = 400
CONTEXTS = ("A47", "B08", "C01", "F16", "G02", "H04")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """One anchor for eight pairs; ratings are multiples of a quarter, and one target in fifty is the word null."""
    anchors, targets, scores = [], [], []
    for number in range(PAIRS):
        if number % 8 == 0:
            anchor = make.words(4).split(" ")
        shared = int(make.rng.integers(5))
        target = " ".join([*anchor[:shared], *([make.words(4 - shared)] if shared < 4 else [])])
        anchors.append(" ".join(anchor))
        targets.append("null" if number % 50 == 7 else target)
        scores.append(float(min(4, max(0, shared + int(make.rng.choice([-1, 0, 0, 0, 1]))))) / 4)
    contexts = make.rng.choice(CONTEXTS, PAIRS).tolist()
    ids = make.hex_ids(PAIRS, 16)
    order = make.rng.permutation(PAIRS).tolist()
    columns = {"id": ids, "anchor": anchors, "target": targets, "context": contexts, "score": scores}
    make.csv(job.raw / "train.csv", {name: [values[row] for row in order] for name, values in columns.items()})
