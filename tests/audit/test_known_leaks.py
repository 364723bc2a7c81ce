"""The table of known leaks: each is found in edition v1 on a miniature that carries it, and is absent in fixed."""

from pathlib import Path

import pytest

from assay.audit.finding import AuditFinding
from assay.audit.known_leaks import KnownLeak, read_known
from assay.audit.task_audit import audit_task
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import Prepared, prepare
from assay.tasks import Registry
from assay.tasks.registry import BUILT_IN

PATH = BUILT_IN / "mlebench" / "known_leaks.toml"
KNOWN = read_known(PATH)
FOUND = {"repaired": {"v1"}, "remains": {"v1", "fixed"}, "real-data": set()}
"""In which editions of the miniature a leak of each status shows."""


def find(prepared: Prepared, home: Home, leak: KnownLeak) -> list[AuditFinding]:
    assert leak.check
    title = leak.check.partition(":")[0]
    findings = audit_task(prepared, home, progress=NoProgress(), only=[title]).findings
    assert not [finding for finding in findings if "could not be read" in finding.text]
    return [
        finding for finding in findings if finding.found and finding.check == leak.check and leak.match in finding.text
    ]


@pytest.fixture(scope="session")
def miniatures(shared_folder: Path) -> Home:
    """The home in which the tests of the competitions prepare their miniatures, too."""
    return Home(shared_folder / "miniatures")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({task for leak in KNOWN if leak.check for task in leak.tasks}))
def test_every_known_leak_is_found_where_it_is_and_nowhere_else(miniatures: Home, name: str) -> None:
    task = Registry().competition(name)
    for leak in (leak for leak in KNOWN if leak.check and name in leak.tasks):
        found = {}
        for edition in ("v1", "fixed"):
            data = prepare(miniatures, task, edition, "synthetic-0", keep_raw=True, progress=NoProgress())
            found[edition] = find(data, miniatures, leak)
        assert {edition for edition, findings in found.items() if findings} == FOUND[leak.status], (leak.text, found)


def test_what_no_data_can_show_is_reported_in_both_editions(miniatures: Home) -> None:
    outside = [leak for leak in KNOWN if leak.status == "outside"]
    for edition in ("v1", "fixed"):
        task = Registry().competition("dog-breed-identification")
        data = prepare(miniatures, task, edition, "synthetic-0", keep_raw=True, progress=NoProgress())
        findings = audit_task(data, miniatures, progress=NoProgress(), only=["known from outside"]).findings
        assert [finding.text for finding in findings] == [one.text for one in outside if task.name in one.tasks]


def test_the_table_names_tasks_that_exist_and_repairs_that_are_stated() -> None:
    registry = Registry()
    for leak in KNOWN:
        for name in leak.tasks:
            task = registry.competition(name)
            assert leak.status != "repaired" or task.rules["fixed"].repairs, name
        assert leak.check or leak.status in ("outside", "not-here", "repaired"), leak.text
