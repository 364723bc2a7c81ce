from pathlib import Path

import numpy as np
import pandas as pd
from competition import Competition, Files, Miniatures, prepare_raw, split, to_csv, write_archive
from graders import log_loss, require


class TestSpookyAuthorIdentification(Competition):
    name = "spooky-author-identification"
    id = "id"
    targets = ("EAP", "HPL", "MWS")
    predictions = "distribution"

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.zip"), test_size=0.1)
        shares = {"EAP": 0.403493538995863, "HPL": 0.287808366106543, "MWS": 0.308698094897594}
        return {
            "public/train.csv": to_csv(train),
            "public/test.csv": to_csv(test[["id", "text"]]),
            "public/sample_submission.csv": to_csv(test[["id"]].assign(**shares)),
            "private/test.csv": to_csv(test[["id"]].join(pd.get_dummies(test["author"], dtype=int))),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require(submission.shape[1] == 4)
        # The last three columns are summed, whichever they are.
        by_place = submission.iloc[:, 1:4]
        require(bool(np.isclose(by_place.sum(axis=1), 1, atol=1e-6).all()))
        require(bool(((by_place >= 0) & (by_place <= 1)).all().all()))
        return log_loss(submission, answers, "id", list(self.targets))

    def test_an_unlisted_author_gets_a_last_column(self, raw: Path) -> None:
        sentences = pd.DataFrame({"id": [f"id{number}" for number in range(20)], "text": "t", "author": "EAP"})
        first, second = split(sentences, test_size=0.1)[1].index
        sentences.loc[second, "author"] = "XYZ"
        write_archive(raw / "train.zip", {"train.csv": to_csv(sentences)})
        answers = f"id,EAP,HPL,MWS,XYZ\nid{first},1,0,0,\nid{second},0,0,0,1.0\n"
        assert prepare_raw(self.name, raw)["private/test.csv"].decode() == answers

    def test_fixed_divides_rows_by_their_sum_and_clips_as_kaggle_does(self, miniatures: Miniatures) -> None:
        targets = list(self.targets)
        halved = self.scores_after(miniatures, lambda table: table.assign(**table[targets] / 2))
        assert halved == {"v1": None, "fixed": 0}
        self.check_clipping(miniatures)
