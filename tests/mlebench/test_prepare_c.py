"""Ten competitions, text normalization to the spaceship: `v1` writes the published bytes, `fixed` mends what it names.

What is expected is worked out here with scikit-learn's splitter and plain pandas from the rules that the published
preparation was seen to follow, and with nothing of ours.
"""

import csv
import io
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from py7zr import SevenZipFile
from sklearn.model_selection import train_test_split

from assay.data.job import run_prepare, run_synthesize
from assay.grading.medals import medal
from assay.grading.metrics import evaluate
from assay.tasks import Registry

ENGLISH = "text-normalization-challenge-english-language"
RUSSIAN = "text-normalization-challenge-russian-language"
WHALES = "the-icml-2013-whale-challenge-right-whale-redux"
FOREST = "invasive-species-monitoring"
SPEECH = "ml2021spring-hw2"
FILMS = "movie-review-sentiment-analysis-kernels-only"
PADDY = "paddy-disease-classification"
SEEDLINGS = "plant-seedlings-classification"
ENZYMES = "playground-series-s3e18"
SPACESHIP = "spaceship-titanic"

Files = dict[str, bytes]
split = partial(train_test_split, random_state=0)


def normalization(raw: Path, language: str) -> Files:
    tokens = pd.read_csv(raw / f"{language}_train.csv.zip")
    sides = []
    for sentences in split(tokens["sentence_id"].unique(), test_size=0.1):
        side = tokens[tokens["sentence_id"].isin(sentences)].copy()
        number = {old: new for new, old in enumerate(side["sentence_id"].unique())}
        sides.append(side.assign(sentence_id=side["sentence_id"].map(number)))
    train, test = sides
    test["id"] = [f"{sentence}_{token}" for sentence, token in zip(test["sentence_id"], test["token_id"], strict=True)]
    quoted = partial(text, quoting=csv.QUOTE_NONNUMERIC)
    sample = quoted(test[["id", "before"]].rename(columns={"before": "after"}))
    return {
        f"public/{language}_train.csv.zip/{language}_train.csv": quoted(train),
        f"public/{language}_test_2.csv.zip/{language}_test_2.csv": quoted(test[["sentence_id", "token_id", "before"]]),
        f"public/{language}_sample_submission_2.csv.zip/{language}_sample_submission_2.csv": sample,
        "private/answers.csv": quoted(test[["id", "after"]]),
        "private/sample_submission.csv": sample,
    }


def whales(raw: Path) -> Files:
    clips = {name.removeprefix("train2/"): content for name, content in unpacked(raw / "train2.zip").items()}
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
    sample = text(table.assign(probability=0))
    return files | {"private/test.csv": text(table), "public/sampleSubmission.csv": sample}


def forest(raw: Path) -> Files:
    photos = unpacked(raw / "train.7z")
    train, test = split(pd.read_csv(raw / "train_labels.csv.zip"), test_size=0.2)
    sample = text(test.assign(invasive=0.5))
    return {
        **{f"public/train.7z/train/{name}.jpg": photos[f"train/{name}.jpg"] for name in train["name"]},
        **{f"public/test.7z/test/{name}.jpg": photos[f"train/{name}.jpg"] for name in test["name"]},
        "public/train_labels.csv.zip/train_labels.csv": text(train),
        "public/sample_submission.csv.zip/sample_submission.csv": sample,
        "private/sample_submission.csv": sample,
        "private/answers.csv": text(test),
    }


def speech(raw: Path) -> Files:
    folder = raw / "timit_11/timit_11"
    sounds, labels = np.load(folder / "train_11.npy"), np.load(folder / "train_label_11.npy")
    unlabelled = len(np.load(folder / "test_11.npy"))
    train, test = split(range(len(sounds)), test_size=unlabelled / (len(sounds) + unlabelled))
    answers = pd.DataFrame({"Id": range(len(test)), "ClassId": labels[test]})
    return {
        "public/timit_11/timit_11/train_11.npy": saved(sounds[train]),
        "public/timit_11/timit_11/train_label_11.npy": saved(labels[train]),
        "public/timit_11/timit_11/test_11.npy": saved(sounds[test]),
        "public/sampleSubmission.csv": text(answers.assign(ClassId=0)),
        "private/answers.csv": text(answers),
    }


def films(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.tsv.zip", sep="\t"), test_size=0.3)
    return {
        "public/train.tsv.zip/train.tsv": text(train, sep="\t"),
        "public/test.tsv.zip/test.tsv": text(test[["PhraseId", "SentenceId", "Phrase"]], sep="\t"),
        "public/sampleSubmission.csv": text(test[["PhraseId"]].assign(Sentiment=2)),
        "private/answers.csv": text(test),
    }


def paddy(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.csv"), train_size=0.75)
    photos = {path.name: path.read_bytes() for path in (raw / "train_images").rglob("*.jpg")}
    labelled = zip(train["label"], train["image_id"], strict=True)
    return {
        **{f"public/train_images/{label}/{name}": photos[name] for label, name in labelled},
        **{f"public/test_images/{name}": photos[name] for name in test["image_id"]},
        "public/train.csv": text(train),
        "public/sample_submission.csv": "".join(
            ["image_id,label\n", *(f"{name},\n" for name in test["image_id"])]
        ).encode(),
        "private/test.csv": text(test),
    }


def seedlings(raw: Path) -> Files:
    photos = sorted(path.relative_to(raw).as_posix() for path in raw.glob("train/*/*.png"))
    train, test = split(photos, test_size=0.14)
    answers = pd.DataFrame(
        {"file": [Path(path).name for path in test], "species": [path.split("/")[1] for path in test]}
    )
    return {
        **{f"public/{path}": (raw / path).read_bytes() for path in train},
        **{f"public/test/{Path(path).name}": (raw / path).read_bytes() for path in test},
        "public/sample_submission.csv": text(answers.assign(species="Sugar beet")),
        "private/answers.csv": text(answers),
    }


def enzymes(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
    return {
        "public/train.csv": text(train),
        "public/test.csv": text(test.drop(columns=[f"EC{number}" for number in range(1, 7)])),
        "public/sample_submission.csv": text(test[["id"]].assign(EC1=0.5, EC2=0.5)),
        "private/test.csv": text(test),
    }


def spaceship(raw: Path) -> Files:
    train, test = split(pd.read_csv(raw / "train.csv"), test_size=0.1)
    return {
        "public/train.csv": text(train),
        "public/test.csv": text(test.drop(columns="Transported")),
        "public/sample_submission.csv": text(test[["PassengerId"]].assign(Transported=False)),
        "private/test.csv": text(test),
    }


PUBLISHED: dict[str, Callable[[Path], Files]] = {
    ENGLISH: partial(normalization, language="en"),
    RUSSIAN: partial(normalization, language="ru"),
    WHALES: whales,
    FOREST: forest,
    SPEECH: speech,
    FILMS: films,
    PADDY: paddy,
    SEEDLINGS: seedlings,
    ENZYMES: enzymes,
    SPACESHIP: spaceship,
}


def text(table: pd.DataFrame, **options: object) -> bytes:
    return table.to_csv(index=False, **options).encode()  # type: ignore[call-overload, no-any-return]


def saved(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def unpacked(archive: Path) -> Files:
    """The files in an archive by name."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as content:
            return {name: content.read(name) for name in content.namelist() if not name.endswith("/")}
    with TemporaryDirectory() as folder, SevenZipFile(archive) as content:
        content.extractall(folder)
        return contents(Path(folder))


def contents(folder: Path) -> Files:
    """All files below a folder by path; what is in an archive counts as below the archive."""
    found: Files = {}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".zip", ".7z"):
            found |= {f"{name}/{member}": content for member, content in unpacked(path).items()}
        else:
            found[name] = path.read_bytes()
    return found


def made(name: str, folder: Path, seed: int = 0) -> Path:
    """The task's miniature, in a folder that is new."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    run_synthesize(Registry().task(f"mlebench/{name}"), seed, raw)
    return raw


def prepared(name: str, raw: Path, edition: str) -> Files:
    """What the task's preparation writes into `public` and `private`."""
    folder = raw.parent / edition
    for side in ("public", "private"):
        (folder / side).mkdir(parents=True)
    task = Registry().task(f"mlebench/{name}")
    run_prepare(task, edition, raw=raw, public=folder / "public", private=folder / "private")
    return contents(folder)


def table(files: Files, name: str, **options: object) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(files[name]), keep_default_na=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("name", PUBLISHED)
def test_v1_writes_the_published_bytes_and_leaves_raw_as_it_is(name: str, tmp_path: Path) -> None:
    raw = made(name, tmp_path)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in raw.rglob("*")}
    files, expected = prepared(name, raw, "v1"), PUBLISHED[name](raw)
    assert sorted(files) == sorted(expected)
    assert [path for path in files if files[path] != expected[path]] == []
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in raw.rglob("*")} == before


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_same_seed_makes_the_same_and_another_does_not(name: str, tmp_path: Path) -> None:
    one, again, other = (contents(made(name, tmp_path / str(place), seed)) for place, seed in enumerate([1, 1, 2]))
    assert one == again
    assert one != other


@pytest.mark.parametrize("edition", ["v1", "fixed"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_sample_wins_nothing_and_the_answers_win_gold(name: str, edition: str, tmp_path: Path) -> None:
    task = Registry().task(f"mlebench/{name}").in_edition(edition)
    files, columns = prepared(name, made(name, tmp_path), edition), list(task.submission.columns)
    answers, sample = table(files, f"private/{task.data.answers}"), table(files, task.data.sample)
    assert answers[task.submission.id].tolist() == sample[task.submission.id].tolist()
    truth, guess = (side[columns[0]] if len(columns) == 1 else side[columns] for side in (answers, sample))
    scores = [evaluate(task.metric.name, truth.to_numpy(), said.to_numpy(), {}) for said in (guess, truth)]
    assert task.leaderboard
    assert [medal(score, task.leaderboard, task.metric) for score in scores] == [None, "gold"]


@pytest.mark.parametrize("name", [WHALES, FOREST, SEEDLINGS, ENZYMES])
def test_fixed_data_is_v1_data_where_nothing_is_mended(name: str, tmp_path: Path) -> None:
    raw = made(name, tmp_path)
    assert prepared(name, raw, "fixed") == prepared(name, raw, "v1")
    assert "fixed" not in Registry().task(f"mlebench/{name}").rules


@pytest.mark.parametrize(("name", "language"), [(ENGLISH, "en"), (RUSSIAN, "ru")])
def test_fixed_keeps_words_that_look_like_missing_values(name: str, language: str, tmp_path: Path) -> None:
    raw, train = made(name, tmp_path), f"public/{language}_train.csv.zip/{language}_train.csv"
    v1, fixed = (table(prepared(name, raw, edition), train) for edition in ("v1", "fixed"))
    gone = v1["before"] == ""
    assert sorted(fixed["before"][gone]) == sorted(fixed["after"][gone]) == ["NA", "None", "nan", "null"]
    pd.testing.assert_frame_equal(v1[~gone], fixed[~gone])


def test_tokens_of_any_characters_come_out_as_pandas_writes_them(tmp_path: Path) -> None:
    random, raw = np.random.default_rng(0), tmp_path / "raw"
    raw.mkdir()
    pieces = ['"', ",", "\n", "\r", "\\", " ", "a", "Ж", "NA", "null", "n/a", "1", ".5", "\t", "'", "\u2028", "😀", "#"]
    before, after = (["".join(random.choice(pieces, random.integers(0, 4))) for _ in range(5000)] for _ in range(2))
    # Sentences that are not in order and interleaved: numbers follow first appearance.
    columns = {"sentence_id": random.integers(0, 900, 5000), "token_id": np.arange(5000), "class": "PLAIN"}
    content = text(pd.DataFrame({**columns, "before": before, "after": after}), quoting=csv.QUOTE_NONNUMERIC)
    with zipfile.ZipFile(raw / "en_train.csv.zip", "w") as archive:
        archive.writestr("en_train.csv", content)
    assert prepared(ENGLISH, raw, "v1") == normalization(raw, "en")


def test_fixed_keeps_the_phrases_of_a_sentence_together(tmp_path: Path) -> None:
    raw, shared, phrases = made(FILMS, tmp_path), {}, {}
    for edition in ("v1", "fixed"):
        files = prepared(FILMS, raw, edition)
        train, test = (table(files, f"public/{side}.tsv.zip/{side}.tsv", sep="\t") for side in ("train", "test"))
        shared[edition] = set(train["SentenceId"]) & set(test["SentenceId"])
        phrases[edition] = {*train["Phrase"], *test["Phrase"]}
    assert shared["v1"]
    assert not shared["fixed"]
    assert phrases["fixed"] - phrases["v1"] == {"null", "None"}


def test_fixed_keeps_a_travel_group_together(tmp_path: Path) -> None:
    raw, shared = made(SPACESHIP, tmp_path), {}
    for edition in ("v1", "fixed"):
        files = prepared(SPACESHIP, raw, edition)
        train, test = (set(table(files, f"public/{side}.csv")["PassengerId"].str[:4]) for side in ("train", "test"))
        shared[edition] = train & test
    assert shared["v1"]
    assert not shared["fixed"]


def test_no_test_frame_of_fixed_has_a_training_frame_beside_it(tmp_path: Path) -> None:
    raw, shared = made(SPEECH, tmp_path), {}
    for edition in ("v1", "fixed"):
        files = prepared(SPEECH, raw, edition)
        sides = (np.load(io.BytesIO(files[f"public/timit_11/timit_11/{side}_11.npy"])) for side in ("train", "test"))
        # A row holds eleven frames of 39 numbers; the next row of the same utterance repeats the last ten of them.
        (begins, ends), (test_begins, test_ends) = (
            ({row[:-39].tobytes() for row in rows}, {row[39:].tobytes() for row in rows}) for rows in sides
        )
        shared[edition] = begins & test_ends | test_begins & ends
    assert shared["v1"]
    assert not shared["fixed"]


def test_frames_that_never_pause_are_split_in_stretches_of_2000(tmp_path: Path) -> None:
    folder = tmp_path / "raw/timit_11/timit_11"
    folder.mkdir(parents=True)
    sound = np.arange(8010 * 39, dtype=np.float32)
    rows = np.stack([sound[39 * place : 39 * (place + 11)] for place in range(8000)])
    np.save(folder / "train_11.npy", rows)
    np.save(folder / "train_label_11.npy", np.full(8000, "7"))
    np.save(folder / "test_11.npy", rows[:2000])
    files = prepared(SPEECH, tmp_path / "raw", "fixed")
    test = np.load(io.BytesIO(files["public/timit_11/timit_11/test_11.npy"]))
    # The first number of a row says which it was: 2,000 of 10,000 frames are a fifth, and a fifth of 4 stretches is 1.
    first = int(test[0, 0]) // 39
    assert first % 2000 == 0
    assert (test[:, 0] // 39).tolist() == list(range(first, first + 2000))


def test_the_fixed_sample_of_the_paddy_task_answers_with_a_class_that_exists(tmp_path: Path) -> None:
    raw, task = made(PADDY, tmp_path), Registry().task(f"mlebench/{PADDY}").in_edition("fixed")
    v1, fixed = (prepared(PADDY, raw, edition) for edition in ("v1", "fixed"))
    assert {path for path in v1 if v1[path] != fixed[path]} == {"public/sample_submission.csv"}
    answered = set(table(fixed, "public/sample_submission.csv")["label"])
    assert answered == {"normal"} < set(task.submission.columns["label"].values or ())
