from pathlib import Path

import pandas as pd
import pytest
from competition import (
    Competition,
    Files,
    Miniatures,
    prepare_raw,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_archive,
)
from graders import accuracy

from assay.core.errors import SourceError


class TestMovieReviewSentimentAnalysisKernelsOnly(Competition):
    name = "movie-review-sentiment-analysis-kernels-only"
    id = "PhraseId"
    targets = ("Sentiment",)
    predictions = "class"
    fixed_changes = ("public/*", "private/answers.csv")

    def prepare_reference(self, raw: Path) -> Files:
        train, test = split(pd.read_csv(raw / "train.tsv.zip", sep="\t"), test_size=0.3)
        return {
            "public/train.tsv.zip/train.tsv": to_csv(train, sep="\t"),
            "public/test.tsv.zip/test.tsv": to_csv(test[["PhraseId", "SentenceId", "Phrase"]], sep="\t"),
            "public/sampleSubmission.csv": to_csv(test[["PhraseId"]].assign(Sentiment=2)),
            "private/answers.csv": to_csv(test),
        }

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return accuracy(submission, answers, "PhraseId", "Sentiment")

    def test_fixed_keeps_the_phrases_of_a_sentence_together(self, miniatures: Miniatures) -> None:
        shared, phrases = {}, {}
        for edition in ("v1", "fixed"):
            files = read_prepared(miniatures.prepared(self.name, edition))
            train, test = (
                read_table(files[f"public/{side}.tsv.zip/{side}.tsv"], sep="\t", keep_default_na=False)
                for side in ("train", "test")
            )
            shared[edition] = set(train["SentenceId"]) & set(test["SentenceId"])
            phrases[edition] = {*train["Phrase"], *test["Phrase"]}
        assert shared["v1"]
        assert not shared["fixed"]
        assert phrases["fixed"] - phrases["v1"] == {"null", "None"}

    def test_an_extra_column_is_refused(self, raw: Path) -> None:
        table = "PhraseId\tSentenceId\tPhrase\tSentiment\tmore\n1\t1\ta\t2\tx\n"
        write_archive(raw / "train.tsv.zip", {"train.tsv": table})
        with pytest.raises(SourceError, match=r"train\.tsv has the columns"):
            prepare_raw(self.name, raw)
