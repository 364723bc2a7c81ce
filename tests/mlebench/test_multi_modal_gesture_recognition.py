import io
import random
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    find_task,
    prepare_raw,
    read_archive,
    read_text_table,
    to_csv,
    write_file,
)
from graders import align, require, require_columns
from scipy.io import loadmat

from assay.core.errors import SourceError
from assay.data.job import PrepareJob, run_prepare
from assay.grading import grade_submission

ARCHIVES = [
    *(f"{part}{number}.tar.gz" for part in ("training", "validation") for number in (1, 2, 3)),
    *("devel01-40.7z", "valid_all_files_combined.7z", "sample_code_mmrgc.zip"),
]
FIRST_GUESS = "13 14 2 9 16 7 20 5 8 6 10 4 3 12 18 1 15 17 19 11"  # as published


class TestMultiModalGestureRecognition(Competition):
    name = "multi-modal-gesture-recognition"
    id = "Id"
    targets = ("Sequence",)
    predictions = "class"
    fixed_changes = ("public/test.tar.gz/*.zip",)

    def prepare_reference(self, raw: Path) -> Files:
        ids = sorted(Path(name).stem[-4:] for name in read_archive(raw / "training4.tar.gz"))
        table = pd.read_csv(raw / "training.csv", dtype=str)
        generator = random.Random(0)
        guesses = [" ".join(str(number) for number in generator.sample(range(1, 21), 20)) for _ in ids]
        assert guesses[0] == FIRST_GUESS
        files = {
            "public/training.csv": to_csv(table[~table["Id"].isin(ids)]),
            "public/test.csv": "\n".join(["Id", *ids, ""]).encode(),
            "public/randomPredictions.csv": to_csv(pd.DataFrame({"Id": ids, "Sequence": guesses})),
            "private/test.csv": to_csv(table[table["Id"].isin(ids)]),
        }
        for name, copied in [("training4.tar.gz", "test.tar.gz"), *((name, name) for name in ARCHIVES)]:
            files |= {f"public/{copied}/{path}": content for path, content in read_archive(raw / name).items()}
        return files

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(len(submission) == len(answers))
        require_columns(submission, "Id", "Sequence")
        submission, answers = align(submission, answers, "Id")
        lists = [
            [[int(word) for word in text.split()] for text in side["Sequence"].astype(str)]
            for side in (submission, answers)
        ]
        distance = sum(count_edits(predicted, true) for predicted, true in zip(*lists, strict=True))
        return distance / sum(map(len, lists[1]))

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for separator in ("  ", "\t", ",", " \u00a0"):
            yield (
                f"separated by {separator!r}",
                table.change(lambda row: {"Sequence": row["Sequence"].replace(" ", separator)}),  # noqa: B023
            )
        yield "true in another order", table.change(lambda row: {"Sequence": " ".join(row["Sequence"].split()[::-1])})
        yield "one gesture each", table.change(lambda row: {"Sequence": row["Sequence"].split()[0]})
        yield (
            "one gesture each, one missing",
            table.change(lambda row: {"Sequence": "" if row is table.rows[0] else row["Sequence"].split()[0]}),
        )
        yield "a space alone", table.change(lambda _: {"Sequence": " "}, [0])
        yield "zeros and signs", table.change(lambda row: {"Sequence": f"+{row['Sequence']} 007"})
        yield "decimals", table.change(lambda row: {"Sequence": f"{row['Sequence']} 1.0"}, [1])
        yield "other gestures", table.change(lambda row: {"Sequence": f"{row['Sequence']} 21 0 -3"})
        yield "ids without zeros", table.change(lambda row: {"Id": str(int(row["Id"]))})

    def test_archives_are_copied_and_ids_are_found_at_the_top_of_the_archive_only(self, raw: Path) -> None:
        members = ["./Sample00301.zip", "Sample10007.zip", "deep/Sample00400.zip", "notes.txt"]
        write_tar(raw / "training4.tar.gz", members)
        rows = ["0400,1 2", "0301, 3  4 ", "0007,", '0007x,"5"', "0001,NA"]
        write_file(raw / "training.csv", ("Id,Sequence\r\n" + "\r\n".join(rows) + "\r\n").encode())
        for name in ARCHIVES:
            write_file(raw / name, name.encode())
        public, private = raw.parent / "public", raw.parent / "private"
        public.mkdir()
        private.mkdir()
        run_prepare(PrepareJob(find_task(self.name).in_edition("v1"), raw, public, private, "v1"))
        assert (public / "training.csv").read_text() == "Id,Sequence\n0400,1 2\n0007x,5\n0001,\n"
        assert (private / "test.csv").read_text() == "Id,Sequence\n0301, 3  4 \n0007,\n"
        assert (public / "test.csv").read_text() == "Id\n0007\n0301\n"
        assert (public / "randomPredictions.csv").read_text().splitlines()[:2] == ["Id,Sequence", f"0007,{FIRST_GUESS}"]
        assert (public / "test.tar.gz").read_bytes() == (raw / "training4.tar.gz").read_bytes()
        for name in ARCHIVES:
            assert (public / name).read_bytes() == (raw / name).read_bytes()

    def test_a_recording_without_labels_is_refused(self, raw: Path) -> None:
        write_tar(raw / "training4.tar.gz", ["Sample00301.zip", "Sample00302.zip"])
        write_file(raw / "training.csv", b"Id,Sequence\n0301,1 2\n")
        with pytest.raises(SourceError, match="holds 1 rows for the 2 recordings"):
            prepare_raw(self.name, raw)

    @pytest.mark.parametrize("edition", ["v1", "fixed"])
    def test_the_labels_inside_test_recordings_are_gone_in_fixed(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = read_text_table((prepared.private / "test.csv").read_bytes()).set_index("Id")["Sequence"]
        recordings = read_archive(prepared.public / "test.tar.gz")
        assert len(recordings) == len(answers)
        for name, content in recordings.items():
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                assert archive.testzip() is None
                (path,) = [path for path in archive.namelist() if path.endswith(".mat")]
                video = loadmat(io.BytesIO(archive.read(path)))["Video"][0, 0]
            true = answers[Path(name).stem[-4:]].split()
            assert video["NumFrames"] == 20 * len(true)
            assert video["Skeleton"].shape == (len(true), 3)
            assert video["Labels"].size == (len(true) if edition == "v1" else 0)
        grade = grade_submission((prepared.private / "test.csv").read_bytes(), prepared, home=miniatures.home)
        assert grade.score == 0.0


def count_edits(predicted: list[int], other: list[int]) -> int:
    """Return the Levenshtein distance of items that the published package compares by hash: 2^63 is 4 there."""
    row = list(range(len(other) + 1))
    for number, item in enumerate(predicted, start=1):
        above = row
        row = [number]
        for column, target in enumerate(other, start=1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (hash(item) != hash(target))))
    return row[-1]


def write_tar(path: Path, names: list[str]) -> None:
    """Write a compressed tar file of small files."""
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 1
            archive.addfile(info, io.BytesIO(b"x"))
