import io
from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, prepare_raw, read_archive, split, to_csv, write_archive
from graders import align, require_columns
from PIL import Image
from sklearn import metrics


class TestDenoisingDirtyDocuments(Competition):
    name = "denoising-dirty-documents"
    id = "id"
    targets = ("value",)

    def prepare_reference(self, raw: Path) -> Files:
        noisy, clean = read_archive(raw / "train.zip"), read_archive(raw / "train_cleaned.zip")
        train, test = split(sorted(noisy), test_size=0.2)
        rows = []
        for name in sorted(test):
            picture = Image.open(io.BytesIO(clean[name.replace("train/", "train_cleaned/")]))
            for (row, column), level in np.ndenumerate(np.asarray(picture.convert("L"))):
                rows.append((f"{Path(name).stem}_{row + 1}_{column + 1}", level / 255))
        answers = pd.DataFrame(rows, columns=["id", "value"])
        cleaned = [name.replace("train/", "train_cleaned/") for name in train]
        return {
            "public/sampleSubmission.csv": to_csv(answers.assign(value=1)),
            "private/answers.csv": to_csv(answers),
            **{f"public/{name}": noisy[name] for name in train},
            **{f"public/{name.replace('train/', 'test/')}": noisy[name] for name in test},
            **{f"public/{name}": clean[name] for name in cleaned},
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "id", "value")
        predicted, true = align(submission.assign(value=submission["value"].astype(float)), answers, "id")
        return metrics.root_mean_squared_error(true["value"], predicted["value"])

    def test_other_files_in_the_archives_are_public_in_v1_only(self, raw: Path) -> None:
        pages = [f"{number}.png" for number in (1, 10, 2, 3, 4)]
        others = {
            "train/deep/9.png": b"deep",
            "train/8.PNG": b"big",
            "__MACOSX/train/._1.png": b"junk",
            "both": b"first",
        }
        write_archive(raw / "train.zip", {"train/": b"", **{f"train/{page}": page for page in pages}, **others})
        clean = {f"train_cleaned/{page}": gray_picture(number) for number, page in enumerate(pages)}
        write_archive(raw / "train_cleaned.zip", {**clean, "train_cleaned/77.png": b"extra", "both": b"second"})
        train, test = split(sorted(pages), test_size=0.2)
        ids = [f"{test[0].removesuffix('.png')}_{row}_{column}" for row in (1, 2) for column in (1, 2, 3)]
        value = pages.index(test[0]) / 255
        assert prepare_raw(self.name, raw) == {
            **{f"public/train/{page}": page.encode() for page in train},
            **{f"public/test/{page}": page.encode() for page in test},
            **{f"public/train_cleaned/{page}": clean[f"train_cleaned/{page}"] for page in train},
            **{f"public/{name}": content for name, content in others.items()},
            "public/train_cleaned/77.png": b"extra",
            "public/both": b"second",
            "public/sampleSubmission.csv": to_csv(pd.DataFrame({"id": ids, "value": 1})),
            "private/answers.csv": to_csv(pd.DataFrame({"id": ids, "value": value})),
        }
        assert not {f"public/{name}" for name in others} & prepare_raw(self.name, raw, "fixed").keys()


def gray_picture(level: int) -> bytes:
    content = io.BytesIO()
    Image.fromarray(np.full((2, 3), level, np.uint8)).save(content, "PNG")
    return content.getvalue()
