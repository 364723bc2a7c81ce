"""The table of known leaks: each is found in edition v1 on a miniature that carries it, and is absent in fixed."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from assay.audit.answer_key import AnswerKey
from assay.audit.finding import AuditFinding
from assay.audit.preparation import check_described_columns
from assay.audit.subject import Subject
from assay.audit.task_audit import audit_task
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.data.store import PrepareOptions
from assay.tasks import Registry
from assay.tasks.facts import KnownLeak, read_facts

KNOWN = {task.name: read_facts(task.folder).leaks for task in Registry().select("mlebench")}
EDITIONS = ("v1", "fixed")
FOUND = {"repaired": {"v1"}, "remains": {*EDITIONS}, "outside": {*EDITIONS}, "real-data": set(), "not-here": set()}
"""In which editions of the miniature a leak of each status shows."""


def find(prepared: Prepared, home: Home, leaks: list[KnownLeak]) -> list[AuditFinding]:
    """Return what the checks for some leaks find."""
    titles = {leak.check.partition(":")[0] for leak in leaks if leak.check}
    findings = audit_task(prepared, home, progress=NoProgress(), only=titles).findings
    assert not [finding for finding in findings if "could not be read" in finding.text]
    return [finding for finding in findings if finding.is_defect]


def shows(leak: KnownLeak, findings: list[AuditFinding]) -> bool:
    return any(finding.check == leak.check and leak.match in finding.text for finding in findings)


@pytest.fixture(scope="session")
def miniatures(shared_folder: Path) -> Home:
    """The home in which the tests of the competitions prepare their miniatures, too."""
    return Home(shared_folder / "miniatures")


def prepare_miniature(home: Home, name: str, edition: str) -> Prepared:
    task = Registry().competition(name)
    return prepare(home, task, edition, "synthetic-0", progress=NoProgress(), options=PrepareOptions(keep_raw=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(name for name, leaks in KNOWN.items() if any(leak.check for leak in leaks)))
def test_every_known_leak_is_found_where_it_is_and_nowhere_else(miniatures: Home, name: str) -> None:
    leaks = [leak for leak in KNOWN[name] if leak.check]
    by_edition = {
        edition: find(prepare_miniature(miniatures, name, edition), miniatures, leaks) for edition in EDITIONS
    }
    for leak in leaks:
        where = {edition for edition, findings in by_edition.items() if shows(leak, findings)}
        assert where == FOUND[leak.status], (leak.text, by_edition)


def plant_look_alikes(public: Path) -> None:
    """Replace test pages by training pages, a little lighter."""
    pages, targets = (sorted((public / side).glob("*.png"))[:3] for side in ("train", "test"))
    for page, target in zip(pages, targets, strict=True):
        with Image.open(page) as image:
            image.point(lambda value: min(255, value + 1)).save(target)


def plant_old_files(public: Path) -> None:
    """Copy test files to where the data of the earlier competition is."""
    for number, source in enumerate(sorted((public / "test").rglob("*.npy"))[:3]):
        target = public / "old_leaky_data" / "test_old" / f"{number}.npy"
        target.parent.mkdir(exist_ok=True)
        shutil.copy(source, target)


@pytest.mark.parametrize(
    ("name", "plant"),
    [("denoising-dirty-documents", plant_look_alikes), ("seti-breakthrough-listen", plant_old_files)],
)
def test_a_suspected_leak_is_found_if_the_data_has_it(miniatures: Home, tmp_path: Path, name: str, plant) -> None:
    data = prepare_miniature(miniatures, name, "v1")
    public = tmp_path / "public"
    shutil.copytree(data.public, public)
    plant(public)
    leaks = [leak for leak in KNOWN[name] if leak.status == "real-data"]
    assert leaks and all(shows(leak, find(replace(data, public=public), miniatures, leaks)) for leak in leaks)


def test_a_description_that_names_another_id_than_the_grader_is_found(miniatures: Home) -> None:
    data = prepare_miniature(miniatures, "iwildcam-2020-fgvc7", "v1")
    renamed = data.task.submission.model_copy(update={"id": "ImageId"})
    task = data.task.model_copy(update={"submission": renamed})
    subject = Subject(task.id, data.public, key=AnswerKey(replace(data, task=task)))
    (finding,) = check_described_columns(subject)
    assert finding.is_defect and "does not name ImageId" in finding.text


def test_the_table_names_tasks_that_exist_and_repairs_that_are_stated() -> None:
    registry = Registry()
    for name, leaks in KNOWN.items():
        repaired = any(leak.status == "repaired" for leak in leaks)
        assert not repaired or registry.competition(name).rules["fixed"].repairs, name
    # The one fault that no check looks for: it is true of no checksum that Assay compares.
    (unchecked,) = [(name, leak.status) for name, leaks in KNOWN.items() for leak in leaks if not leak.check]
    assert unchecked == ("icecube-neutrinos-in-deep-ice", "not-here")
    checksums = [name for task in registry.select("mlebench") for name in task.data.checksums]
    assert checksums and not [name for name in checksums if name.endswith(".parquet")]
