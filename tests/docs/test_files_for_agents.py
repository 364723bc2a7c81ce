"""Files that agents and tools look for: AGENTS.md, llms.txt, Croissant metadata, and JSON schemas of all formats."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data.store import prepare
from assay.interop.schemas import FORMATS, make_schema
from assay.tasks import Registry
from command_line import Assay
from sample_run import write_run

ROOT = Path(__file__).resolve().parents[2]
_FORMAT = re.compile(r"format: Literal\[([^\]]+)\]")


@pytest.mark.parametrize("name", ["AGENTS.md", "llms.txt"])
def test_links_lead_to_files(name: str):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text())
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_every_format_has_a_schema():
    text = "".join(path.read_text() for path in (ROOT / "src" / "assay").rglob("*.py"))
    formats = {name.strip(' "') for match in _FORMAT.findall(text) for name in match.split(",")}
    assert formats - FORMATS.keys() == set()


@pytest.mark.parametrize("name", FORMATS)
def test_a_schema_is_valid(name: str):
    Draft202012Validator.check_schema(make_schema(name))


def test_the_files_of_a_run_follow_their_schemas(tmp_path: Path):
    run = write_run(tmp_path / "run", seeds=1)
    [trial, *_] = run.trials()
    files = {"run/1": run.path / "run.json", "trial/2": trial.path / "trial.json", "grade/1": trial.path / "grade.json"}
    for name, path in files.items():
        content = json.loads(path.read_text())
        assert content["format"] == name
        Draft202012Validator(make_schema(name)).validate(content)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("task/1", "suites/*/*/task.toml"),
        ("suite/1", "suites/*/suite.toml"),
        ("preset/1", "runs/presets/*.toml"),
        ("profile/1", "agents/external/profiles/*.toml"),
    ],
)
def test_files_that_people_write_follow_their_schemas(name: str, pattern: str):
    schema = Draft202012Validator(make_schema(name))
    paths = sorted((ROOT / "src" / "assay").glob(pattern))
    assert len(paths) >= 4
    for path in paths:
        schema.validate(tomllib.loads(path.read_text()))


def test_the_command_prints_a_schema(assay: Assay):
    assert json.loads(assay("export", "--schema", "grade").stdout)["$comment"] == "grade/1"
    assert "trials/1" in assay("export", "--schema", "list").stdout
    assert "no file format is called" in assay("export", "--schema", "grades/9").stderr


def test_croissant_metadata_has_the_files_with_their_hashes(assay: Assay, home: Home):
    task = Registry().task("mlebench/leaf-classification")
    assert json.loads(assay("tasks", task.id, "--croissant").stdout)["license"] == task.source.license
    prepared = prepare(home, task, None, "synthetic-0", progress=NoProgress())
    content = json.loads(assay("tasks", task.id, "--croissant").stdout)
    assert content["conformsTo"].endswith("/1.1")
    listed = {file["@id"]: file["sha256"] for file in content["distribution"]}
    assert listed["data/train.csv"] == prepared.manifest.public["train.csv"].sha256


def test_every_task_has_croissant_metadata():
    from assay.tasks.croissant import describe_dataset

    for task in Registry().tasks():
        content = describe_dataset(task, {})
        assert content["name"] and content["description"] and content["license"], task.id
