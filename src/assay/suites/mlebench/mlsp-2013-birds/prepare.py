"""MLSP 2013 birds: the recordings with known labels, split again and renumbered in all their files."""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import pandas as pd

from assay.data import archives, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows

TOP = PurePosixPath("mlsp_contest_dataset")
ESSENTIAL, SUPPLEMENTAL = PurePosixPath("essential_data"), PurePosixPath("supplemental_data")
WHOLE = (ESSENTIAL / "species_list.txt", SUPPLEMENTAL / "segment_clusters.bmp", SUPPLEMENTAL / "segment_mosaic.bmp")
PICTURES = ("filtered_spectrograms", "spectrograms", "supervised_segmentation")
LABELS = "rec_labels_test_hidden.txt"
SEGMENTS = ("histogram_of_segments.txt", "segment_features.txt", "segment_rectangles.txt")
SPECIES = 19


def prepare(job: PrepareJob) -> None:
    """Use a fifth of the recordings with known labels (fold 0) as the new test set, called fold 1."""
    archive = job.raw / f"{TOP}.zip"
    folds = table(archive, ESSENTIAL / "CVfolds_2.txt").query("fold == 0")
    number = {old: new for new, old in enumerate(folds["rec_id"])}
    test = set(random_rows(len(number), test=round(0.2 * len(number)), seed=0).test.tolist())
    folds = folds.assign(rec_id=range(len(number)), fold=[int(new in test) for new in range(len(number))])
    pandas_tables.write(folds, job.public / ESSENTIAL / "CVfolds_2.txt")
    names = table(archive, ESSENTIAL / "rec_id2filename.txt").query("rec_id in @number")
    pandas_tables.write(
        names.assign(rec_id=names["rec_id"].map(number)), job.public / ESSENTIAL / "rec_id2filename.txt"
    )
    unpack(archive, set(names["filename"]), job.public)
    labels = write_texts(archive, number, test, job.public, repaired=job.edition == "fixed")
    write_answers(labels, test, job.public, job.private)


def table(archive: Path, name: PurePosixPath) -> pd.DataFrame:
    """Read a text file of the archive that is a table."""
    with archives.open_member(archive, str(TOP / name)) as file:
        return pandas_tables.read(file)


def unpack(archive: Path, recordings: set[str], public: Path) -> None:
    """Extract the files of all or single recordings; only some have an example of segmentation."""
    examples = SUPPLEMENTAL / "segmentation_examples"
    pictures = archives.list_folder(archive, str(TOP / examples), ".bmp")
    (public / examples).mkdir(parents=True)
    names = [
        *WHOLE,
        *(ESSENTIAL / "src_wavs" / f"{recording}.wav" for recording in recordings),
        *(SUPPLEMENTAL / folder / f"{recording}.bmp" for folder in PICTURES for recording in recordings),
        *(examples / name for name in pictures if name.removesuffix(".bmp") in recordings),
    ]
    archives.extract(archive, ((str(TOP / name), public / name) for name in names))


def write_texts(
    archive: Path, number: Mapping[int, int], test: set[int], public: Path, *, repaired: bool
) -> list[tuple[int, str]]:
    """Write the line-based files, with the labels of test recordings hidden; return all labels."""
    header, labels = lines(archive, ESSENTIAL / LABELS, number)
    public_labels = [(new, "?" if new in test else species) for new, species in labels]
    write_lines(
        public / ESSENTIAL / LABELS,
        header if repaired else "rec_id,[labels]",
        (f"{new},{species}" if species or repaired else f"{new}" for new, species in public_labels),
    )
    for name in SEGMENTS:
        header, rows = lines(archive, SUPPLEMENTAL / name, number)
        header = header if repaired else "rec_id,[histogram of segment features]"
        write_lines(public / SUPPLEMENTAL / name, header, (f"{new},{rest}" for new, rest in rows))
    return labels


def write_answers(labels: Iterable[tuple[int, str]], test: set[int], public: Path, private: Path) -> None:
    """Write a row per test recording and species: answers in the order of the labels, the sample in numeric order."""
    heard = {new: {int(label) for label in text.split(",") if label} for new, text in labels if new in test}
    rows = [
        (100 * new + species, int(species in present)) for new, present in heard.items() for species in range(SPECIES)
    ]
    pandas_tables.write(pd.DataFrame(rows, columns=["Id", "Probability"]), private / "answers.csv")
    ids = [100 * new + species for new in sorted(test) for species in range(SPECIES)]
    pandas_tables.write(pd.DataFrame({"Id": ids, "Probability": 0}), public / "sample_submission.csv")


def lines(archive: Path, name: PurePosixPath, number: Mapping[int, int]) -> tuple[str, list[tuple[int, str]]]:
    """Return the header of a text file, and for each kept recording its new number and the rest of its line."""
    with archives.open_member(archive, str(TOP / name)) as file:
        header, *rows = (line.rstrip("\n") for line in io.TextIOWrapper(file, "utf-8"))
    parts = [row.partition(",") for row in rows]
    return header, [(number[int(old)], rest) for old, _, rest in parts if int(old) in number]


def write_lines(path: Path, header: str, rows: Iterable[str]) -> None:
    """Write a text file: a header and one line per row."""
    path.write_text("".join(f"{line}\n" for line in (header, *rows)))
