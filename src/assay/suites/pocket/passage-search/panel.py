"""Reference solutions, from the weakest to the strongest."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

SEED = int(os.environ.get("SEED", "0"))
CANDIDATES = [f"c{number}" for number in range(20)]
Values = NDArray[np.float64]
Solution = Callable[[pd.DataFrame, pd.DataFrame], Values]
"""Returns a score of each candidate of each test query, higher for a better one."""


def write_submission(solution: Solution) -> None:
    train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
    order = np.argsort(-solution(train, test), axis=1, kind="stable")
    test["ranking"] = [" ".join(CANDIDATES[column] for column in row) for row in order]
    test[["query", "ranking"]].to_csv("submission.csv", index=False)


def as_listed(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return np.tile(-np.arange(20.0), (len(test), 1))


def shuffled(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return np.random.default_rng(SEED).random((len(test), 20))


def length(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    sizes = test[["text", *CANDIDATES]].map(len).to_numpy(dtype=float)
    return -np.abs(sizes[:, 1:] - sizes[:, :1])


def common_words(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(CountVectorizer(max_features=100), train, test)


def shared_words(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(CountVectorizer(binary=True), train, test)


def counts(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(CountVectorizer(), train, test)


def function_words(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(max_features=300), train, test)


def topics(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(sublinear_tf=True, min_df=2), train, test, topics=40)


def more_topics(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(sublinear_tf=True, min_df=2), train, test, topics=200)


def pairs(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(sublinear_tf=True, ngram_range=(2, 2), min_df=2), train, test)


def words(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(stop_words="english"), train, test)


def rare_words(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(sublinear_tf=True, max_df=0.2), train, test)


def characters(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return similarity(TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True), train, test)


def words_and_characters(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    return characters(train, test) * 2 + words(train, test) + rare_words(train, test)


def learned_weights(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    inputs, labels, others = learning_data(train, test)
    model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=500).fit(inputs, labels)
    return model.decision_function(others).reshape(len(test), 20)


def learned_ranking(train: pd.DataFrame, test: pd.DataFrame) -> Values:
    inputs, labels, others = learning_data(train, test)
    model = LGBMRanker(
        n_estimators=80, learning_rate=0.05, num_leaves=6, min_child_samples=40, n_jobs=1, random_state=SEED, verbose=-1
    )
    ranked = model.fit(inputs, labels, group=[20] * len(train)).predict(others)
    return standardize(np.asarray(ranked, dtype=float).reshape(len(test), 20)) + standardize(
        learned_weights(train, test)
    )


def similarity(vectorizer: Any, train: pd.DataFrame, test: pd.DataFrame, topics: int = 0) -> Values:
    """Return the cosine between a query and each of its candidates; what is common is learned from all texts."""
    texts = pd.concat([part[name] for part in (train, test) for name in ("text", *CANDIDATES)]).unique()
    vectorizer.fit(texts)
    reduce = TruncatedSVD(topics, random_state=SEED).fit(vectorizer.transform(texts)) if topics else None

    def vectors(column: pd.Series) -> Any:
        table = vectorizer.transform(column)
        return normalize(reduce.transform(table) if reduce else table)

    query = vectors(test["text"])
    if topics:
        return np.column_stack([np.sum(vectors(test[name]) * query, axis=1) for name in CANDIDATES])
    return np.column_stack([np.asarray(vectors(test[name]).multiply(query).sum(axis=1)).ravel() for name in CANDIDATES])


def learning_data(train: pd.DataFrame, test: pd.DataFrame) -> tuple[Values, Values, Values]:
    """Return a row for each candidate: how similar it is by several measures, within its query."""
    measures = (characters, words, rare_words, topics, more_topics, pairs, function_words, length)

    def describe(part: pd.DataFrame) -> Values:
        return np.column_stack([standardize(measure(test, part)).ravel() for measure in measures])

    inputs, others = describe(train), describe(test)
    scaler = StandardScaler().fit(inputs)
    labels = (train["ranking"].to_numpy()[:, None] == np.array(CANDIDATES)).ravel().astype(float)
    return scaler.transform(inputs), labels, scaler.transform(others)


def standardize(scores: Values) -> Values:
    return (scores - scores.mean(axis=1, keepdims=True)) / (scores.std(axis=1, keepdims=True) + 1e-9)


SOLUTIONS: list[Solution] = [
    as_listed,
    shuffled,
    length,
    common_words,
    counts,
    shared_words,
    function_words,
    topics,
    pairs,
    more_topics,
    rare_words,
    words,
    characters,
    words_and_characters,
    learned_weights,
    learned_ranking,
]
