from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, Table, prepare_raw, read_table, to_csv, write_file
from graders import require, require_columns
from sklearn.metrics import roc_auc_score

from assay.core.errors import SourceError
from assay.data import Prepared
from assay.grading import grade_submission

IDENTITIES = [
    "male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white",
    "psychiatric_or_mental_illness",
]  # fmt: skip


def area_of_classes(toxic: np.ndarray, score: np.ndarray) -> float:
    """The ROC AUC of predicted classes: the mean of sensitivity and specificity. scikit-learn takes 5 ms for it."""
    require(len(toxic) > 0)
    if toxic.all() or not toxic.any():
        return float("nan")
    return float(score[toxic == 1].mean() + 1 - score[toxic == 0].mean()) / 2


class TestJigsawUnintendedBiasInToxicityClassification(Competition):
    name = "jigsaw-unintended-bias-in-toxicity-classification"
    id = "id"
    targets = ("prediction",)
    max_rows = 150

    def prepare_reference(self, raw: Path) -> Files:
        test = pd.read_csv(raw / "test_private_expanded.csv")
        return {
            "public/train.csv": (raw / "train.csv").read_bytes(),
            "public/test.csv": to_csv(test[["id", "comment_text"]]),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(prediction=0.0)),
            "private/test.csv": (raw / "test_private_expanded.csv").read_bytes(),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        """Restated with Python's own floats, of which 0 has no negative power."""
        submission = submission.rename(columns={"prediction": "toxicity"})
        require_columns(submission, "id", "toxicity")
        predicted, true = submission.sort_values("id"), answers.sort_values("id")
        require(not (predicted["id"].values != true["id"].values).any())
        score = predicted["toxicity"].apply(lambda value: int(value >= 0.5)).to_numpy()
        toxic = (true["toxicity"] >= 0.5).astype(int).to_numpy()
        mentions = [(true[name] >= 0.5).astype(int).to_numpy() for name in IDENTITIES]
        total = roc_auc_score(toxic, score)
        for choices in (
            [mention == 1 for mention in mentions],
            [mention != toxic for mention in mentions],
            [mention == toxic for mention in mentions],
        ):
            areas = [area_of_classes(toxic[rows], score[rows]) for rows in choices]
            total += (sum(area**-5 for area in areas) / len(areas)) ** (-1 / 5)
        return total / 4

    def _submission(self, prepared: Prepared, answers: str, draw: Random) -> Table:
        renamed = read_table(answers.encode(), dtype=str).rename(columns={"toxicity": "prediction"})
        return super()._submission(prepared, to_csv(renamed).decode(), draw)

    def perturbations(self, table: Table, draw: Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        renamed = [row | {"toxicity": row["prediction"]} for row in table.rows]
        yield "the name of the answers", table.write(renamed, ["id", "toxicity"])
        yield "both names", table.write(renamed, ["id", "prediction", "toxicity"])
        yield "half a sign off", table.change(lambda row: {"prediction": f"{float(row['prediction']) - 1}"})
        booleans = {row["id"]: str(float(row["prediction"]) > 0.3) for row in table.rows}
        yield "booleans", table.change(lambda row: {"prediction": booleans[row["id"]]})
        booleans |= {row["id"]: "" for row in table.rows[::5]}
        yield "booleans with gaps", table.change(lambda row: {"prediction": booleans[row["id"]]})

    def test_copied_files_keep_their_bytes(self, raw: Path) -> None:
        write_file(raw / "train.csv", b"anything\r\n\xff")
        header = ",".join(["id", "comment_text", "toxicity", *(f"c{number}" for number in range(42))])
        texts = ['"NULL"', '"a, ""b""\r\nc"', '"plain"', "12", ""]
        rows = [f"{number},{text},{number}.50" + ",0" * 42 for number, text in enumerate(texts)]
        write_file(raw / "test_private_expanded.csv", "\r\n".join([header, *rows]).encode())
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    def test_another_number_of_columns_is_refused(self, raw: Path) -> None:
        write_file(raw / "train.csv")
        write_file(raw / "test_private_expanded.csv", b"id,comment_text,toxicity\n1,a,0\n")
        with pytest.raises(SourceError, match="has 3 columns"):
            prepare_raw(self.name, raw)

    def test_fixed_scores_the_order_of_predictions(self, miniatures: Miniatures) -> None:
        """Predictions in the right order but all below 0.5: a constant once they are cut there."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = pd.read_csv(prepared.private / "test.csv")
            small, whole = (
                grade_submission(
                    to_csv(answers[["id"]].assign(prediction=answers["toxicity"] / part)),
                    prepared,
                    home=miniatures.home,
                )
                for part in (3, 1)
            )
            scores[edition] = (small.score, whole.score)
        assert scores == {"v1": (0.5, 1.0), "fixed": (1.0, 1.0)}

    def test_fixed_scores_what_is_always_wrong(self, miniatures: Miniatures) -> None:
        """An area of 0 has no power of order -5, so nothing is scored in v1; the mean over areas of 0 is 0."""
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = pd.read_csv(prepared.private / "test.csv")
            content = to_csv(answers[["id"]].assign(prediction=1 - answers["toxicity"].round(3)))
            scores[edition] = grade_submission(content, prepared, home=miniatures.home).score
        assert scores == {"v1": None, "fixed": 0.0}
