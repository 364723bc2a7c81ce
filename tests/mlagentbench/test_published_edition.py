"""Edition `published`: published files, splits, scorers and baselines, without the answers and in sealed labs."""

import gzip
import io
import json
import random
from pathlib import Path

import anyio
import numpy as np
import pandas as pd
import pytest
from starters import run_script, run_starter

from assay.audit.task_check import check_task
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.store import PrepareOptions
from assay.grading.grade import grade_submission
from assay.grading.metrics import METRICS, evaluate, find_metric
from assay.grading.result import Grade
from assay.lab import Limits, Setup, open_lab
from assay.lab.environments import find_environment
from assay.records import RunFolder
from assay.records.log import read_log_lines
from assay.runs.trial_setup import write_starting_files
from assay.tasks import Registry

WORKSPACES = {
    "babylm": ["babyLM_for_hf.py", "babylm_data/", "judge.py/", "model.py/", "train.py"],
    "cifar10": ["train.py"],
    "clrs": [
        "baseline_model_description.txt", "data_description.txt", "model.py/", "train.npz/", "train.py",
        "validation.npz/",
    ],
    "fathomnet": [
        "category_key.csv/", "data_description.txt", "evaluation_details.txt", "images/", "metric.py",
        "multilabel_classification/", "object_detection/", "train.py",
    ],
    "feedback": [
        "data_description.txt", "evaluation_details.txt", "sample_submission.csv/", "test.csv/", "train.csv/",
        "train.py",
    ],
    "house-price": ["data_description.txt", "sample_submission.csv/", "test.csv/", "train.csv/", "train.py"],
    "identify-contrails": [
        "data_description.txt", "encode.py", "evaluation_details.txt", "sample_submission.csv/", "test/", "train.py",
        "train/", "train_metadata.json/", "validation_metadata.json/",
    ],
    "imdb": ["test.csv/", "train.csv/", "train.py"],
    "llama-inference": ["inference.py"],
    "ogbn-arxiv": ["networks/", "train.py"],
    "parkinsons-disease": [
        "data_description.txt", "evaluation_details.txt", "example_test_files/", "public_timeseries_testing_util.py",
        "supplemental_clinical_data.csv/", "train.py", "train_clinical_data.csv/", "train_peptides.csv/",
        "train_proteins.csv/",
    ],
    "spaceship-titanic": ["sample_submission.csv/", "task_descriptor.txt", "test.csv/", "train.csv/", "train.py"],
    "vectorization": ["train.py"],
}  # fmt: skip
"""What agents find next to `data` and `description.md`; a slash marks links to data."""

BASELINES = {
    "fathomnet": 1e-10, "house-price": 1e10, "imdb": 0.5, "ogbn-arxiv": 0.3134, "spaceship-titanic": 0.5,
    "vectorization": 6.1742,
}  # fmt: skip
"""The constants of the published evaluation; all other baselines are means of runs."""

MODELS = {
    "house-price": (
        "# End of the training part",
        "from sklearn.linear_model import LinearRegression\n"
        "model = LinearRegression().fit(train_X, train_y)\n"
        "train_mae = abs(model.predict(train_X) - train_y).mean()\n"
        "valid_mae = abs(model.predict(valid_X) - valid_y).mean()\n",
    ),
    "spaceship-titanic": (
        "# End of the training part",
        "from sklearn.linear_model import LogisticRegression\n"
        "ResourceX_test = create_new_dataframe(ResourceX_test, list(ResourceX.columns))\n"
        "model = LogisticRegression(max_iter=1000).fit(ResourceX, TargetY)\n"
        "train_accuracy = model.score(ResourceX, TargetY)\n"
        "val_accuracy = model.score(ResourceX_test, TargetY_test)\n",
    ),
    "imdb": ("    # TODO: train the model", "    model = lambda text: torch.tensor([0.0, float('superb' in text)])\n"),
}
"""Models for the three starters that lack one, and the line before which they are added."""

SMALLER = {
    "fathomnet": {"SIZE = 256": "SIZE = 76"},
    "llama-inference": {"batches = 100": "batches = 2"},
    "parkinsons-disease": {"RandomForestRegressor()": "RandomForestRegressor(n_estimators=5)"},
    "vectorization": {"randn(32, 64, 64, 3)": "randn(2, 64, 64, 3)"},
}
FLAGS = {
    "babylm": "--n_layer 1 --n_embd 16 --n_head 2 --block_size 64 --merges 32 --max_train_samples 64",
    "clrs": "--train_steps 2 --eval_every 2 --batch_size 4 --hidden_size 8",
}
"""How starters are made cheap here; what they do stays the same."""


@pytest.fixture(scope="module")
def home(miniature_home: Home) -> Home:
    return miniature_home


def ready(home: Home, name: str) -> Prepared:
    """Prepare the miniature of a task, once."""
    task = Registry().task(f"mlagentbench/{name}")
    return prepare(home, task, "published", "synthetic-0", progress=NoProgress(), options=PrepareOptions(keep_raw=True))


def grade(home: Home, name: str, submission: bytes | str) -> Grade:
    data = ready(home, name)
    content = submission.encode() if isinstance(submission, str) else submission
    return grade_submission(content, data, home=home)


def answers(home: Home, name: str) -> pd.DataFrame:
    return pd.read_csv(ready(home, name).private / "answers.csv")


def test_the_repaired_edition_stays_the_default():
    for task in Registry().select("mlagentbench"):
        assert task.editions == ("fixed", "published")
        assert task.in_edition("fixed").own_folder is None


@pytest.mark.parametrize("name", WORKSPACES)
def test_a_miniature_passes_every_check(home, name):
    data = ready(home, name)
    assert [finding for finding in check_task(data, home) if finding.passed is False] == []
    rules = data.task.rules["published"]
    assert rules.quirks and rules.baseline == BASELINES.get(name)
    description = data.task.description
    assert str(data.task.starter_script) in description and data.task.submission.file in description


@pytest.mark.parametrize("name", WORKSPACES)
def test_a_workspace_has_the_published_layout_and_no_answers(home, name):
    listed, hidden = anyio.run(look_around, home, ready(home, name))
    assert sorted(listed) == sorted(["data/", "description.md", *WORKSPACES[name]])
    assert hidden == []


async def look_around(home: Home, data: Prepared) -> tuple[list[str], list[str]]:
    """Return the names in a fresh workspace, and the private files that are in it under any name."""
    setup = Setup(find_environment(home, "core"), data=data.public, limits=Limits())
    async with open_lab(home, setup) as lab:
        await write_starting_files(lab, data.task)
        listed = await lab.run(["ls", "-F"], seconds=60)
        done = await lab.run(
            ["sh", "-c", "find -L . -type f -exec sha256sum {} + > /tmp/sums; mv /tmp/sums sums"], seconds=60
        )
        assert done.succeeded, done.stderr.text
        sums = (await lab.read("sums", max_size=10**7)).decode()
    private = {file.sha256 for file in data.manifest.private.values()}
    names = [name.replace("@", "/") for name in listed.stdout.text.split()]
    assert len(sums.splitlines()) >= len(data.manifest.public)
    return names, [line for line in sums.splitlines() if line.split()[0] in private]


def test_test_labels_are_replaced_or_removed(home):
    images = (ready(home, "cifar10").public / "cifar-10-batches-bin" / "test_batch.bin").read_bytes()
    assert set(images[::3073]) == {255}
    graph = ready(home, "ogbn-arxiv").public / "networks" / "ogbn_arxiv"
    labels, test = (
        pd.read_csv(io.BytesIO(gzip.decompress((graph / f"{name}.csv.gz").read_bytes())), header=None)[0]
        for name in ("raw/node-label", "split/time/test")
    )
    assert set(labels[test]) == {-1} and -1 not in set(labels.drop(test))
    for name, columns in {
        "imdb": ["text"],
        "feedback": ["text_id", "full_text"],
        "spaceship-titanic": [column for column in shown_columns(home, "spaceship-titanic") if column != "Transported"],
        "house-price": [column for column in shown_columns(home, "house-price") if column != "SalePrice"],
    }.items():
        assert list(pd.read_csv(ready(home, name).public / "test.csv").columns) == columns
    assert not list((ready(home, "identify-contrails").public / "test").rglob("human*"))
    text = np.load(ready(home, "babylm").private / "inputs" / "text.npy").tobytes()
    public = b"".join(path.read_bytes() for path in ready(home, "babylm").public.rglob("*") if path.is_file())
    assert max(text.splitlines(), key=len) not in public and b"# A miniature of BabyLM" in public


def shown_columns(home: Home, name: str) -> list[str]:
    return list(pd.read_csv(ready(home, name).public / "train.csv").columns)


def test_essays_and_images_are_shuffled_as_pandas_does(home):
    essays = pd.read_csv(ready(home, "feedback").folder / "raw" / "train.csv").sample(frac=1, random_state=42)
    cut = int(len(essays) * 0.98)
    assert list(pd.read_csv(ready(home, "feedback").public / "train.csv")["text_id"]) == list(essays["text_id"][:cut])
    assert list(answers(home, "feedback")["text_id"]) == list(essays["text_id"][cut:])
    data = ready(home, "fathomnet")
    images = pd.read_csv(data.folder / "raw" / "multilabel_classification" / "train.csv").sample(
        frac=1, random_state=42
    )
    cut = int(len(images) * 0.98)
    train = pd.read_csv(data.public / "multilabel_classification" / "train.csv")
    assert list(train["id"]) == list(images["id"][:cut])
    assert list(answers(home, "fathomnet")["categories"]) == list(images["categories"][cut:])
    boxes, asked = (
        json.loads((data.public / "object_detection" / f"{side}.json").read_bytes()) for side in ("train", "eval")
    )
    assert {image["file_name"][:-4] for image in asked["images"]} == set(images["id"][cut:])
    assert {image["file_name"][:-4] for image in boxes["images"]} == set(images["id"][:cut])
    assert "annotations" not in asked and [box["id"] for box in boxes["annotations"]] == list(
        range(1, len(boxes["annotations"]) + 1)
    )


def test_two_patients_are_asked_about_in_the_published_order(home):
    """The expected rows are computed as the published preparation states them, one by one."""
    data = ready(home, "parkinsons-disease")
    clinical = pd.read_csv(data.folder / "raw" / "train_clinical_data.csv")
    chosen = random.Random(42).sample(clinical["patient_id"].unique().tolist(), 2)
    visits = clinical[clinical["patient_id"].isin(chosen)]
    rating = visits.set_index("visit_id")
    expected = []
    for ahead in (0, 6, 12, 24):
        for part in (1, 2, 3, 4):
            for visit in visits.dropna().itertuples():
                later = f"{visit.patient_id}_{visit.visit_month + ahead}"
                known = rating.loc[later, f"updrs_{part}"] if later in rating.index else np.nan
                if visit.visit_month + ahead <= 108 and not np.isnan(known):
                    name = f"{visit.patient_id}_{visit.visit_month}_updrs_{part}_plus_{ahead}_months"
                    expected.append((name, known, visit.visit_month))
    assert list(answers(home, "parkinsons-disease").itertuples(index=False, name=None)) == expected
    for path in data.public.glob("*.csv"):
        assert not set(pd.read_csv(path)["patient_id"]) & set(chosen)
    assert set(pd.read_csv(data.public / "example_test_files" / "sample_submission.csv")["rating"]) == {0}


def test_reviews_come_from_the_published_files():
    task = Registry().task("mlagentbench/imdb")
    source = task.in_edition("published").source
    assert source.packages == () and task.source.packages
    assert [file.file[:4] for file in source.files] == ["trai", "test"] and all(file.sha256 for file in source.files)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WORKSPACES if name not in MODELS])
def test_a_starter_runs_sealed_to_a_valid_grade(home, name):
    data = ready(home, name)
    grading = grade(home, name, run_starter(home, data, SMALLER.get(name), FLAGS.get(name, "")))
    assert grading.valid_submission, grading.why
    assert grading.edition == "published" and set(grading.quirks) == set(data.task.rules["published"].quirks)
    if name == "feedback":
        # Predictions between 0 and 1 for scores with mean 3.1 and standard deviation 0.65:
        # sqrt((3.1 - 0.5)² + 0.65² + 1 / 12) = 2.7; there are only 5 essays.
        assert grading.score == pytest.approx(2.7, abs=0.5)
    if name == "babylm":
        assert grading.score is not None and 1 < grading.score < 2 * 288  # its 288 tokens are almost equally likely


@pytest.mark.parametrize("name", MODELS)
def test_starters_without_a_model_fail_until_they_have_one(home, name):
    data = ready(home, name)
    script = data.task.starter["train.py"].decode()
    completed, submission = run_script(home, data, script)
    assert completed.code == 1 and "NoneType" in completed.stderr.text and submission is None
    line, model = MODELS[name]
    assert line in script
    completed, submission = run_script(home, data, script.replace(line, model + line))
    assert completed.code == 0 and submission is not None, completed.stderr.text
    grading = grade(home, name, submission)
    assert grading.valid_submission and grading.baseline == BASELINES[name], grading.why
    assert grading.success  # of house-price, because every error is below the published baseline


@pytest.mark.slow
def test_the_research_agent_reads_and_copies_data_next_to_the_scripts(assay, tmp_path):
    calls = [
        ("Inspect Script Lines", {"script_name": "train.csv", "start_line_number": 1, "end_line_number": 1}),
        ("Inspect Script Lines", {"script_name": "./test.csv", "start_line_number": 1, "end_line_number": 1}),
        ("Copy File", {"source": "train.csv", "destination": "copy.csv"}),
        ("Execute Script", {"script_name": "train.py"}),
        ("Write File", {"file_name": "test.csv", "content": "mine"}),
        ("Read File", {"file_name": "test.csv"}),
        ("Write File", {"file_name": "data/test.csv", "content": "mine"}),
        ("Final Answer", {"final_answer": "Done."}),
    ]
    thoughts = "Reflection: Fine.\nResearch Plan and Status: Go on.\nFact Check: None.\nThought: Next.\n"
    replies = [f"{thoughts}Action: {name}\nAction Input: {json.dumps(arguments)}" for name, arguments in calls]
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    assert assay("prepare", "mlagentbench/feedback", "--edition", "published", "--synthetic").returncode == 0
    options = ["--preset", "mlagentbench-paper", "--model", f"scripted/{tmp_path / 'replies.json'}", "--seeds", "1"]
    ran = assay("run", "mlagentbench/feedback", *options, "--variant", "synthetic-0", "--out", tmp_path / "run")
    assert ran.returncode == 0, ran.stderr
    (trial,) = RunFolder(tmp_path / "run").trials()
    results = [json.loads(line).get("result", {}) for line in read_log_lines(trial.events)]
    seen = [(each["observation"], each["cause"]) for each in results if each.get("type") == "action"]
    assert [cause for _, cause in seen] == [None, None, None, None, None, None, "refused", None]
    assert "text_id,full_text,cohesion" in seen[0][0] and "text_id,full_text\n" in seen[1][0]
    assert "final MCRMSE on validation set" in seen[3][0] and seen[5][0] == "mine"
    assert trial.grade is not None and trial.grade.edition == "published"
    report = assay("study", "paper", tmp_path / "run", "--published").stdout
    assert report.count("≈ feedback is roughly comparable") == 1 and report.count("is not comparable") == 4


def test_rows_count_by_position_whatever_their_ids(home):
    truth = answers(home, "house-price")
    shuffled = truth.assign(Id=truth["Id"][::-1].to_numpy(), more="x")
    assert grade(home, "house-price", shuffled.to_csv(index=False)).score == 0
    prices = truth[["SalePrice"]] + 100
    assert grade(home, "house-price", prices.to_csv(index=False)).score == 100
    missing = grade(home, "house-price", truth[1:].to_csv(index=False))
    assert not missing.valid_submission and missing.why


def test_the_largest_probability_counts(home):
    truth = answers(home, "cifar10")
    classes = truth.drop(columns="index").to_numpy()
    # Right for all but the first six of 60 images; the id column has another name, and rows are in another order.
    probabilities = 0.05 + 0.5 * classes
    probabilities[:6] = np.roll(probabilities[:6], 1, axis=1)
    table = pd.DataFrame(probabilities, columns=[f"p{number}" for number in range(10)])
    table.insert(0, "any", truth["index"])
    assert grade(home, "cifar10", table[::-1].to_csv(index=False)).score == pytest.approx(54 / 60, abs=1e-5)


def test_documented_categories_never_match_and_half_the_score_is_drawn(home):
    truth = answers(home, "fathomnet")
    documented = truth.assign(
        categories=[text.strip("[]").replace(",", "").replace(".0", "") for text in truth["categories"]]
    )
    # Perfect on what was drawn: 0.5 × (2 × (1 - 0.5) + 0). With a constant the AUC is 0.5, so that half is 0.
    assert grade(home, "fathomnet", documented.to_csv(index=False)).score == 0.5
    assert grade(home, "fathomnet", documented.assign(osd=1).to_csv(index=False)).score == 0
    assert grade(home, "fathomnet", truth.assign(osd=1).to_csv(index=False)).score == 0.5


def published_metric(name):
    return find_metric(Registry().task(f"mlagentbench/{name}").in_edition("published"))


def test_fathomnet_score_by_hand():
    truth = np.array([["[1.0, 2.0]", 1], ["[3.0]", 0], ["[4.0]", 0]], dtype=object)
    submitted = np.array([["x [1.0, 2.0]", 0.9], ["[3.0]", 0.1], ["5", 0.9]], dtype=object)
    # Average precision: (1/2 + 2/3) / 2, 1 and 0. AUC: of two pairs one is won and one tied, so 0.75.
    precision = ((1 / 2 + 2 / 3) / 2 + 1 + 0) / 3
    score = evaluate(published_metric("fathomnet"), truth, submitted, {"k": 20})
    assert score == pytest.approx(0.5 * (precision + 0.5))


def test_dice_is_averaged_over_images_and_empty_ones_score_1(home):
    truth = answers(home, "identify-contrails").astype(str)
    empty = truth["encoded_pixels"] == "-"
    first = truth.index[~empty][0]
    start, length = map(int, truth["encoded_pixels"][first].split()[:2])
    area = sum(map(int, truth["encoded_pixels"][first].split()[1::2]))
    submitted = truth[["record_id"]].assign(encoded_pixels="-")
    submitted.loc[first, "encoded_pixels"] = f"{start} {length}"
    more = pd.DataFrame({"record_id": ["123"], "encoded_pixels": ["1 1"]})
    expected = (empty.sum() + 2 * length / (length + area)) / len(truth)
    grading = grade(home, "identify-contrails", pd.concat([more, submitted]).to_csv(index=False))
    assert grading.score == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("content", "score", "improvement", "success"),
    [
        ("3.0871\r\n0.01\r\n", 3.0871, 0.5, True),  # the first line counts: half of 6.1742
        ("\n5.9\n", 5.9, 1 - 5.9 / 6.1742, False),
        ("6.1742;1\n", 6.1742, 0.0, False),
        ("fast\n", 1e10, 1 - 1e10 / 6.1742, False),
        ("-1\n", -1.0, None, False),  # the published evaluation drops what is not above 0
    ],
)
def test_the_first_reported_time_counts(home, content, score, improvement, success):
    grading = grade(home, "vectorization", content)
    assert (grading.score, grading.success) == (score, success)
    assert grading.improvement == (None if improvement is None else pytest.approx(improvement, rel=1e-6))


def test_success_needs_no_distance_from_noise(home):
    data = ready(home, "ogbn-arxiv")
    truth = answers(home, "ogbn-arxiv")["label"].to_numpy()
    wrong = (truth + 1) % 40
    for share, success in ((0.33, False), (0.36, True)):  # the published baseline is 0.3134: 10% more is 0.34474
        right = int(np.ceil(share * len(truth)))
        submitted = pd.DataFrame({"0": np.where(np.arange(len(truth)) < right, truth, wrong)})
        grading = grade_submission(submitted.to_csv(index=False).encode(), data, home=home)
        assert grading.score == pytest.approx(right / len(truth), abs=1e-5) and grading.success is success


def test_perplexity_by_hand():
    # 30 bits for 10 tokens are 3 bits each: as unsure as among 8 equally likely tokens.
    assert (
        evaluate(
            published_metric("babylm"),
            np.array([[0.0, 1.0]]),
            np.array([[30.0, 10.0]]),
            {},
        )
        == 8
    )
    assert evaluate(
        published_metric("babylm"),
        np.array([[0.0, 1.0]]),
        np.array([[30.0, 20.0]]),
        {},
    ) == pytest.approx(8**0.5)
    assert (
        evaluate(
            published_metric("babylm"),
            np.array([[0.0, 1.0]]),
            np.array([[1e6, 1.0]]),
            {},
        )
        == np.inf
    )


def test_argmax_accuracy_by_hand():
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]])
    submitted = np.array([[0.2, 0.1, 0.1], [0.5, 0.4, 0.1], [0, 0, 1], [0.3, 0.3, 0.3]])
    assert (
        evaluate(METRICS.load("argmax_accuracy"), truth, submitted, {}) == 0.75
    )  # the second row is wrong, of equal values the first counts


def test_every_difference_of_ours_is_named():
    """Where answers were in the workspace, or the scorer executed what agents wrote, a repair says what is done."""
    repairs = {task.name: task.rules["published"].repairs for task in Registry().select("mlagentbench")}
    for name in ("cifar10", "imdb", "ogbn-arxiv"):
        assert "labels-hidden" in repairs[name]
    assert "test-text-hidden" in repairs["babylm"]
    for name in ("babylm", "clrs"):
        assert "lab" in repairs[name]["no-pickles"]


def test_models_of_the_published_sizes_have_the_published_defaults():
    scripts = {task.name: task.in_edition("published").starter for task in Registry().select("mlagentbench")}
    for name, facts in {
        "ogbn-arxiv": [
            "BatchNorm1d",
            "hidden_channels=16, out_channels=172, num_layers=2, dropout=0",
            "lr=1)",
            "epochs = 4",
        ],
        "cifar10": ["nn.Conv2d(6, 16, 5)", "lr=0.1, momentum=0.9", "EPOCHS = 5", "BATCH_SIZE = 128"],
        "clrs": ["500", '"--hidden_size", type=int, default=128', '"--nb_triplet_fts", type=int, default=8'],
        "babylm": ['"--n_layer", type=int, default=12', '"--n_embd", type=int, default=768', "default=5e-5"],
        "identify-contrails": ["nn.Conv2d(3, 2, 1)", "lr = 1e-5", "[0.57, 4.17]"],
        "feedback": ["np.random.rand(len(X), len(DIMENSIONS))", "SEED = 42"],
    }.items():
        script = scripts[name]["train.py"].decode()
        assert [fact for fact in facts if fact not in script] == [], name


def test_edition_folders_hold_what_editions_know():
    for task in Registry().select("mlagentbench"):
        known = {"description.md", "starter", "prepare.py", "judge.py", "measured.json", "measured-miniature.json"}
        folder = Path(task.folder) / "published"
        assert {path.name for path in folder.iterdir()} - {"__pycache__"} <= known
        published = task.in_edition("published")
        for measured, variant in ((published.measured, "real"), (published.measured_miniature, "synthetic-0")):
            assert measured is None or (measured.edition, measured.variant) == ("published", variant)
