"""A miniature of the Freesound recordings: each class has a pitch, and a recording sounds all of its classes."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

CURATED = 60
NOISY = 40
TEST = 50
HEARD = 12  # how many of the classes occur
RATE = 8000


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write all parts and the published labels; a third of the noisy labels is wrong, and the test is partly public."""
    heard = sorted(make.rng.choice(len(job.columns), HEARD, replace=False).tolist())
    pitches = dict(zip(heard, np.geomspace(150, 3000, HEARD), strict=True))
    ids = [f"{name}.wav" for name in make.hex_ids(CURATED + NOISY + TEST, 8)]
    true = [sorted(make.rng.choice(heard, make.rng.choice([1, 1, 1, 2, 3]), replace=False).tolist()) for _ in ids]
    labels = [",".join(job.columns[label] for label in clip_labels) for clip_labels in true]
    parts = {"train_curated": slice(CURATED), "train_noisy": slice(CURATED, CURATED + NOISY)}
    for part, rows in parts.items():
        part_labels = labels[rows]
        if part == "train_noisy":
            part_labels = [
                labels[int(make.rng.integers(len(ids)))] if make.rng.random() < 0.33 else text for text in part_labels
            ]
        make.csv(job.raw / f"{part}.csv", {"fname": ids[rows], "labels": part_labels})
    test = slice(CURATED + NOISY, None)
    usage = make.rng.permutation(["Private"] * (TEST - 5) + ["Public"] * 5).tolist()
    private = [name for name, use in zip(ids[test], usage, strict=True) if use == "Private"]
    zeros = dict.fromkeys(job.columns, [0] * len(private))
    make.csv(job.raw / "sample_submission.csv", {"fname": sorted(private), **zeros})
    for part, rows in (parts | {"test": test}).items():
        folder = job.raw / part
        folder.mkdir()
        for name, clip_labels in zip(ids[rows], true[rows], strict=True):
            if part != "test" or name in private:
                seconds = make.rng.uniform(0.15, 0.3)
                tones = [make.tone(seconds, RATE, pitches[label]) // 3 for label in clip_labels]
                (folder / name).write_bytes(make.wav(np.sum(tones, axis=0), RATE))
    published = make.table(
        {
            "fname": ids[test],
            "labels": labels[test],
            "usage": usage,
            "freesound_id": make.rng.integers(1000, 400_000, TEST),
            "license": ["CC-BY"] * TEST,
        }
    )
    make.zip(job.raw / "FSDKaggle2019.meta.zip", {"FSDKaggle2019.meta/test_post_competition.csv": published})
