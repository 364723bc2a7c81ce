"""Prepared competitions, compared with what scikit-learn and pandas make of the same miniature by the published rules.

Nothing here calls Assay's own splits, tables or archives: every expected file is worked out anew.
"""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.model_selection import train_test_split

from assay.data.job import run_prepare, run_synthesize
from assay.grading.medals import medal
from assay.grading.metrics import evaluate
from assay.tasks import Registry, Task

Tree = dict[str, bytes | dict[str, bytes]]
"""Contents by path below the task's folder; an archive is a table of its own."""

BIRDS = "mlsp_contest_dataset.zip"
SEGMENTS = [
    f"supplemental_data/{name}.txt" for name in ("histogram_of_segments", "segment_features", "segment_rectangles")
]


def aerial_cactus_identification(raw: Path) -> Tree:
    train, test = train_test_split(pd.read_csv(raw / "train.csv"), test_size=0.19, random_state=0)
    pictures = unzipped(raw / "train.zip")
    return {
        "public/train.csv": text(train),
        "public/sample_submission.csv": text(test.assign(has_cactus=0.5)),
        "private/test.csv": text(test),
        "public/train.zip": {name: pictures[f"train/{name}"] for name in train["id"]},
        "public/test.zip": {name: pictures[f"train/{name}"] for name in test["id"]},
    }


def aptos2019_blindness_detection(raw: Path) -> Tree:
    train, test = train_test_split(pd.read_csv(raw / "train.csv"), test_size=0.1, random_state=0)
    return {
        "public/train.csv": text(train),
        "public/test.csv": text(test.drop(columns="diagnosis")),
        "public/sample_submission.csv": text(test.assign(diagnosis=0)),
        "private/test.csv": text(test),
        **copies(raw / "train_images", "public/train_images", train["id_code"] + ".png"),
        **copies(raw / "train_images", "public/test_images", test["id_code"] + ".png"),
    }


def denoising_dirty_documents(raw: Path) -> Tree:
    noisy, clean = unzipped(raw / "train.zip"), unzipped(raw / "train_cleaned.zip")
    train, test = train_test_split(sorted(noisy), test_size=0.2, random_state=0)
    rows = []
    for name in sorted(test):
        levels = np.asarray(Image.open(io.BytesIO(clean[name.replace("train/", "train_cleaned/")])).convert("L"))
        for (row, column), level in np.ndenumerate(levels):
            rows.append((f"{Path(name).stem}_{row + 1}_{column + 1}", level / 255))
    answers = pd.DataFrame(rows, columns=["id", "value"])
    return {
        "public/sampleSubmission.csv": text(answers.assign(value=1)),
        "private/answers.csv": text(answers),
        **{f"public/{name}": noisy[name] for name in train},
        **{f"public/{name.replace('train/', 'test/')}": noisy[name] for name in test},
        **{f"public/train_cleaned/{Path(name).name}": clean[f"train_cleaned/{Path(name).name}"] for name in train},
    }


def detecting_insults_in_social_commentary(raw: Path) -> Tree:
    test = pd.read_csv(raw / "test_with_solutions.csv")
    return {
        "public/train.csv": (raw / "train.csv").read_bytes(),
        "public/test.csv": text(test[["Date", "Comment"]]),
        "public/sample_submission_null.csv": text(test[["Insult", "Date", "Comment"]].assign(Insult=0)),
        "private/test.csv": (raw / "test_with_solutions.csv").read_bytes(),
        "private/gold_submission.csv": text(test[["Insult", "Date", "Comment"]]),
    }


def dog_breed_identification(raw: Path) -> Tree:
    train, test = train_test_split(pd.read_csv(raw / "labels.csv"), test_size=0.1, random_state=0)
    answers, sample = one_per_class(test, "breed", "dog-breed-identification")
    return {
        "public/labels.csv": text(train),
        "public/sample_submission.csv": text(sample),
        "private/test.csv": text(answers),
        **copies(raw / "train", "public/train", train["id"] + ".jpg"),
        **copies(raw / "train", "public/test", test["id"] + ".jpg"),
    }


def dogs_vs_cats_redux_kernels_edition(raw: Path) -> Tree:
    pictures = {Path(name).name: content for name, content in unzipped(raw / "train.zip").items()}
    train, test = train_test_split(sorted(pictures), test_size=0.1, random_state=0)
    cats = [name for name in train if "cat" in name]
    dogs = [name for name in train if "dog" in name]
    named = {f"cat.{number}.jpg": pictures[name] for number, name in enumerate(cats)}
    named |= {f"dog.{number}.jpg": pictures[name] for number, name in enumerate(dogs)}
    numbered = {f"{number}.jpg": pictures[name] for number, name in enumerate(test, start=1)}
    labels = [1 if "dog" in name else 0 for name in test]
    answers = pd.DataFrame({"id": np.arange(len(test)) + 1, "label": labels})
    return {
        "public/train.zip": named,
        "public/test.zip": numbered,
        **{f"public/train/{name}": content for name, content in named.items()},
        **{f"public/test/{name}": content for name, content in numbered.items()},
        "public/sample_submission.csv": text(answers.assign(label=0.5)),
        "private/answers.csv": text(answers),
    }


def histopathologic_cancer_detection(raw: Path) -> Tree:
    labels, unlabelled = pd.read_csv(raw / "train_labels.csv"), len(list((raw / "test").glob("*.tif")))
    share = unlabelled / (len(labels) + unlabelled)
    train_ids, test_ids = train_test_split(labels["id"], test_size=share, random_state=0)
    train, test = (labels[labels["id"].isin(ids)] for ids in (train_ids, test_ids))
    return {
        "public/train_labels.csv": text(train),
        "public/sample_submission.csv": text(test.assign(label=0)),
        "private/answers.csv": text(test),
        **copies(raw / "train", "public/train", train["id"] + ".tif"),
        **copies(raw / "train", "public/test", test["id"] + ".tif"),
    }


def jigsaw_toxic_comment_classification_challenge(raw: Path) -> Tree:
    names = ("train.csv", "test.csv", "test_labels.csv", "sample_submission.csv")
    tables = {name: table_of(unzipped(raw / f"{name}.zip")[name]) for name in names}
    sample = tables["sample_submission.csv"]
    for column in ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"):
        sample[column] = 0.5
    return {
        "public/train.csv": text(tables["train.csv"]),
        "public/test.csv": text(tables["test.csv"]),
        "public/sample_submission.csv": text(sample),
        "private/test.csv": text(tables["test_labels.csv"]),
    }


def leaf_classification(raw: Path) -> Tree:
    table = table_of(unzipped(raw / "train.csv.zip")["train.csv"])
    train, test = train_test_split(table, test_size=0.1, random_state=0)
    answers, sample = one_per_class(test, "species", "leaf-classification")
    pictures = unzipped(raw / "images.zip")
    return {
        "public/train.csv": text(train),
        "public/test.csv": text(test.drop(columns="species")),
        "public/sample_submission.csv": text(sample),
        "private/test.csv": text(answers),
        **{f"public/images/{id}.jpg": pictures[f"images/{id}.jpg"] for id in table["id"]},
    }


def mlsp_2013_birds(raw: Path) -> Tree:
    members = {name.split("/", 1)[1]: content for name, content in unzipped(raw / BIRDS).items()}
    folds = table_of(members["essential_data/CVfolds_2.txt"])
    folds = folds[folds["fold"] == 0].reset_index(drop=True)
    new = {old: number for number, old in folds["rec_id"].items()}
    test = set(folds.sample(frac=0.2, random_state=0).index)
    names = table_of(members["essential_data/rec_id2filename.txt"])
    names = names[names["rec_id"].isin(new)]
    copied = {*names["filename"], "segment_clusters", "segment_mosaic", "species_list"}
    public = {name: content for name, content in members.items() if Path(name).stem in copied}
    folds = pd.DataFrame({"rec_id": folds.index, "fold": [int(number in test) for number in folds.index]})
    public["essential_data/CVfolds_2.txt"] = text(folds)
    public["essential_data/rec_id2filename.txt"] = text(names.assign(rec_id=names["rec_id"].map(new)))
    shown, answers = ["rec_id,[labels]"], []
    for line in lines(members["essential_data/rec_labels_test_hidden.txt"])[1:]:
        old, *labels = line.split(",")
        number = new.get(int(old))
        if number in test:
            shown.append(f"{number},?")
            answers += [(number * 100 + species, int(str(species) in labels)) for species in range(19)]
        elif number is not None:
            shown.append(",".join([str(number), *labels]))
    public["essential_data/rec_labels_test_hidden.txt"] = "".join(f"{line}\n" for line in shown).encode()
    for name in SEGMENTS:
        rows = [line.split(",", 1) for line in lines(members[name])[1:]]
        kept = [f"{new[int(old)]},{rest}" for old, rest in rows if int(old) in new]
        public[name] = "".join(f"{line}\n" for line in ["rec_id,[histogram of segment features]", *kept]).encode()
    ids = [number * 100 + species for number in sorted(test) for species in range(19)]
    public["sample_submission.csv"] = text(pd.DataFrame({"Id": ids, "Probability": 0}))
    private = text(pd.DataFrame(answers, columns=["Id", "Probability"]))
    return {**{f"public/{name}": content for name, content in public.items()}, "private/answers.csv": private}


RULES = (
    aerial_cactus_identification, aptos2019_blindness_detection, denoising_dirty_documents,
    detecting_insults_in_social_commentary, dog_breed_identification, dogs_vs_cats_redux_kernels_edition,
    histopathologic_cancer_detection, jigsaw_toxic_comment_classification_challenge, leaf_classification,
    mlsp_2013_birds,
)  # fmt: skip
EXPECTED: dict[str, Callable[[Path], Tree]] = {rule.__name__.replace("_", "-"): rule for rule in RULES}


@pytest.fixture(scope="module", params=EXPECTED)
def task(request: pytest.FixtureRequest) -> Task:
    return Registry().task(f"mlebench/{request.param}")


@pytest.fixture(scope="module")
def raw(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesized(task, 0, tmp_path_factory.mktemp("raw"))


@pytest.fixture(scope="module")
def editions(task: Task, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tree]:
    """What each edition prepares from the same miniature."""
    return {edition: prepared(task, raw, tmp_path_factory.mktemp(edition), edition) for edition in task.editions}


def test_v1_prepares_the_published_files_byte_for_byte(task: Task, raw: Path, editions: dict[str, Tree]) -> None:
    expected = EXPECTED[task.name](raw)
    assert sorted(editions["v1"]) == sorted(expected)
    assert [name for name in expected if editions["v1"][name] != expected[name]] == []


def test_fixed_changes_only_the_files_it_repairs(task: Task, editions: dict[str, Tree]) -> None:
    v1, fixed = editions["v1"], editions["fixed"]
    assert sorted(v1) == sorted(fixed)
    repaired = {
        "mlsp-2013-birds": [
            "public/essential_data/rec_labels_test_hidden.txt",
            "public/supplemental_data/segment_features.txt",
            "public/supplemental_data/segment_rectangles.txt",
        ]
    }
    assert sorted(name for name in v1 if v1[name] != fixed[name]) == repaired.get(task.name, [])


@pytest.mark.usefixtures("editions")
def test_raw_data_depends_on_the_seed_alone_and_preparing_leaves_it_as_it_was(
    task: Task, raw: Path, tmp_path: Path
) -> None:
    assert tree(synthesized(task, 0, tmp_path / "same")) == tree(raw)
    assert tree(synthesized(task, 1, tmp_path / "other")) != tree(raw)


@pytest.mark.parametrize("edition", ["v1", "fixed"])
def test_the_sample_wins_nothing_and_the_answers_win_gold(task: Task, editions: dict[str, Tree], edition: str) -> None:
    judged, files = task.in_edition(edition), editions[edition]
    truth = values(judged, files[f"private/{task.data.answers}"])
    sample = values(judged, files[task.data.sample])
    gold = values(judged, files[task.data.gold or f"private/{task.data.answers}"])
    assert task.leaderboard is not None
    medals = [
        medal(evaluate(judged.metric.name, truth, given, judged.metric.params), task.leaderboard, judged.metric)
        for given in (sample, gold)
    ]
    assert medals == [None, "gold"]


@pytest.mark.parametrize("task", ["mlsp-2013-birds"], indirect=True)
def test_fixed_gives_each_text_file_of_the_birds_its_own_header(raw: Path, editions: dict[str, Tree]) -> None:
    members = unzipped(raw / BIRDS)
    for name in SEGMENTS:
        assert lines(editions["fixed"][f"public/{name}"])[0] == lines(members[f"mlsp_contest_dataset/{name}"])[0]


@pytest.mark.parametrize("task", ["mlsp-2013-birds"], indirect=True)
def test_fixed_puts_a_comma_after_every_number_in_the_labels_of_the_birds(editions: dict[str, Tree]) -> None:
    v1, fixed = (lines(files["public/essential_data/rec_labels_test_hidden.txt"]) for files in editions.values())
    assert any("," not in line for line in v1)
    assert fixed == [line if "," in line else f"{line}," for line in v1]


def synthesized(task: Task, seed: int, raw: Path) -> Path:
    raw.mkdir(exist_ok=True)
    run_synthesize(task, seed, raw)
    return raw


def prepared(task: Task, raw: Path, folder: Path, edition: str) -> Tree:
    public, private = folder / "public", folder / "private"
    public.mkdir(parents=True)
    private.mkdir()
    run_prepare(task, edition, raw=raw, public=public, private=private)
    return tree(folder)


def tree(folder: Path) -> Tree:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): unzipped(path) if path.suffix == ".zip" else path.read_bytes()
        for path in files
    }


def unzipped(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def text(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def copies(source: Path, target: str, names: Any) -> Tree:
    return {f"{target}/{name}": (source / name).read_bytes() for name in names}


def one_per_class(table: pd.DataFrame, column: str, task: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The id with a 0/1 column for each class that `task.toml` lists, and with an equal share for each."""
    classes = list(Registry().task(f"mlebench/{task}").submission.columns)
    dummies = pd.get_dummies(table[column], dtype=int).reindex(columns=classes, fill_value=0)
    shares = pd.DataFrame(1 / len(classes), index=table.index, columns=classes)
    return pd.concat([table["id"], dummies], axis=1), pd.concat([table["id"], shares], axis=1)


def values(task: Task, content: Any) -> Any:
    """The scored columns of a table, its rows sorted by id."""
    table = table_of(content).sort_values(task.submission.id, kind="stable")
    return table[list(task.submission.columns)].to_numpy().squeeze()


def table_of(content: Any) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content))


def lines(content: Any) -> list[str]:
    return content.decode().splitlines()
