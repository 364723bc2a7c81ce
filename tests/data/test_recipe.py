"""Prepared data is stale when, and only when, something changes that affects its bytes."""

import ast
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import assay
from assay.core.errors import NotPrepared
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import load_prepared, prepare, recipe
from assay.data.recipe import find_change, make_recipe
from assay.tasks import Registry, Task

SUITE = """
format = "suite/1"
name = "toys"
title = "For tests."
editions = ["v1"]
tasks = ["toy"]
"""
TASK = """
format = "task/1"
title = "Toy"
summary = "Toy."
kind = "tabular-classification"

[source]
about = "made up"
license = "MIT"

[submission]
form = "csv"
file = "submission.csv"
id = "id"

[[submission.alike]]
names = ["cat", "dog"]
type = "number"

[metric]
name = "log_loss"
direction = "lower"

[budget]
time = "1m"
"""
PREPARE = """
from .._shared.words import WORD
from .near import NEAR

def prepare(job):
    (job.public / "classes.txt").write_text(" ".join([*job.columns, WORD, NEAR]))
    (job.private / "answers.csv").write_text("id\\n")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task folder in its own suite."""
    task_folder = tmp_path / "toys" / "toy"
    (task_folder.parent / "_shared").mkdir(parents=True)
    task_folder.mkdir()
    contents = {
        "../suite.toml": SUITE, "../_shared/words.py": "WORD = 'shared'\n", "../_shared/other.py": "WORD = 'other'\n",
        "task.toml": TASK, "prepare.py": PREPARE, "near.py": "NEAR = 'near'\n", "classes.json": "[]",
        "description.md": "Toy.\n", "panel.py": "", "measured.json": "", "starter/train.py": "",
    }  # fmt: skip
    del contents["measured.json"]
    for name, content in contents.items():
        (task_folder / name).parent.mkdir(exist_ok=True)
        (task_folder / name).write_text(content)
    return task_folder


def load(folder: Path) -> Task:
    return Registry([folder.parent]).task("toys/toy")


def test_renaming_a_class_in_task_toml_prepares_again(folder: Path, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    old = prepare(home, load(folder), progress=NoProgress())
    assert (old.public / "classes.txt").read_text() == "cat dog shared near"
    (folder / "task.toml").write_text(TASK.replace('"cat"', '"lion"'))
    with pytest.raises(NotPrepared, match="is stale"):
        load_prepared(home, load(folder))
    new = prepare(home, load(folder), progress=NoProgress())
    assert (new.public / "classes.txt").read_text() == "lion dog shared near"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("prepare.py", "classes.txt", "kinds.txt"),
        ("near.py", "near", "far"),
        ("classes.json", "[]", "[1]"),
        ("../_shared/words.py", "shared", "changed"),
        ("task.toml", '"cat", "dog"', '"dog", "cat"'),
        ("task.toml", 'id = "id"', 'id = "key"'),
        ("task.toml", "[metric]", '[data]\ntarget = "dog"\n\n[metric]'),
    ],
)
def test_changes_that_affect_the_bytes_make_data_stale(folder: Path, name: str, old: str, new: str) -> None:
    before = make_recipe(load(folder), "v1", "real")
    (folder / name).write_text((folder / name).read_text().replace(old, new))
    assert make_recipe(load(folder), "v1", "real") != before
    assert Path(name).name in str(find_change(before, load(folder), "v1", "real"))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("description.md", "Toy", "A toy"),
        ("panel.py", "", "1\n"),
        ("starter/train.py", "", "1\n"),
        ("../_shared/other.py", "other", "changed"),
        ("../suite.toml", "For tests", "For more tests"),
        ("task.toml", 'title = "Toy"', 'title = "Other"'),
        ("task.toml", "made up", "invented"),
        ("task.toml", '"log_loss"', '"accuracy"'),
        ("task.toml", 'time = "1m"', 'time = "2m"'),
        ("task.toml", 'form = "csv"', 'form = "csv"\nmax_size = "1MB"'),
    ],
)
def test_changes_that_do_not_affect_the_bytes_leave_data_valid(folder: Path, name: str, old: str, new: str) -> None:
    before = make_recipe(load(folder), "v1", "real")
    (folder / name).write_text((folder / name).read_text().replace(old, new))
    assert make_recipe(load(folder), "v1", "real") == before
    assert find_change(before, load(folder), "v1", "real") is None


def test_files_that_appear_or_disappear_make_data_stale(folder: Path) -> None:
    before = make_recipe(load(folder), "v1", "real")
    (folder / "more.json").write_text("{}")
    assert find_change(before, load(folder), "v1", "real") == "toys/toy/more.json changed"
    (folder / "more.json").unlink()
    (folder / "../_shared/words.py").unlink()
    (folder / "classes.json").unlink()
    assert find_change(before, load(folder), "v1", "real") == "toys/_shared/words.py, toys/toy/classes.json changed"
    (folder / "near.py").write_text("")
    (folder / "prepare.py").write_text("")
    assert str(find_change(before, load(folder), "v1", "real")).endswith("toys/toy/near.py and 1 more changed")


def test_starter_code_counts_where_it_is_the_reference_for_speed(folder: Path) -> None:
    toml = TASK.replace('form = "csv"', 'form = "file"').replace('kind = "tab', 'judged = "speed"\nkind = "tab')
    (folder / "task.toml").write_text(toml)
    before = make_recipe(load(folder), "v1", "real")
    (folder / "starter/train.py").write_text("1\n")
    assert find_change(before, load(folder), "v1", "real") == "toys/toy/starter/train.py changed"


def test_a_new_version_of_a_block_makes_data_of_its_users_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [Registry().task(f"mlebench/{name}") for name in ("spaceship-titanic", "aerial-cactus-identification")]
    before = [make_recipe(task, "v1", "real") for task in tasks]

    def changes() -> list[str | None]:
        return [find_change(old, task, "v1", "real") for old, task in zip(before, tasks, strict=True)]

    monkeypatch.setitem(recipe.VERSIONS, "assay.formats.tfrecord", 2)
    assert changes() == [None, None]
    monkeypatch.setitem(recipe.VERSIONS, "assay.formats.zip_writer", 2)  # pandas_tables uses archives, which use it
    assert changes() == ["assay.formats.zip_writer changed"] * 2


def imported(path: Path) -> Iterator[str]:
    """Return the modules of data and formats that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (name for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))


def test_every_block_that_a_task_imports_has_a_version_and_lists_its_dependencies() -> None:
    package = Path(assay.__file__).parent
    modules = {
        f"assay.{path.relative_to(package).with_suffix('').as_posix().replace('/', '.')}"
        for room in ("data", "formats")
        for path in (package / room).glob("*.py")
    }
    # only the arguments of a task's code; hidden parts have a version of their own
    not_blocks = {"assay.data.job", "assay.data.selection"}
    for path in (package / "suites").rglob("*.py"):
        used = {name for name in imported(path) if name in modules}
        assert used <= recipe.VERSIONS.keys() | not_blocks, path
    for name in recipe.VERSIONS:
        file = package.joinpath(*name.split(".")[1:])
        file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        assert {used for used in imported(file) if used in recipe.VERSIONS} == set(recipe.USES.get(name, ())), name


def digest(folder: Path) -> str:
    """Return a hash of the names and contents of all files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    content = b"".join(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() for path in paths)
    return hashlib.sha256(content).hexdigest()[:16]


def use_splits(folder: Path) -> None:
    from assay.data import splits

    keys = [number % 7 for number in range(50)]
    all_splits = [
        splits.random_rows(50, test=0.3, seed=1), splits.random_groups(keys, test=0.3, seed=1),
        splits.random_sorted_groups(keys, test=0.3, seed=1), splits.per_class(keys, test=0.3, seed=1),
        splits.first_rows(50, train=0.7), splits.by_predicate([key == 1 for key in keys]),
    ]  # fmt: skip
    (folder / "rows").write_text(repr([side.tolist() for split in all_splits for side in split]))


def use_pandas_tables(folder: Path) -> None:
    from assay.data import pandas_tables

    frame = pd.DataFrame({"id": [1, 2], "label": ["a", "b c"], "x": [0.1, None]})
    pandas_tables.write_csv_split(frame, frame, public=folder, private=folder / "p", id="id", sample={"x": 0})
    pandas_tables.write(pandas_tables.multi_hot(frame, "id", "label", ["a", "b"]), folder / "hot.csv")
    pandas_tables.write(pandas_tables.melt(frame, "id", ["x"]), folder / "long.csv")
    pandas_tables.write_json_lines(frame, folder / "lines.json")


def use_polars_tables(folder: Path) -> None:
    from assay.data import polars_tables

    table = pl.DataFrame({"id": ["1", "2"], "x": ["a,b", None]})
    polars_tables.write_split(table, table, id="id", sample={"x": 1}, public=folder, private=folder / "p")
    (folder / "numbers").write_text(repr(polars_tables.random_numbers("abc", seed=0)))


def use_own_tables(folder: Path) -> None:
    from assay.data import own_tables

    table = pl.DataFrame(
        {"x": [str(row % 17) for row in range(20)], "y": list("ab" * 10), "t": list(map(str, range(20)))}
    )
    all_splits = [
        own_tables.split_rows(table, "y", test=0.3, seed=1, **by) for by in ({}, {"group": "x"}, {"time": "t"})
    ]
    (folder / "rows").write_text(repr([side.tolist() for split in all_splits for side in split]))
    own_tables.one_hot(table, "y", ["a", "b"]).write_csv(folder / "hot.csv")


def use_archives(folder: Path) -> None:
    from assay.data import archives

    archives.pack(folder / "a.zip", [("b", b"1"), ("a", b"2")], method="stored")
    archives.repack(folder / "b.zip", folder / "a.zip", [("a", "c")], folder="d")


def use_formats(folder: Path) -> None:
    from assay.formats import coco, json_lines, json_list, npy, tar, tfrecord
    from assay.formats.masks import encode_mask, mask_from_pixels
    from assay.formats.png import write_png

    write_png(folder / "a.png", np.arange(12, dtype=np.uint8).reshape(3, 4))
    tfrecord.write(folder / "a.tfrec", [{"a": [1, 2], "b": [b"x"], "c": [0.5]}])
    coco.write_coco({"images": [], "annotations": []}, folder / "a.json")
    json_lines.write_json_lines(folder / "a.jsonl", [{"a": 1}])
    with json_list.write_json_list(folder / "list.json") as append:
        append({"a": 1})
    npy.write_rows(np.arange(6).reshape(3, 2), np.array([2, 0]), folder / "a.npy")
    (folder / "runs").write_text(encode_mask(mask_from_pixels(np.eye(3, dtype=bool))))
    tar.pack_tar(folder / "a.tar", [("x", folder / "runs")])


@pytest.mark.parametrize(
    ("use", "expected", "versions"),
    [
        (use_splits, "1af8d3632cd0d790", {"assay.data.splits": 1}),
        (use_pandas_tables, "17acdc5ffe60858c", {"assay.data.pandas_tables": 1}),
        (use_polars_tables, "bedb71ad592922b3", {"assay.data.polars_tables": 1}),
        (use_own_tables, "2edbefd4bef77983", {"assay.data.own_tables": 1}),
        (use_archives, "2c02d336f696366d", {"assay.data.archives": 1, "assay.formats.zip_writer": 1}),
        (
            use_formats,
            "71d37c2fb6282138",
            {
                f"assay.formats.{name}": 1
                for name in ("coco", "json_lines", "json_list", "masks", "npy", "png", "tar", "tfrecord")
            },
        ),
    ],
)
def test_the_bytes_of_a_block_change_only_with_its_version(
    use: Callable[[Path], None], expected: str, versions: dict[str, int], tmp_path: Path
) -> None:
    """If this fails because a block writes other bytes, increase its version in `recipe.VERSIONS`, here too."""
    use(tmp_path)
    assert digest(tmp_path) == expected
    assert {name: recipe.VERSIONS[name] for name in versions} == versions
