"""Reference solutions, from the weakest to the strongest."""

import os
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

SEED = int(os.environ.get("SEED", "0"))
GOOD = ["great", "excellent", "best", "love", "perfect", "wonderful", "favorite", "superb", "enjoyed", "amazing"]
BAD = ["bad", "worst", "awful", "boring", "waste", "terrible", "poor", "dull", "stupid", "worse"]


def lengths(texts: Any) -> Any:
    return np.array([[len(text)] for text in texts], dtype=float)


def tally(texts: Any) -> Any:
    words = [text.lower().split() for text in texts]
    return np.array([[sum(map(text.count, GOOD)) - sum(map(text.count, BAD))] for text in words], dtype=float)


def words(**settings: Any) -> Any:
    return TfidfVectorizer(sublinear_tf=True, **settings)


class SubtractedBayes:
    """A linear machine on counts weighted by the log ratio of their classes (S. Wang, C. Manning, 2012)."""

    def __init__(self) -> None:
        self.counts = CountVectorizer(binary=True, ngram_range=(1, 3), min_df=2, token_pattern=r"\w+|[!?]")
        self.model = LinearSVC(C=0.02, random_state=SEED)

    def fit(self, texts: Any, labels: Any) -> "SubtractedBayes":
        table, labels = self.counts.fit_transform(texts), np.asarray(labels)
        good, bad = (1 + np.asarray(table[labels == label].sum(axis=0)).ravel() for label in (1, 0))
        self.ratio = np.log((good / good.sum()) / (bad / bad.sum()))
        self.model.fit(table.multiply(self.ratio).tocsr(), labels)
        return self

    def decision_function(self, texts: Any) -> Any:
        return self.model.decision_function(self.counts.transform(texts).multiply(self.ratio).tocsr())

    def predict(self, texts: Any) -> Any:
        return (self.decision_function(texts) > 0).astype(int)


class Blend:
    """The sum of the scaled scores of two linear models and the weighted counts."""

    def fit(self, texts: Any, labels: Any) -> "Blend":
        both = make_union(words(ngram_range=(1, 2), min_df=2), words(analyzer="char_wb", ngram_range=(2, 5), min_df=3))
        models = [SubtractedBayes(), make_pipeline(both, LogisticRegression(C=20, max_iter=300))]
        self.models = [model.fit(texts, labels) for model in models]
        return self

    def predict(self, texts: Any) -> Any:
        scores = [model.decision_function(texts) for model in self.models]
        return (sum(score / score.std() for score in scores) > 0).astype(int)


SOLUTIONS = {
    "constant": DummyClassifier(),
    "length": make_pipeline(FunctionTransformer(lengths), DecisionTreeClassifier(max_depth=3, random_state=SEED)),
    "thirty-words": make_pipeline(CountVectorizer(max_features=30), MultinomialNB()),
    "tree-of-words": make_pipeline(words(min_df=5), DecisionTreeClassifier(max_depth=4, random_state=SEED)),
    "tally-of-twenty-words": make_pipeline(FunctionTransformer(tally), LogisticRegression()),
    "two-hundred-words": make_pipeline(
        CountVectorizer(max_features=200), StandardScaler(with_mean=False), LogisticRegression(max_iter=500)
    ),
    "neighbors": make_pipeline(words(min_df=2), KNeighborsClassifier(25, metric="cosine")),
    "topics": make_pipeline(words(min_df=3), TruncatedSVD(50, random_state=SEED), LogisticRegression(C=10)),
    "extra-trees": make_pipeline(words(min_df=4), ExtraTreesClassifier(200, random_state=SEED)),
    "characters": make_pipeline(
        words(analyzer="char", ngram_range=(2, 4), min_df=5), LogisticRegression(C=10, max_iter=300)
    ),
    "presence-of-words": make_pipeline(CountVectorizer(min_df=3), BernoulliNB(alpha=0.3)),
    "words": make_pipeline(words(min_df=2), LogisticRegression(C=3)),
    "counts-of-pairs": make_pipeline(CountVectorizer(ngram_range=(1, 2), min_df=2, binary=True), MultinomialNB()),
    "pairs-of-words": make_pipeline(words(ngram_range=(1, 2), min_df=2), LinearSVC(C=0.5, random_state=SEED)),
    "weighted-counts": SubtractedBayes(),
    "blend": Blend(),
}


def write_submission(model: Any) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    test["positive"] = model.fit(train["text"], train["positive"]).predict(test["text"])
    test[["review", "positive"]].to_csv("submission.csv", index=False)
