import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, prepare_raw, read_archive, to_csv, write_archive
from graders import roc_auc

from assay.core.errors import SourceError


def clip(day: int, number: int, ending: str = ".aif") -> str:
    return f"2009032{day}_000000_1s0ms_TRAIN{number}_{number % 2}{ending}"


class TestTheIcml2013WhaleChallengeRightWhaleRedux(Competition):
    name = "the-icml-2013-whale-challenge-right-whale-redux"
    id = "clip"
    targets = ("probability",)

    def prepare_reference(self, raw: Path) -> Files:
        clips = {name.removeprefix("train2/"): content for name, content in read_archive(raw / "train2.zip").items()}
        early = sorted({name[:8] for name in clips})[:2]
        files: Files = {}
        answers: list[tuple[str, int]] = []
        trained = 0
        for name in sorted(clips):
            if name[:8] in early:
                files[f"public/train2.zip/train2/{re.sub('TRAIN[0-9]+', f'TRAIN{trained}', name)}"] = clips[name]
                trained += 1
            else:
                new = re.sub("TRAIN.*", f"Test{len(answers)}.aif", name)
                files[f"public/test2.zip/test2/{new}"] = clips[name]
                answers.append((new, int(name[-5])))
        table = pd.DataFrame(answers, columns=["clip", "probability"])
        sample = to_csv(table.assign(probability=0))
        return files | {"private/test.csv": to_csv(table), "public/sampleSubmission.csv": sample}

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "clip", "probability")

    def test_an_archive_starts_with_its_folder(self, raw: Path) -> None:
        clips = [clip(day, number, ".AIF" if day == 9 else ".aif") for day in (6, 7, 8, 9) for number in (0, 1)]
        write_archive(raw / "train2.zip", {f"train2/{name}": name for name in clips} | {"__MACOSX/train2/._x": "x"})
        files = prepare_raw(self.name, raw)
        with zipfile.ZipFile(raw.parent / "raw-v1/public/test2.zip") as archive:
            folder, *members = archive.namelist()
            assert folder == "test2/" and archive.infolist()[0].is_dir()
            assert members == [f"test2/2009032{8 + n // 2}_000000_1s0ms_Test{n}.aif" for n in range(4)]
            assert [archive.read(name).decode() for name in members] == clips[4:]
            assert archive.testzip() is None
        assert re.findall(r",(.)\n", files["private/test.csv"].decode()) == ["0", "1", "0", "1"]

    @pytest.mark.parametrize(
        "names",
        [
            [clip(day, 0) for day in (1, 2, 3)],
            [clip(day, 0) for day in (1, 2, 3, 4, 5)],
            [*(clip(day, 0) for day in (1, 2, 3, 4)), ".DS_Store"],
            [*(clip(day, 0) for day in (1, 2, 3, 4)), clip(1, 1, ".AIF")],
        ],
    )
    def test_other_than_four_days_are_refused(self, names: list[str], raw: Path) -> None:
        write_archive(raw / "train2.zip", dict.fromkeys([f"train2/{name}" for name in names], b""))
        with pytest.raises(SourceError, match="train2"):
            prepare_raw(self.name, raw)
