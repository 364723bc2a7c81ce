"""Tasks whose data users download, on miniatures: private answers, disjoint splits, valid starter submissions."""

import gzip
import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from starters import run_starter

from assay.audit.task_check import check_task
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.job import PrepareJob, run_prepare, run_synthesize
from assay.data.selection import prepare_selection
from assay.data.store import PrepareOptions
from assay.formats import parse_mask
from assay.grading import grade_submission
from assay.tasks import Registry, load_plugin
from hidden_part import check_hidden_part

NAMES = ["feedback", "fathomnet", "identify-contrails", "ogbn-arxiv", "parkinsons-disease"]
HIGHEST_SCORES = {"feedback": 4, "fathomnet": 1, "identify-contrails": 1, "ogbn-arxiv": 1, "parkinsons-disease": 200}
SMALLER = {
    "fathomnet": {"SIDE = 256": "SIDE = 76"},
    "parkinsons-disease": {"RandomForestRegressor(random_state=SEED)": "RandomForestRegressor(5, random_state=SEED)"},
}
"""How starters are made cheap here; what they do stays the same."""
TRAITS = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]


@pytest.fixture(scope="module")
def miniature_of(miniature_home: Home) -> Callable[[str], Prepared]:
    """Prepare the miniature of a task once and keep its raw data."""
    return lambda name: prepare(
        miniature_home,
        Registry().task(f"mlagentbench/{name}"),
        variant="synthetic-0",
        progress=NoProgress(),
        options=PrepareOptions(keep_raw=True),
    )


def table(path: Path, **options: Any) -> pd.DataFrame:
    return pd.read_csv(path, **{"dtype": str, **options})


def answers(ready: Prepared) -> pd.DataFrame:
    return table(ready.private / "answers.csv", index_col=0)


@pytest.mark.parametrize("name", NAMES)
def test_hidden_rows_are_graded_like_test_rows(
    miniature_of: Callable[[str], Prepared], miniature_home: Home, name: str
) -> None:
    check_hidden_part(miniature_of(name), miniature_home)


def test_hidden_records_have_neither_masks_nor_metadata_of_training_records(
    miniature_of: Callable[[str], Prepared], miniature_home: Home
) -> None:
    split = prepare_selection(miniature_home, miniature_of("identify-contrails"))
    train, test = ({path.name for path in (split.public / side).iterdir()} for side in ("train", "test"))
    listed = [
        {str(entry["record_id"]) for entry in json.loads((split.public / f"{side}_metadata.json").read_bytes())}
        for side in ("train", "test")
    ]
    assert listed == [train, test] and len(train) == 30
    assert not list((split.public / "test").glob("*/human_*"))


@pytest.mark.parametrize("name", NAMES)
def test_a_miniature_passes_every_check(miniature_of: Callable[[str], Prepared], name: str) -> None:
    ready = miniature_of(name)
    findings = check_task(ready, Home(ready.folder))
    assert not [finding for finding in findings if finding.passed is False]
    assert [finding.passed for finding in findings if finding.check.startswith(("the sample", "the answers"))] == [
        True
    ] * 2


@pytest.mark.parametrize("name", NAMES)
def test_the_description_names_files_and_columns(name: str) -> None:
    task = Registry().task(f"mlagentbench/{name}")
    assert (task.editions, task.budget.time, task.budget.steps) == (("fixed", "published"), 5 * 3600, 50)
    assert "train.py" in task.starter
    for word in (task.submission.id, *task.submission.columns, "`submission.csv`", "`data/`", "`train.py`"):
        assert word is not None and word in task.description


@pytest.mark.slow
@pytest.mark.parametrize(("name", "highest"), HIGHEST_SCORES.items())
def test_every_starter_submits_a_valid_file(
    miniature_of: Callable[[str], Prepared], miniature_home: Home, name: str, highest: float
) -> None:
    ready = miniature_of(name)
    grade = grade_submission(run_starter(miniature_home, ready, SMALLER.get(name)), ready, home=miniature_home)
    assert grade.valid_submission, grade.why
    assert grade.score is not None and 0 <= grade.score < highest
    if name == "feedback":
        # Predictions between 0 and 1 for scores with mean 3.1 and standard deviation 0.65:
        # sqrt((3.1 - 0.5)² + 0.65² + 1 / 12) = 2.7.
        assert grade.score == pytest.approx(2.7, abs=0.25)


def test_essays_are_split_and_only_training_essays_have_scores(miniature_of: Callable[[str], Prepared]) -> None:
    ready = miniature_of("feedback")
    raw = table(ready.folder / "raw" / "train.csv", index_col="text_id")
    train, test = (table(ready.public / f"{side}.csv", index_col="text_id") for side in ("train", "test"))
    assert list(test.columns) == ["full_text"]
    assert sorted([*train.index, *test.index]) == sorted(raw.index)
    assert len(test) == len(raw) / 5
    pd.testing.assert_frame_equal(train, raw.loc[train.index])
    pd.testing.assert_frame_equal(answers(ready), raw.loc[answers(ready).index, TRAITS])


def test_patients_are_split_and_every_known_rating_is_a_test_row(miniature_of: Callable[[str], Prepared]) -> None:
    ready = miniature_of("parkinsons-disease")
    tables = {path.stem: pd.read_csv(path) for path in ready.public.glob("*.csv")}
    asked = set(tables["test"]["patient_id"])
    for name in ("train_clinical_data", "train_proteins", "train_peptides", "supplemental_clinical_data"):
        assert asked.isdisjoint(tables[name]["patient_id"])
    assert set(tables["test_proteins"]["patient_id"]) == set(tables["test_peptides"]["patient_id"]) <= asked

    raw = pd.read_csv(ready.folder / "raw" / "train_clinical_data.csv")
    tested = raw[raw["patient_id"].isin(asked)].set_index(["patient_id", "visit_month"])
    expected = {}
    for patient, month in tested.index:
        for part in range(1, 5):
            for ahead in (0, 6, 12, 24):
                if (patient, month + ahead) in tested.index:
                    rating = tested.loc[(patient, month + ahead), f"updrs_{part}"]
                    expected[f"{patient}_{month}_updrs_{part}_plus_{ahead}_months"] = rating
    known = {name: rating for name, rating in expected.items() if not np.isnan(rating)}
    assert answers(ready)["rating"].astype(float).to_dict() == known
    assert len(asked) == 12  # a fifth of sixty


def test_supplemental_rows_of_test_patients_are_omitted(tmp_path: Path) -> None:
    task = Registry().task("mlagentbench/parkinsons-disease")
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    raw.mkdir()
    run_synthesize(task, 0, raw)
    both = pd.concat(table(raw / f"{name}_clinical_data.csv") for name in ("supplemental", "train"))
    both.to_csv(raw / "supplemental_clinical_data.csv", index=False)
    run_prepare(PrepareJob(task.in_edition("fixed"), raw, public, private, "fixed"))
    tested = set(table(public / "test.csv")["patient_id"])
    assert tested.isdisjoint(table(public / "supplemental_clinical_data.csv")["patient_id"])


def test_masks_of_test_records_are_private_and_encoded_correctly(miniature_of: Callable[[str], Prepared]) -> None:
    ready = miniature_of("identify-contrails")
    records = sorted(path.name for path in (ready.folder / "raw" / "validation").iterdir())
    bands = [f"band_{band:02d}.npy" for band in range(8, 17)]
    assert sorted(path.name for path in (ready.public / "test").iterdir()) == records
    for record in records:
        assert sorted(path.name for path in (ready.public / "test" / record).iterdir()) == bands
        row = answers(ready).loc[record]
        mask = parse_mask(row["encoded_pixels"], int(row["height"]), int(row["width"]), record, empty="-")
        truth = np.load(ready.folder / "raw" / "validation" / record / "human_pixel_masks.npy")[..., 0]
        assert (mask.decode() == (truth == 1)).all()
    assert (answers(ready)["encoded_pixels"] == "-").any()
    assert len(list((ready.public / "train").glob("*/human_pixel_masks.npy"))) == 40


def test_the_mask_codec_of_the_starter_round_trips() -> None:
    codec = load_plugin(Registry().task("mlagentbench/identify-contrails").folder / "starter" / "encode.py")
    mask = np.random.default_rng(0).random((5, 7)) < 0.5
    assert (codec.decode(codec.encode(mask), 5, 7) == mask).all()
    assert (parse_mask(codec.encode(mask), 5, 7, "here").decode() == mask).all()
    assert codec.encode(np.zeros((5, 7))) == "-"


def test_papers_keep_their_features_under_new_numbers(miniature_of: Callable[[str], Prepared]) -> None:
    ready = miniature_of("ogbn-arxiv")
    with zipfile.ZipFile(ready.folder / "raw" / "arxiv.zip") as archive:
        raw = {
            Path(name).name.partition(".")[0]: pd.read_csv(io.BytesIO(gzip.decompress(archive.read(name))), header=None)
            for name in archive.namelist()
            if name.startswith(("arxiv/raw", "arxiv/split"))
        }
    features = np.load(ready.public / "features.npy")
    assert features.dtype == np.float32
    # No two papers have the same features, so features identify the old number of each paper.
    old_numbers = {row.tobytes(): old for old, row in enumerate(raw["node-feat"].to_numpy().astype(np.float32))}
    old = np.array([old_numbers[row.tobytes()] for row in features])
    assert len(set(old)) == len(old) == len(raw["node-feat"])
    assert abs(np.corrcoef(old, np.arange(len(old)))[0, 1]) < 0.1
    for part in ("train", "valid", "test"):
        rows = pd.read_csv(ready.public / f"{part}.csv")
        labels = pd.read_csv(ready.private / "answers.csv")["label"] if part == "test" else rows["label"]
        assert sorted(old[rows["node"]]) == sorted(raw[part][0])
        assert (raw["node-label"][0][old[rows["node"]]].to_numpy() == labels).all()
        assert (raw["node_year"][0][old[rows["node"]]].to_numpy() == rows["year"]).all()
    assert list(pd.read_csv(ready.public / "test.csv").columns) == ["node", "year"]
    edges = old[pd.read_csv(ready.public / "edges.csv").to_numpy()]
    assert sorted(map(tuple, edges.tolist())) == sorted(map(tuple, raw["edge"].to_numpy().tolist()))


def test_dives_are_split_and_boxes_belong_to_training_images(miniature_of: Callable[[str], Prepared]) -> None:
    ready = miniature_of("fathomnet")
    content = json.loads((ready.folder / "raw" / "object_detection" / "train.json").read_bytes())
    dive = {Path(image["file_name"]).stem: image["coco_url"].split("/")[-2] for image in content["images"]}
    train, test = (table(ready.public / f"{side}.csv", index_col="id") for side in ("train", "test"))
    assert {dive[name] for name in train.index}.isdisjoint(dive[name] for name in test.index)
    assert sorted([*train.index, *test.index]) == sorted(dive)
    assert list(test.columns) == ["image"]
    public = json.loads((ready.public / "train_boxes.json").read_bytes())
    assert {Path(image["file_name"]).stem for image in public["images"]} == set(train.index)
    kept = {image["id"] for image in public["images"]}
    assert public["annotations"] == [box for box in content["annotations"] if box["image_id"] in kept]
    raw = table(ready.folder / "raw" / "multilabel_classification" / "train.csv", index_col="id")["categories"]
    labels = pd.concat([train["categories"], answers(ready)["categories"]])
    assert all(json.loads(raw[name]) == [float(word) for word in text.split()] for name, text in labels.items())
    for name, image in pd.concat([train["image"], test["image"]]).items():
        assert (ready.public / image).read_bytes() == (ready.folder / "raw" / "images" / f"{name}.png").read_bytes()


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """Serve a folder over HTTP; return the folder and its URL."""
    monkeypatch.setenv("no_proxy", "*")
    folder = tmp_path / "web"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_missing_images_are_downloaded(tmp_path: Path, web: tuple[Path, str]) -> None:
    task = Registry().task("mlagentbench/fathomnet")
    raw = tmp_path / "raw"
    raw.mkdir()
    run_synthesize(task, 0, raw)
    listed = raw / "object_detection" / "train.json"
    content = json.loads(listed.read_bytes())
    for picture in content["images"]:
        dive = web[0] / picture["coco_url"].split("/")[-2]
        dive.mkdir(exist_ok=True)
        (raw / "images" / picture["file_name"]).rename(dive / picture["file_name"])
        picture["coco_url"] = f"{web[1]}/{dive.name}/{picture['file_name']}"
    listed.write_text(json.dumps(content))
    (raw / "images").rmdir()
    home = Home(tmp_path / "home")
    with pytest.raises(SourceError, match=r"no checksum proves .* --unverified accepts it"):
        prepare(home, task, progress=NoProgress(), options=PrepareOptions(user_copy=raw))
    ready = prepare(home, task, variant="unverified", progress=NoProgress(), options=PrepareOptions(user_copy=raw))
    placed = {path.name: path.read_bytes() for path in ready.public.glob("t*/*.png")}
    assert placed == {path.name: path.read_bytes() for path in web[0].glob("*/*.png")}
    assert len(placed) == len(content["images"])
