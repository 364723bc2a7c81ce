"""Speech recognition: sound clips whose label is the name of their folder; test clips are renamed."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import Split, random_groups, random_rows
from assay.formats import seven_zip

NOISE = "_background_noise_"


def prepare(job: PrepareJob) -> None:
    """Split the clips at random; `fixed` splits by speaker and maps the words to the classes of the competition."""
    with TemporaryDirectory(dir=job.private) as scratch:
        seven_zip.extract(job.raw / "train.7z", Path(scratch))
        paths = Path(scratch, "train", "audio").rglob("*.wav")
        clips = sorted(paths, key=lambda path: (f"{path.parent.name}_{path.name}", path))
        rows = _split_by_speaker(clips) if job.edition == "fixed" else random_rows(len(clips), test=0.1, seed=0)
        train, test = ([clips[row] for row in side] for side in rows)
        labels = [path.parent.name for path in test]
        if job.edition == "fixed":
            labels = [_classify(label, job) for label in labels]
        names = [f"clip_{number:08d}.wav" for number in range(len(test))]
        answers = pd.DataFrame({"fname": names, "label": labels})
        pandas_tables.write(answers, job.private / "test.csv")
        pandas_tables.write(answers.assign(label="silence"), job.public / "sample_submission.csv")
        audio = job.public / "train" / "audio"
        files.copy((path, audio / path.parent.name / path.name) for path in train)
        files.copy((path, job.public / "test" / "audio" / name) for path, name in zip(test, names, strict=True))


def _split_by_speaker(clips: list[Path]) -> Split:
    """Keep the clips of a speaker together; test clips are shuffled, because their numbers follow their order."""
    speakers = [path.name.partition("_nohash_")[0] for path in clips]
    train, test = random_groups(speakers, test=0.1, seed=0)
    return Split(train, np.random.RandomState(0).permutation(test))


def _classify(word: str, job: PrepareJob) -> str:
    if word == NOISE:
        return "silence"
    return word if word in (job.task.submission.columns["label"].values or ()) else "unknown"
