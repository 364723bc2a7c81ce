"""Reference solutions, from the weakest to the strongest."""

from typing import Any

import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

SOLUTIONS: dict[str, Any] = {
    "most-common": DummyClassifier(),
    "common-words": make_pipeline(CountVectorizer(max_features=200), LogisticRegression(max_iter=1000)),
    "naive-bayes": make_pipeline(CountVectorizer(min_df=3), MultinomialNB()),
    "weighted-words": make_pipeline(TfidfVectorizer(min_df=3, sublinear_tf=True), LogisticRegression(C=3)),
    "weighted-pairs": make_pipeline(TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True), LinearSVC()),
}


def write_submission(model: Any) -> None:
    train, test = (pd.read_csv(f"data/{part}.csv") for part in ("train", "test"))
    test["label"] = model.fit(train["text"], train["label"]).predict(test["text"])
    test[["idx", "label"]].to_csv("submission.csv", index=False)
