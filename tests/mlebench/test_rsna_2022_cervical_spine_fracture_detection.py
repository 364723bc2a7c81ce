import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    copy_files,
    copy_folders,
    prepare_raw,
    read_prepared,
    read_table,
    to_csv,
    write_file,
)
from graders import align, require, require_columns

from assay.core.errors import SourceError
from assay.grading import grade_submission

TARGETS = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]


class TestRsna2022CervicalSpineFractureDetection(Competition):
    name = "rsna-2022-cervical-spine-fracture-detection"
    id = "row_id"
    targets = ("fractured",)
    fixed_changes = (
        "public/train.csv", "public/test.csv", "public/sample_submission.csv", "public/train_bounding_boxes.csv",
        "public/segmentations/*", "public/train_images/*", "public/test_images/*", "private/answers.csv",
    )  # fmt: skip

    def prepare_reference(self, raw: Path) -> Files:
        studies, boxes = pd.read_csv(raw / "train.csv"), pd.read_csv(raw / "train_bounding_boxes.csv")
        boxed = sorted(set(boxes["StudyInstanceUID"]))
        segmented = sorted(path.name.removesuffix(".nii") for path in (raw / "segmentations").glob("*.nii"))
        both = sorted(set(boxed) & set(segmented))
        share = [round(0.1 * len(group)) for group in (both, segmented, boxed, studies)]
        draw = random.Random(0)
        first = draw.sample(both, share[0])
        second = draw.sample([uid for uid in segmented if uid not in both], share[1] - share[0])
        third = draw.sample([uid for uid in boxed if uid not in both], share[2] - share[0])
        train = {*first, *second, *third}
        rest = [uid for uid in studies["StudyInstanceUID"] if uid not in train]
        train |= set(draw.sample(rest, share[3] - len(train)))
        test = [uid for uid in studies["StudyInstanceUID"] if uid not in train]
        by_uid = studies.set_index("StudyInstanceUID")
        rows = [(uid, target, by_uid.loc[uid, target], f"{uid}_{target}") for target in TARGETS for uid in test]
        answers = pd.DataFrame(rows, columns=["StudyInstanceUID", "prediction_type", "fractured", "row_id"])
        in_train = boxes["StudyInstanceUID"].isin([*first, *third])
        files = {
            "public/train.csv": to_csv(studies[studies["StudyInstanceUID"].isin(train)]),
            "public/train_bounding_boxes.csv": to_csv(boxes[in_train]),
            "public/test.csv": to_csv(answers.drop(columns="fractured")),
            "public/sample_submission.csv": to_csv(answers[["row_id"]].assign(fractured=0.5)),
            "private/answers.csv": to_csv(answers),
            **copy_files(raw / "segmentations", "public/segmentations", [f"{uid}.nii" for uid in [*first, *second]]),
            **copy_folders(raw / "train_images", "public/train_images", train),
            **copy_folders(raw / "train_images", "public/test_images", test),
        }
        empty = [
            f"public/{folder}/"
            for folder in ("segmentations", "train_images", "test_images")
            if not any(path.startswith(f"public/{folder}/") for path in files)
        ]
        return files | dict.fromkeys(empty, b"")

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "row_id", "fractured")
        require(bool(submission["fractured"].between(0, 1).all()))
        predicted, true = align(submission, answers, "row_id")
        tables = []
        for side in (true, predicted):
            parts = side["row_id"].str.split("_", n=1)
            side = side.assign(study=parts.str[0], target=parts.str[1])
            tables.append(side.pivot(index="study", columns="target", values="fractured")[TARGETS].to_numpy())
        y, p = tables[0], np.clip(tables[1], 1e-15, 1 - 1e-15)
        weights = np.where(y == 1, 2, 1) * np.array([7, *[1] * 7])
        losses = -(y * np.log(p) + (1 - y) * np.log(1 - p))
        return float(np.mean((weights * losses).sum(axis=1) / weights.sum(axis=1)))

    def _some_answers(self, path: Path, draw: random.Random) -> str:
        """Whole studies, since each one needs its eight rows."""
        answers = read_table(path.read_bytes())
        studies = draw.sample(sorted(set(answers["StudyInstanceUID"])), 8)
        return to_csv(answers[answers["StudyInstanceUID"].isin(studies)]).decode()

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        yield "sure of the opposite", table.change(lambda _: {"fractured": "1"}, range(0, len(table.rows), 3))
        yield (
            "a whole study missing",
            table.write([row for row in table.rows if row["row_id"][:24] != table.rows[0]["row_id"][:24]]),
        )

    def test_fixed_trains_on_nine_tenths_with_all_their_labels(self, miniatures: Miniatures) -> None:
        counts = {}
        for edition in ("v1", "fixed"):
            files = read_prepared(miniatures.prepared(self.name, edition))
            train, boxes = (read_table(files[f"public/{name}.csv"]) for name in ("train", "train_bounding_boxes"))
            segmentations = [path for path in files if path.startswith("public/segmentations/")]
            counts[edition] = (len(train), boxes["StudyInstanceUID"].nunique(), len(segmentations))
            test = set(read_table(files["public/test.csv"])["StudyInstanceUID"])
            assert not test & set(boxes["StudyInstanceUID"])
            assert not test & {Path(path).stem for path in segmentations}
            assert not test & set(train["StudyInstanceUID"])
        assert counts["v1"] == (10, 4, 3)
        train, boxed, segmented = counts["fixed"]
        assert train == 90
        assert (boxed, segmented) == (
            44 - 4 - self._filler(miniatures, "boxes"),
            30 - 3 - self._filler(miniatures, "nii"),
        )

    def _filler(self, miniatures: Miniatures, kind: str) -> int:
        """The studies of the last draw in v1 that have a label of this kind, which v1 does not show."""
        prepared = miniatures.prepared(self.name)
        raw, files = prepared.folder / "raw", read_prepared(prepared)
        train = set(read_table(files["public/train.csv"])["StudyInstanceUID"])
        if kind == "boxes":
            public = set(read_table(files["public/train_bounding_boxes.csv"])["StudyInstanceUID"])
            return len(train & set(pd.read_csv(raw / "train_bounding_boxes.csv")["StudyInstanceUID"]) - public)
        public = {Path(path).stem for path in files if path.startswith("public/segmentations/")}
        return len(train & {path.stem for path in (raw / "segmentations").iterdir()} - public)

    @pytest.mark.parametrize("edition", ("v1", "fixed"))
    def test_a_perfect_submission_scores_as_published(self, miniatures: Miniatures, edition: str) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = read_table((prepared.private / "answers.csv").read_bytes())[["row_id", "fractured"]]
        assert grade_submission(to_csv(answers), prepared, home=miniatures.home).score == 0

    @pytest.mark.parametrize(
        ("studies", "both", "segmented", "boxed"), [(1, 0, 0, 0), (6, 0, 1, 1), (64, 10, 10, 20), (35, 6, 9, 9)]
    )
    def test_raw_data_of_other_sizes(self, raw: Path, studies: int, both: int, segmented: int, boxed: int) -> None:
        uids = [f"1.2.{number * 7 % 64}" for number in range(studies)]
        rows = "".join(f"{uid},{number % 2},{',0' * 7}\r\n".replace(",,", ",") for number, uid in enumerate(uids))
        write_file(raw / "train.csv", ("StudyInstanceUID," + ",".join(TARGETS) + "\r\n" + rows).encode())
        lines = [f"{uid},200,{number}.50,7,8.0,{number}\n" for number, uid in enumerate(uids[: both + boxed][::-1])]
        header = "StudyInstanceUID,x,y,width,height,slice_number\n"
        write_file(raw / "train_bounding_boxes.csv", (header + "".join(lines)).encode())
        (raw / "segmentations").mkdir()
        for uid in [*uids[:both], *uids[both + boxed :][:segmented]]:
            write_file(raw / "segmentations" / f"{uid}.nii", uid.encode())
        write_file(raw / "segmentations" / "README.txt")
        for uid in uids:
            (raw / "train_images" / uid / "empty").mkdir(parents=True)
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_other_columns_are_refused(self, raw: Path) -> None:
        write_file(raw / "train.csv", b"StudyInstanceUID,C1\n1.2,0\n")
        write_file(raw / "train_bounding_boxes.csv", b"StudyInstanceUID,x,y,width,height,slice_number\n")
        with pytest.raises(SourceError, match=r"train\.csv has the columns"):
            prepare_raw(self.name, raw)
