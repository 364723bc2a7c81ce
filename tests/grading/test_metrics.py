"""Metrics give the numbers that their formulas give by hand, and those of scikit-learn."""

import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import UsageError
from assay.grading.metrics import METRICS, describe_metric, evaluate, find_metric
from assay.tasks import Registry, Task

REAL = st.floats(-1e6, 1e6)


def score(name, truth, prediction, **params):
    return evaluate(METRICS.load(name), np.array(truth), np.array(prediction), params)


@pytest.mark.parametrize(
    ("name", "truth", "prediction", "by_hand"),
    [
        ("accuracy", ["a", "b", "b", "a"], ["a", "b", "a", "b"], 0.5),
        ("accuracy", [True, False], [True, False], 1.0),
        ("accuracy", [[1, 2], [3, 4]], [[1, 2], [3, 5]], 0.5),
        ("mae", [1.0, 2.0, 3.0], [2.0, 2.0, 5.0], 1.0),
        ("rmse", [1.0, 2.0, 3.0], [2.0, 2.0, 5.0], math.sqrt(5 / 3)),
        # log(1 + e - 1) = 1 and log(1 + 0) = 0: errors 1 and 0.
        ("rmsle", [0.0, 0.0], [math.e - 1, 0.0], math.sqrt(0.5)),
        # Pairs (positive, negative): 0.35 > 0.1, 0.35 < 0.4, 0.8 > both: 3 of 4.
        ("roc_auc", [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.75),
        ("roc_auc", [0, 1], [0.5, 0.5], 0.5),
        ("log_loss", [1, 0], [0.5, 0.75], (math.log(2) + math.log(4)) / 2),
        # The second row sums to 2 and is halved.
        ("log_loss", [[1, 0], [0, 1]], [[0.5, 0.5], [1.5, 0.5]], (math.log(2) + math.log(4)) / 2),
        ("log_loss", [1], [0.0], -math.log(1e-15)),
    ],
)
def test_a_metric_gives_the_number_worked_out_by_hand(name, truth, prediction, by_hand):
    assert score(name, truth, prediction) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "truth", "prediction"),
    [("roc_auc", [1, 1], [0.1, 0.2]), ("rmsle", [1.0], [-2.0]), ("log_loss", [[1, 0]], [[0.0, 0.0]])],
)
def test_a_metric_without_a_value_is_nan(name, truth, prediction):
    assert math.isnan(score(name, truth, prediction))


@pytest.mark.parametrize("name", sorted({*METRICS.names()} - {"map_at_k", "roc_auc"}))  # one has a parameter
def test_no_rows_have_no_score(name):
    assert math.isnan(score(name, np.empty(0), np.empty(0)))


@given(st.lists(st.tuples(REAL, REAL), min_size=1))
def test_distances_equal_those_of_scikit_learn(pairs):
    truth, prediction = np.array(pairs).T
    assert score("mae", truth, prediction) == pytest.approx(sklearn.metrics.mean_absolute_error(truth, prediction))
    assert score("rmse", truth, prediction) == pytest.approx(sklearn.metrics.root_mean_squared_error(truth, prediction))
    positive = np.abs(truth), np.abs(prediction)
    assert score("rmsle", *positive) == pytest.approx(sklearn.metrics.root_mean_squared_log_error(*positive))


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.01, 0.2, 0.5, 0.7, 0.99])), min_size=1))
def test_class_metrics_equal_those_of_scikit_learn(pairs):
    truth = np.array([true for true, _ in pairs] + [True, False])
    prediction = np.array([predicted for _, predicted in pairs] + [0.4, 0.4])
    assert score("accuracy", truth, prediction > 0.5) == sklearn.metrics.accuracy_score(truth, prediction > 0.5)
    assert score("roc_auc", truth, prediction) == sklearn.metrics.roc_auc_score(truth, prediction)
    assert score("log_loss", truth, prediction) == pytest.approx(sklearn.metrics.log_loss(truth, prediction))


@given(st.lists(st.integers(0, 2), min_size=1), st.randoms(use_true_random=False))
def test_log_loss_of_several_classes_equals_that_of_scikit_learn(classes, random):
    probability = np.array([[random.uniform(0.01, 1) for _ in range(3)] for _ in classes])
    probability /= probability.sum(axis=1, keepdims=True)
    expected = sklearn.metrics.log_loss(classes, probability, labels=[0, 1, 2])
    assert score("log_loss", np.eye(3)[classes], probability) == pytest.approx(expected)


def test_arrays_of_different_shape_are_a_mistake_and_not_a_score():
    with pytest.raises(ValueError, match="shape"):
        score("rmse", [1.0, 2.0], [[1.0], [2.0]])


def test_an_unknown_metric_is_answered_with_the_nearest():
    with pytest.raises(UsageError, match="did you mean accuracy"):
        METRICS.load("acuracy")


RULES = [task.in_edition(edition) for task in Registry().tasks() for edition in task.editions]


@pytest.mark.parametrize("task", RULES, ids=lambda task: f"{task.id}-{task.metric.name}")
def test_a_metric_and_the_task_that_uses_it_agree_on_which_scores_are_better(task: Task):
    function = find_metric(task)
    assert function.direction == task.metric.direction
    assert function.range[0] < function.range[1]
    assert function.function.__name__ == task.metric.name
    assert "{" not in describe_metric(task) and "_" not in describe_metric(task)


def test_a_metric_that_serves_one_task_is_in_its_folder():
    tasks = {name: {task.id for task in RULES if task.metric.name == name} for name in METRICS.names()}
    shared = {"rmsle": "mean_column_rmsle", "pearson": "mean_column_spearman"}  # metrics of other tasks use them
    shared["reward"] = "tasks that are converted from Harbor's"
    assert {name for name, users in tasks.items() if len(users) < 2} - {*shared} == set()
