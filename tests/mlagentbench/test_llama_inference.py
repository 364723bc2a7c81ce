"""The llama-inference task: the slow reference and every fast solution are correct, and speed is what counts."""

import json
from pathlib import Path

import numpy as np
import pytest

from assay.audit.reference_panel import keep_measurements
from assay.audit.task_check import check_task
from assay.core.disk import hash_file
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.grading import grade_submission
from assay.tasks import Measured, Registry, Task, load_plugin
from command_line import Assay
from panels import run_panel


@pytest.fixture
def llama() -> Task:
    return Registry().task("mlagentbench/llama-inference")


def test_a_miniature_passes_every_check(llama: Task, tmp_path: Path) -> None:
    home = Home(tmp_path)
    ready = prepare(home, llama, variant="synthetic-0", progress=NoProgress())
    findings = {finding.check: finding.passed for finding in check_task(ready, home)}
    assert findings == {"answers": None, "no private file is public": True}
    assert sorted(path.name for path in ready.public.iterdir()) == ["example.npz", "reference.py"]
    naive = llama.folder / "starter" / "generate.py"
    assert hash_file(ready.private / "reference.py") == hash_file(naive)
    with np.load(ready.public / "example.npz", allow_pickle=False) as example:
        arguments = {name: example[name] for name in example.files if name != "output"}
        assert (load_plugin(naive).generate(**arguments) == example["output"]).all()
        assert example["output"].shape == (2, 112)


def test_the_description_names_files(llama: Task) -> None:
    assert (llama.editions, llama.budget.time, llama.budget.steps) == (("fixed", "published"), 5 * 3600, 50)
    words = [*llama.starter, llama.submission.file, "data/example.npz", "data/reference.py", "can no longer be"]
    assert [word for word in words if word not in llama.description] == []
    remark = " ".join(llama.description.split()).partition("published for this problem ")[2]
    assert remark.startswith("elsewhere are not comparable:")


def test_panel_scores_improve_and_the_best_counts_as_success(llama: Task) -> None:
    measured = llama.measured
    assert measured is not None and measured.baseline_seeds >= 3
    scores = [solution.score for solution in measured.panel]
    assert len(scores) >= 4 and scores == sorted(scores) and scores[-1] > 1.1 * measured.baseline


def test_the_reference_agrees_with_an_independent_implementation_in_double_precision(llama: Task) -> None:
    cases, naive = load_plugin(llama.folder / "cases.py"), load_plugin(llama.folder / "starter" / "generate.py")
    for arguments in cases.checks(np.random.default_rng(1)):
        prompts, count, heads, *weights = arguments
        tokens, lead = cases.continued(prompts, int(count), int(heads), *weights)
        assert lead >= 5e-4
        assert (naive.generate(*arguments) == tokens).all()


def test_with_zero_weights_the_head_alone_decides_the_next_token(llama: Task) -> None:
    """Worked by hand: with zero weights a state stays its token's embedding, and this head maps it to another token."""
    naive = load_plugin(llama.folder / "starter" / "generate.py")
    identity = np.eye(4, dtype=np.float32)
    nothing, scales = np.zeros((1, 4, 4, 4), np.float32), np.ones((3, 4), np.float32)
    output = naive.generate(
        np.array([[0, 2], [1, 3]]),
        np.array(3),
        np.array(2),
        identity,
        nothing,
        nothing[:, :3],
        scales,
        np.roll(identity, 1, 1),
    )
    assert output.tolist() == [[3, 0, 1], [0, 1, 2]]


def test_a_shortened_context_is_detected(llama: Task) -> None:
    cases, naive = load_plugin(llama.folder / "cases.py"), load_plugin(llama.folder / "starter" / "generate.py")
    prompts, *rest = cases.timed(np.random.default_rng(0))
    expected = naive.generate(prompts, *rest)
    shortened = naive.generate(prompts[:, -4:], *rest)
    assert "are not the most likely ones" in cases.difference(shortened, expected)


def test_every_solution_of_the_panel_is_right_on_every_size(llama: Task, tmp_path: Path) -> None:
    cases, naive = load_plugin(llama.folder / "cases.py"), load_plugin(llama.folder / "starter" / "generate.py")
    inputs = list(cases.checks(np.random.default_rng(0)))
    expected = [naive.generate(*arguments) for arguments in inputs]
    for name in run_panel(llama, tmp_path, "--list").split():
        run_panel(llama, tmp_path, name)
        tried = load_plugin(tmp_path / "generate.py").generate
        outputs = [tried(*arguments) for arguments in inputs]
        assert [(array.shape, array.dtype) for array in outputs] == [(array.shape, array.dtype) for array in expected]
        assert [cases.difference(*pair) for pair in zip(outputs, expected, strict=True)] == [None] * len(inputs), name
        (tmp_path / "generate.py").unlink()


@pytest.mark.slow
def test_a_key_value_cache_scores_far_above_the_starter(llama: Task, home: Home, tmp_path: Path) -> None:
    run_panel(llama, tmp_path, run_panel(llama, tmp_path, "--list").split()[-1])
    ready = prepare(home, llama, variant="synthetic-0", progress=NoProgress())
    keep_measurements(home, llama, Measured.constant(1.0, ready.edition, ready.variant))
    grade = grade_submission(tmp_path / "generate.py", ready, home=home)
    assert grade.why is None and grade.sealed and not grade.deterministic
    assert grade.score is not None and grade.score > 3 and grade.success


@pytest.mark.slow
def test_the_starter_submits_a_valid_file(llama: Task, assay: Assay, home: Home) -> None:
    assert assay("prepare", llama.id, "--synthetic").returncode == 0
    words = ["--variant", "synthetic-0", "--agent", "starter", "--time", "5m", "--out", str(home.root / "run")]
    ran = assay("run", llama.id, *words)
    assert ran.returncode == 0, ran.stderr
    [path] = (home.root / "run" / "trials").glob("*/grade.json")
    grade = json.loads(path.read_bytes())
    assert grade["valid_submission"] and grade["sealed"]
    assert 0.3 < grade["score"] < 3
