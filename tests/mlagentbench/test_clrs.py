"""The clrs task: graphs drawn by the published sampler, and weights graded with the original code on larger graphs."""

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from assay.audit.reference_panel import panel_files
from assay.audit.task_check import check_task
from assay.core.disk import hash_file
from assay.core.errors import NotPrepared
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, load_prepared, prepare
from assay.grading import grade_submission
from assay.lab.environments import find_environment
from assay.tasks import Registry, Task, load_plugin


@pytest.fixture
def clrs() -> Task:
    return Registry().task("mlagentbench/clrs")


@pytest.fixture
def miniature(clrs: Task, home: Home) -> Prepared:
    return prepare(home, clrs, variant="synthetic-0", progress=NoProgress())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the scripts below leave their checkpoints."""
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, list[str]]:
    """Run all scripts in the task's environment, in one process, and return the lines that each prints."""
    task_folder = Registry().task("mlagentbench/clrs").folder
    head = f"import sys\nsys.path.insert(0, {str(task_folder)!r})\nimport numpy as np\nimport torch\n"
    head += "from model import *\ntorch.set_num_threads(1)\n"
    code = head + "".join(f"print('##', {name!r})\ntorch.manual_seed(0)\n{text}" for name, text in SCRIPTS.items())
    python = find_environment(Home.default(), "torch") / "bin" / "python"
    done = subprocess.run([python, "-B", "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parts = [part.splitlines() for part in done.stdout.split("## ")[1:]]
    return {name: lines for name, *lines in parts}


def predecessors(lengths: np.ndarray) -> np.ndarray:
    """Compute the expected pointers independently: with Dijkstra's algorithm, and round trips node by node."""
    count = len(lengths)
    without_loops = np.where(np.eye(count, dtype=bool), 0, lengths)
    distances, before = dijkstra(csr_array(without_loops), return_predecessors=True)
    before = np.where(before < 0, np.arange(count)[:, None], before)
    for node in np.flatnonzero(np.diag(lengths)):
        last = np.where(without_loops[:, node] > 0, distances[node] + without_loops[:, node], np.inf)
        before[node, node] = node if lengths[node, node] <= last.min() else last.argmin()
    return before


def hidden(ready: Prepared) -> tuple[np.ndarray, np.ndarray]:
    with np.load(ready.private / "inputs" / "graphs.npz", allow_pickle=False) as file:
        graphs = file["graphs"]
    answers = pd.read_csv(ready.private / "answers.csv")
    assert answers["id"].tolist() == list(range(graphs.size))
    return graphs, answers["node"].to_numpy().reshape(graphs.shape)


def assert_right(ready: Prepared) -> dict[str, np.ndarray]:
    """Every pointer, shown or hidden, is that of an independent algorithm, and the steps lead up to it."""
    with np.load(ready.public / "train.npz", allow_pickle=False) as file:
        train = {name: file[name] for name in file.files}
    with np.load(ready.public / "validation.npz", allow_pickle=False) as file:
        parts = [(file["graphs"], file["pointers"]), hidden(ready)]
    parts += [(train[name][:40], train[name.replace("graphs", "pointers")][:40]) for name in train if "graphs_" in name]
    for graphs, pointers in parts:
        assert (graphs == graphs.transpose(0, 2, 1)).all()
        for lengths, pointed in zip(graphs, pointers, strict=True):
            assert (predecessors(lengths.astype(float)) == pointed).all()
    for name in train:
        if name.startswith("graphs_"):
            size = int(name.removeprefix("graphs_"))
            graphs, identity = train[name], np.eye(size, dtype=bool)
            assert (train[f"distances_before_{size}"][:, 0] == graphs).all()
            assert (train[f"reached_before_{size}"][:, 0] == ((graphs > 0) | identity)).all()
            assert (train[f"pointers_before_{size}"][:, 0] == np.arange(size)[:, None]).all()
            shorter = np.diff(train[f"distances_before_{size}"], axis=1)
            assert (shorter[train[f"reached_before_{size}"][:, :-1] > 0] <= 0).all()
    return train


def assert_same(value: Any, other: Any) -> None:
    """Both have the same structure, and their arrays the same types and bytes."""
    if isinstance(value, np.ndarray):
        assert (value.dtype, value.shape, value.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif isinstance(value, dict | tuple):
        assert len(value) == len(other)
        for name in value if isinstance(value, dict) else range(len(value)):
            assert_same(value[name], other[name])
    else:
        assert value == other


def test_a_miniature_passes_every_check(miniature: Prepared, home: Home) -> None:
    findings = {finding.check: finding.passed for finding in check_task(miniature, home)}
    assert findings == {
        "hidden inputs exist": True,
        "ids are unique": True,
        "the answers win gold": True,
        "no public table holds the answers": True,
        "no private file is public": True,
    }


def test_public_files_contain_the_grading_code_and_no_hidden_graph(clrs: Task, miniature: Prepared) -> None:
    names = sorted(path.name for path in miniature.public.iterdir())
    assert names == ["model.py", "train.npz", "validation.npz"]
    assert hash_file(miniature.public / "model.py") == hash_file(clrs.folder / "model.py")
    train, (graphs, _) = assert_right(miniature), hidden(miniature)
    assert graphs.shape[1] > max(array.shape[1] for name, array in train.items() if name.startswith("graphs_"))


def test_data_becomes_stale_with_the_model_but_not_with_the_description(clrs: Task, tmp_path: Path) -> None:
    folder, home = shutil.copytree(clrs.folder, tmp_path / "clrs"), Home(tmp_path / "home")
    task = clrs.model_copy(update={"folder": folder})
    prepare(home, task, variant="synthetic-0", progress=NoProgress())
    (folder / "description.md").write_text("Other words.\n")
    assert load_prepared(home, task, variant="synthetic-0")
    (folder / "model.py").write_text("raise SystemExit\n")
    with pytest.raises(NotPrepared, match="is stale"):
        load_prepared(home, task, variant="synthetic-0")


def test_the_description_names_files_and_limits(clrs: Task) -> None:
    assert (clrs.editions, clrs.budget.time, clrs.budget.steps) == (("fixed", "published"), 5 * 3600, 50)
    assert clrs.judged_in_lab and not clrs.timed
    words = [*clrs.starter, "data/", "checkpoint.npz", "model.py", "hidden graphs of 64 nodes", "20 minutes", "10 MB"]
    assert [word for word in words if word not in clrs.description] == []
    said = " ".join(clrs.description.split()).partition("published for this problem ")[2]
    assert said.startswith("elsewhere are not comparable:")
    starter = clrs.starter["train.py"].decode()
    assert "BATCHES = 300" in starter and "for 300 batches" in clrs.description


def test_panel_scores_improve_and_the_best_counts_as_success_on_graphs(clrs: Task) -> None:
    kept = clrs.measured
    assert kept is not None and kept.baseline_seeds >= 3
    scores = [solution.score for solution in kept.panel]
    assert len(scores) >= 3 and scores == sorted(scores) and scores[0] < kept.baseline
    assert scores[-1] > 1.1 * kept.baseline


FAULTS = {
    "arrays.pop('weights.output.score.bias')": "the array weights.output.score.bias is missing",
    "arrays['weights.algorithm'] = np.ones(3)": "the array weights.algorithm is not one of the model",
    "arrays['weights.own.bias'] = np.ones(3)": "weights.own.bias has the shape (3,); (5,) is right",
    "arrays['weights.own.bias'] = np.full(5, np.nan)": "weights.own.bias holds numbers that are not finite",
    "arrays['weights.own.bias'] = np.full(5, 1e300)": "weights.own.bias holds numbers that are not finite",
    "arrays['settings.width'] = np.array(10**9)": "settings.width is not a whole number from 1 to 128",
    "arrays['settings.width'] = np.array(5.0)": "settings.width is not a whole number from 1 to 128",
    "arrays['settings.steps'] = np.array([1, 2])": "settings.steps is not a whole number from 0 to 64",
    "arrays['settings.code'] = np.array(1)": "settings.code is missing or not a setting",
    "arrays.pop('settings.hints')": "settings.hints is missing or not a setting",
}

SCRIPTS = {
    "inference": """
for changes in ({}, {"edge_pointers": 1}, {"triplets": 0, "hints": 1}, {"hints": 0, "gated": 0, "normalized": 0},
                {"layers": 2, "steps": 3}):
    network = Network(Settings(width=6, pointers=5, **changes))
    graphs = torch.rand(3, 7, 7)
    slow = network(graphs)[0]
    with torch.no_grad():
        quick = network(graphs)[0]
    print(tuple(quick.shape), torch.allclose(slow, quick, atol=1e-5), len(network(graphs)[1]))
""",
    "round trip": """
network = Network(Settings(width=5, edge_pointers=1))
save(network, "checkpoint.npz")
with np.load("checkpoint.npz", allow_pickle=False) as file:
    print(*sorted({file[name].dtype.kind for name in file.files}))
back = load("checkpoint.npz")
graphs = np.random.default_rng(0).random((2, 9, 9))
print(back.settings == network.settings, (predict(back, graphs) == predict(network, graphs)).all())
""",
    "faults": f"""
import warnings
warnings.simplefilter("ignore")
for change in {list(FAULTS)!r}:
    save(Network(Settings(width=5)), "checkpoint.npz")
    with np.load("checkpoint.npz") as file:
        arrays = {{name: file[name] for name in file.files}}
    exec(change)
    np.savez("checkpoint.npz", **arrays)
    try:
        load("checkpoint.npz")
    except CheckpointError as error:
        print(error)
""",
    "to be graded": """
network = Network(Settings(width=4))
save(network, "untrained.npz")
network.own.bias.data[0] = np.inf
save(network, "corrupt.npz")
""",
}


def test_inference_equals_training_mode(printed: dict[str, list[str]]) -> None:
    """Without gradients the model works node by node, with them all at once; both must give the same."""
    assert printed["inference"] == [f"(3, 7, 7, 7) True {guesses}" for guesses in (7, 7, 7, 0, 3)]


def test_a_checkpoint_round_trips_as_plain_arrays(printed: dict[str, list[str]]) -> None:
    assert printed["round trip"] == ["f i", "True True"]


def test_an_invalid_checkpoint_is_refused_with_a_sentence(printed: dict[str, list[str]]) -> None:
    assert printed["faults"] == list(FAULTS.values())


@pytest.mark.slow
@pytest.mark.usefixtures("printed")
def test_untrained_and_corrupt_weights_are_graded_in_the_lab(
    clrs: Task, miniature: Prepared, home: Home, folder: Path, tmp_path: Path
) -> None:
    shutil.copyfile(folder / "untrained.npz", tmp_path / "checkpoint.npz")
    grade = grade_submission(tmp_path / "checkpoint.npz", miniature, home=home)
    assert grade.why is None and grade.sealed and grade.deterministic
    assert grade.score is not None and 0 <= grade.score < 0.6
    assert grade_submission(tmp_path / "checkpoint.npz", miniature, home=home).score == grade.score
    shutil.copyfile(folder / "corrupt.npz", tmp_path / "checkpoint.npz")
    corrupt = grade_submission(tmp_path / "checkpoint.npz", miniature, home=home)
    assert corrupt.why == "checkpoint.npz: weights.own.bias holds numbers that are not finite."


@pytest.mark.slow
def test_the_published_sampler_draws_correct_graphs_and_a_model_learns_from_them(
    clrs: Task, home: Home, tmp_path: Path
) -> None:
    ready = prepare(home, clrs, progress=NoProgress())
    assert not [name for name in sys.modules if name.partition(".")[0] in ("clrs", "jax", "tensorflow", "chex")]
    train, (graphs, pointers) = assert_right(ready), hidden(ready)
    assert {name: len(array) for name, array in train.items() if name.startswith("graphs_")} == {
        f"graphs_{size}": 1000 for size in (4, 7, 11, 13, 16)
    }
    assert (graphs.shape, pointers.shape) == ((32, 64, 64), (32, 64, 64))
    # An edge takes two coins: a quarter of all pairs with p = 0.5, else the mean of the squares of 0.1, 0.2, … 0.9.
    assert abs((graphs > 0).mean() - 0.25) < 0.01
    there = (train["graphs_16"] > 0)[:, ~np.eye(16, dtype=bool)].mean()
    assert abs(there - np.mean(np.arange(0.1, 1.0, 0.1) ** 2)) < 0.02
    # The hidden graphs cannot be drawn again with what is public: the code, its seeds, and the package.
    prepare_py = load_plugin(clrs.folder / "prepare.py")
    sampler = prepare_py.Sampler(ready.folder / "raw")
    public_seeds = [prepare_py.SEED + offset for offset in (0, 4, 7, 11, 13, 16, 100, 200)]
    seed = int((home.data / "mlagentbench/clrs/secret-seed").read_text())
    drawn = [sampler.draw(2, 64, seed=number)["graphs"] for number in (*public_seeds, seed)]
    assert [np.array_equal(graphs[:2], again) for again in drawn] == [False] * len(public_seeds) + [True]
    # The algorithm on whole arrays records the same numbers as the published one, to the last bit.
    sampling = load_plugin(clrs.folder / "sampling.py")
    with sampling.load_samplers(ready.folder / "raw"):
        published = importlib.import_module("clrs._src.algorithms.graphs")
    for lengths in [graphs[0], *(train[f"graphs_{size}"][row] for size in (4, 16) for row in range(20))]:
        lengths = lengths.astype(float)
        assert_same(sampling.floyd_warshall(published, lengths), published.floyd_warshall(lengths))

    (tmp_path / "data").symlink_to(ready.public)
    files = panel_files(clrs)
    assert b'"edge_pointers": 1}, 300)' in files["panel.py"]
    files["panel.py"] = files["panel.py"].replace(b'"edge_pointers": 1}, 300)', b'"edge_pointers": 1}, 30)')
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    python = find_environment(home, "torch") / "bin" / "python"
    subprocess.run([python, "-B", "run_panel.py", "edge-pointers"], cwd=tmp_path, check=True, capture_output=True)
    grade = grade_submission(tmp_path / "checkpoint.npz", ready, home=home)
    assert grade.why is None and grade.baseline is not None and grade.rank is not None
    chance = 1 / 64
    assert grade.score is not None and grade.score > 5 * chance
