"""Assay's tasks as Harbor task folders: instruction, environment, oracle solution, and a separate verifier.

A folder has the task's public files in `environment/data` and the answers in `tests/home`, which only the verifier's
own environment sees: it gets the submission as the one declared artifact, and nothing else of what an agent left.
With real data both stay where `assay prepare` put them, and only Assay's environment for Harbor finds them.
"""

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path

from assay import __version__
from assay.agents.briefing import task_prompt
from assay.audit.answer_key import AnswerKey
from assay.audit.reference_panel import panel_files
from assay.core.disk import random_token
from assay.core.errors import AssayError
from assay.core.home import Home
from assay.data.store import Prepared, copy_prepared
from assay.grading.grade import find_measured, grade_submission
from assay.interop.harbor.verifier import HOME, RUBRIC, TEST_SCRIPT, Rubric
from assay.lab.environments import list_packages
from assay.tasks import Task
from assay.tasks.facts import read_facts

WORKSPACE = "/workspace"
_SCHEMA = "1.4"
_VERIFIER_SECONDS = 3600
_IMAGE = "python:3.11-slim"
_VERIFIER_IMAGE = "python:3.12-slim"


def folder_name(task: Task) -> str:
    """Return the name of a task's folder, which is also its name in Harbor's registry."""
    return f"{task.suite}__{task.name}"


def write_task(folder: Path, prepared: Prepared, home: Home) -> Rubric:
    """Write a prepared task as the Harbor task `folder`, in place of an older version of it, and return its rubric."""
    temporary = folder.with_name(f".{folder.name}.{random_token()}")
    try:
        rubric = _write(temporary, prepared, home)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return rubric


def _write(folder: Path, prepared: Prepared, home: Home) -> Rubric:
    task = prepared.task
    solution = _solution_files(prepared)
    rubric = make_rubric(prepared, _written_answers(solution, task), home)
    described = rubric.model_dump_json(indent=2).encode()
    pins, alone = list_packages(rubric.environment)
    inside = rubric.data == "inside"
    files: dict[str, bytes] = {
        "task.toml": _task_toml(prepared).encode(),
        "instruction.md": task_prompt(task, task.description, task.budget_for(prepared.variant), steps=False).encode(),
        f"environment/{RUBRIC}": described,
        "environment/Dockerfile": _dockerfile(bool(alone), inside).encode(),
        "environment/requirements.txt": _lines(pins),
        **({"environment/requirements-alone.txt": _lines(alone)} if alone else {}),
        "environment/workspace/description.md": task.description.encode(),
        **{f"environment/workspace/{name}": content for name, content in task.starter.items()},
        **{f"solution/{name}": content for name, content in solution.items()},
        f"tests/{RUBRIC}": described,
        "tests/Dockerfile": _verifier_dockerfile().encode(),
        "tests/test.sh": TEST_SCRIPT.encode(),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    if inside:
        shutil.copytree(prepared.public, folder / "environment/data")
        _copy_data(folder / "tests" / HOME, home, prepared)
    return rubric


def _copy_data(target: Path, home: Home, prepared: Prepared) -> None:
    """Copy the data into a home of its own, without links, which Harbor and images may not keep."""
    copied = copy_prepared(Home(target), home, prepared.task, prepared.edition, prepared.variant)
    link = Home(target).data / prepared.task.suite / prepared.task.name / prepared.edition / prepared.variant
    (copied.folder / "public").unlink()
    link.unlink()
    copied.folder.rename(link)
    shutil.rmtree(target / "locks")


def _solution_files(prepared: Prepared) -> dict[str, bytes]:
    """Return the oracle: the answers as a submission; else the best reference solution, or the starter."""
    task, commands = prepared.task, list[str]()
    files: dict[str, bytes] = {}
    if task.submission.form == "csv" and not task.judged_in_lab:
        answers = AnswerKey(prepared).perfect_submission()
        if isinstance(answers, str):
            raise AssayError(f"{task.id}: no oracle solution can be written: {answers}")
        name = Path(task.submission.file).name
        files[name] = answers
        commands = [f"cp /solution/{name} {WORKSPACE}/{task.submission.file}"]
    elif (task.own_folder or task.folder).joinpath("panel.py").is_file():
        files |= panel_files(task)
        commands = [
            f"cp /solution/panel.py /solution/run_panel.py {WORKSPACE}/",
            "solution=$(python run_panel.py --list | tail -n 1)",
            'python run_panel.py "$solution"',
        ]
    elif task.starter_script:
        commands = [f"python {task.starter_script}"]
    files["solve.sh"] = "\n".join(["#!/bin/sh", "set -e", f"cd {WORKSPACE}", *commands, ""]).encode()
    return files


def make_rubric(prepared: Prepared, answers: bytes | None, home: Home) -> Rubric:
    """Return what a task is graded by; `answers` are those of a task whose submissions are tables."""
    task = prepared.task
    floor, top = _find_anchors(prepared, answers, home)
    return Rubric(
        task=task.id,
        edition=prepared.edition,
        variant=prepared.variant,
        submission=task.submission.file,
        environment=task.environment_for(prepared.variant),
        data="prepared" if prepared.variant == "real" and task.source.kaggle else "inside",
        floor=floor,
        top=top,
    )


def find_rubric(prepared: Prepared, home: Home) -> Rubric:
    """Return the rubric of a task that is not exported."""
    return make_rubric(prepared, _written_answers(_solution_files(prepared), prepared.task), home)


def _written_answers(solution: Mapping[str, bytes], task: Task) -> bytes | None:
    return None if "panel.py" in solution else solution.get(Path(task.submission.file).name)


def _find_anchors(prepared: Prepared, answers: bytes | None, home: Home) -> tuple[float | None, float | None]:
    """Return the scores with the rewards 0 and 1, as far as there are any.

    These are the sample submission, or 0 where its metric has no value for it, and the gold medal, or the answers where
    there are no medals; of tasks that are graded by running code, the starter and the best reference solution.
    """
    task = prepared.task
    if answers is None:
        measured = find_measured(prepared)
        if measured and measured.panel:
            return measured.baseline, measured.panel[-1].score
        return (1.0 if task.timed else None), None  # a speedup of the starter over itself
    perfect = grade_submission(answers, prepared, home=home)
    top = perfect.gold_threshold if perfect.gold_threshold is not None else perfect.score
    if top is None and task.leaderboard:  # the best score of some metrics is infinite
        top = task.leaderboard.gold
    known = read_facts(task.folder).sample_score
    if prepared.variant == "real" and prepared.edition == task.edition and known is not None:
        return known, top
    side, _, rest = task.data.sample.partition("/")
    sample = (prepared.public if side == "public" else prepared.private) / rest
    floor = grade_submission(sample, prepared, home=home).score if sample.is_file() else None
    return (floor if floor is not None and math.isfinite(floor) else 0.0), top


def _task_toml(prepared: Prepared) -> str:
    task, budget, resources = prepared.task, prepared.task.budget_for(prepared.variant), prepared.task.resources
    root = {"schema_version": _SCHEMA, "artifacts": [f"{WORKSPACE}/{task.submission.file}"]}
    tables: Mapping[str, Mapping[str, object]] = {
        "task": {
            "name": f"assay/{folder_name(task)}",
            "version": __version__,
            "description": task.title or task.id,
            "keywords": ["machine-learning", task.suite, task.metric.name],
        },
        "metadata": {
            "suite": task.suite,
            "task": task.id,
            "edition": prepared.edition,
            "variant": prepared.variant,
            "metric": task.metric.name,
            "direction": task.metric.direction,
        },
        "verifier": {"timeout_sec": _VERIFIER_SECONDS, "environment_mode": "separate"},
        "agent": {"timeout_sec": budget.time},
        "environment": {
            "network_mode": "no-network",
            "workdir": WORKSPACE,
            "cpus": resources.cores,
            "memory_mb": resources.memory // 2**20,
            "storage_mb": resources.disk // 2**20,
            **({"gpus": resources.gpus} if resources.gpus and prepared.variant == "real" else {}),
        },
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in root.items()]
    for name, values in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join([*lines, ""])


def _dockerfile(alone: bool, inside: bool) -> str:
    lines = [
        f"FROM {_IMAGE}",
        "COPY requirements*.txt /tmp/",
        "RUN pip install --no-cache-dir -r /tmp/requirements.txt",
        *(["RUN pip install --no-cache-dir --no-deps -r /tmp/requirements-alone.txt"] if alone else []),
        f"WORKDIR {WORKSPACE}",
        f"COPY workspace/ {WORKSPACE}/",
        *([f"COPY data/ {WORKSPACE}/data/"] if inside else []),
    ]
    return "\n".join([*lines, ""])


def _verifier_dockerfile() -> str:
    return "\n".join(
        [
            f"FROM {_VERIFIER_IMAGE}",
            f'ARG ASSAY="mlassay[mlebench]=={__version__}"',
            'RUN pip install --no-cache-dir "$ASSAY"',
            f"WORKDIR {WORKSPACE}",
            "COPY . /tests/",
            "",
        ]
    )


def _lines(words: tuple[str, ...]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()
