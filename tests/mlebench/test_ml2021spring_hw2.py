import io
import struct
from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, read_prepared, split, to_csv
from graders import accuracy


class TestMl2021SpringHw2(Competition):
    name = "ml2021spring-hw2"
    id = "Id"
    targets = ("ClassId",)
    predictions = "class"
    fixed_changes = ("public/timit_11/*", "public/sampleSubmission.csv", "private/answers.csv")

    def prepare_reference(self, raw: Path) -> Files:
        folder = raw / "timit_11/timit_11"
        sounds, labels = np.load(folder / "train_11.npy"), np.load(folder / "train_label_11.npy")
        unlabelled = len(np.load(folder / "test_11.npy"))
        train, test = split(range(len(sounds)), test_size=unlabelled / (len(sounds) + unlabelled))
        answers = pd.DataFrame({"Id": range(len(test)), "ClassId": labels[test]})
        return {
            "public/timit_11/timit_11/train_11.npy": save(sounds[train]),
            "public/timit_11/timit_11/train_label_11.npy": save(labels[train]),
            "public/timit_11/timit_11/test_11.npy": save(sounds[test]),
            "public/sampleSubmission.csv": to_csv(answers.assign(ClassId=0)),
            "private/answers.csv": to_csv(answers),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "Id", "ClassId")

    def test_fixed_has_no_test_frame_next_to_a_training_frame(self, miniatures: Miniatures) -> None:
        shared = {}
        for edition in ("v1", "fixed"):
            files = read_prepared(miniatures.prepared(self.name, edition))
            train, test = (
                np.load(io.BytesIO(files[f"public/timit_11/timit_11/{side}_11.npy"])) for side in ("train", "test")
            )
            # A row holds eleven frames of 39 numbers; the next row of the same utterance repeats the last ten of them.
            starts, ends = (
                ({row[:-39].tobytes() for row in rows} for rows in (train, test)),
                ({row[39:].tobytes() for row in rows} for rows in (train, test)),
            )
            (train_starts, test_starts), (train_ends, test_ends) = starts, ends
            shared[edition] = train_starts & test_ends | test_starts & train_ends
        assert shared["v1"]
        assert not shared["fixed"]

    def test_fixed_splits_frames_that_never_pause_into_stretches_of_2000(self, raw: Path) -> None:
        folder = raw / "timit_11/timit_11"
        folder.mkdir(parents=True)
        sound = np.arange(8010 * 39, dtype=np.float32)
        rows = np.stack([sound[39 * frame : 39 * (frame + 11)] for frame in range(8000)])
        np.save(folder / "train_11.npy", rows)
        np.save(folder / "train_label_11.npy", np.full(8000, "7"))
        np.save(folder / "test_11.npy", rows[:2000])
        files = prepare_raw(self.name, raw, "fixed")
        test = np.load(io.BytesIO(files["public/timit_11/timit_11/test_11.npy"]))
        # A row's first number gives its place: 2,000 of 10,000 frames are a fifth, and a fifth of 4 stretches is 1.
        first = int(test[0, 0]) // 39
        assert first % 2000 == 0
        assert (test[:, 0] // 39).tolist() == list(range(first, first + 2000))

    def test_an_array_in_any_memory_order_is_saved_row_by_row(self, raw: Path) -> None:
        folder = raw / "timit_11/timit_11"
        folder.mkdir(parents=True)
        sounds = np.asfortranarray(np.arange(60, dtype=np.float32).reshape(20, 3))
        np.save(folder / "train_11.npy", sounds)
        np.save(folder / "train_label_11.npy", np.array([f"{number:02d}" for number in range(20)]))
        np.save(folder / "test_11.npy", sounds[:7])
        saved = prepare_raw(self.name, raw)["public/timit_11/timit_11/train_11.npy"]
        train = split(np.arange(20), test_size=7 / 27)[0]
        assert struct.unpack("<H", saved[8:10])[0] + 10 == 128
        assert b"'fortran_order': False" in saved[:128]
        assert saved[128:] == sounds[train].tobytes()


def save(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()
