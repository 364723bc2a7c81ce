import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, copy_files, prepare_raw, split, to_csv, write_file
from graders import align, require_columns
from run_masks import decode_runs, mask_cells

from assay.grading import grade_submission

BANDS = [f"band_{number:02d}.npy" for number in range(8, 17)]
MASKS = ["human_individual_masks.npy", "human_pixel_masks.npy"]


class TestGoogleResearchIdentifyContrailsReduceGlobalWarming(Competition):
    name = "google-research-identify-contrails-reduce-global-warming"
    id = "record_id"
    targets = ("encoded_pixels",)
    predictions = "class"
    fixed_changes = ("public/sample_submission.csv",)

    def prepare_reference(self, raw: Path) -> Files:
        records, validation = (json.loads((raw / f"{side}_metadata.json").read_bytes()) for side in SIDES)
        train, test = split(records, test_size=len(validation))
        random.seed(0)
        files: Files = {
            "public/train_metadata.json": json.dumps(train).encode(),
            "public/validation_metadata.json": (raw / "validation_metadata.json").read_bytes(),
        }
        rows = []
        for record in train:
            id = record["record_id"]
            files |= copy_files(raw / "train" / id, f"public/train/{id}", [*BANDS, *MASKS])
        for record in test:
            id = record["record_id"]
            files |= copy_files(raw / "train" / id, f"public/test/{id}", BANDS)
            mask = np.load(raw / "train" / id / "human_pixel_masks.npy")
            height, width, _ = np.load(raw / "train" / id / "band_08.npy").shape
            rows.append((id, encode(mask.ravel(order="F") == 1), height, width))
        for path in (raw / "validation").rglob("*.npy"):
            files[f"public/{path.relative_to(raw)}"] = path.read_bytes()
        answers = pd.DataFrame(rows, columns=["record_id", "encoded_pixels", "height", "width"])
        sample = answers.assign(encoded_pixels=[random.choice(["1 3 10 5", "-"]) for _ in rows])
        return files | {"public/sample_submission.csv": to_csv(sample), "private/answers.csv": to_csv(answers)}

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "record_id", "encoded_pixels")
        sides = []
        for side in align(submission, answers, "record_id"):
            texts = side["encoded_pixels"].replace("-", "")
            sizes = answers.sort_values("record_id")[["height", "width"]].to_numpy().tolist()
            sides.append(np.array([decode_runs(text, *size) for text, size in zip(texts, sizes, strict=True)]))
        predicted, true = sides
        return 2 * (predicted & true).sum() / (predicted.sum() + true.sum())

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        for label, cell in mask_cells().items():
            yield f"one mask: {label}", table.change(lambda _: {"encoded_pixels": cell}, [1])  # noqa: B023
            yield f"all masks: {label}", table.change(lambda _: {"encoded_pixels": cell})  # noqa: B023

    def test_two_records_without_a_validation_folder_are_enough(self, raw: Path) -> None:
        records = [{"record_id": id, "x": 1e-7, "name": "é"} for id in ("8", "9")]
        (raw / "train_metadata.json").write_text(json.dumps(records, ensure_ascii=False, indent=2))
        (raw / "validation_metadata.json").write_bytes(b'[ {"record_id": "1"}]\n')
        for id, value in (("8", 1), ("9", 2)):
            for name in [*BANDS[1:], MASKS[0], "other.npy"]:
                write_file(raw / "train" / id / name, id.encode())
            np.save(raw / "train" / id / BANDS[0], np.zeros((6, 5, 2)))
            np.save(raw / "train" / id / MASKS[1], np.full((6, 5), value))
        (train,), (test,) = split(records, test_size=1)
        files = prepare_raw(self.name, raw)
        assert files["public/validation/"] == b""
        assert files["public/train_metadata.json"] == json.dumps([train]).encode()
        pixels = {"8": "1 30", "9": "-"}[test["record_id"]]
        assert files["private/answers.csv"].decode().splitlines()[1] == f"{test['record_id']},{pixels},6,5"
        assert not [path for path in files if "other" in path or path.startswith("public/test/human")]

    @pytest.mark.parametrize(("edition", "valid"), [("v1", True), ("fixed", False)])
    def test_masks_beyond_the_image_are_refused_in_fixed(
        self, miniatures: Miniatures, edition: str, valid: bool
    ) -> None:
        prepared = miniatures.prepared(self.name, edition)
        perfect = pd.read_csv(prepared.private / "answers.csv")[["record_id", "encoded_pixels"]]
        for cell in ("5 1000000", "1 2 9"):
            table = perfect.assign(encoded_pixels=[cell, *perfect["encoded_pixels"][1:]])
            grade = grade_submission(to_csv(table), prepared, home=miniatures.home)
            assert grade.valid_submission == valid
        assert grade_submission(to_csv(perfect), prepared, home=miniatures.home).score == 1.0

    @pytest.mark.parametrize(("edition", "valid"), [("v1", False), ("fixed", True)])
    def test_images_of_different_sizes_are_graded_in_fixed(
        self, miniatures: Miniatures, tmp_path: Path, edition: str, valid: bool
    ) -> None:
        prepared = miniatures.prepared(self.name, edition)
        answers = pd.read_csv(prepared.private / "answers.csv")
        answers.loc[0, "width"] += 1
        write_file(tmp_path / "answers.csv", to_csv(answers))
        prepared = replace(prepared, private=tmp_path)
        submission = to_csv(answers[["record_id", "encoded_pixels"]])
        assert grade_submission(submission, prepared, home=miniatures.home).valid_submission == valid


SIDES = ("train", "validation")


def encode(pixels: np.ndarray) -> str:
    runs: list[int] = []
    for pixel in np.flatnonzero(pixels).tolist():
        if runs and runs[-2] + runs[-1] == pixel + 1:
            runs[-1] += 1
        else:
            runs += [pixel + 1, 1]
    return " ".join(map(str, runs)) or "-"
