"""Archives are extracted completely or not at all, and only to the target folder."""

import io
import resource
import stat
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.core.disk_space import check_space
from assay.core.errors import SourceError
from assay.core.progress import Advance, NoProgress
from assay.data.untrusted_zip import extract

Content = dict[str, bytes]


def zipped(path: Path, members: dict[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def files_in(folder: Path) -> Content:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(tmp_path: Path, archive: Path, why: str) -> None:
    """Check that the archive is refused for this reason and that nothing is written."""
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SourceError, match=why):
        extract(archive, tmp_path / "raw", progress=NoProgress())
    assert sorted(tmp_path.rglob("*")) == before


def test_all_members_are_extracted_unchanged(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("../inside.csv", "not ours to open")
    large = bytes(range(256)) * 20_000
    members = {f"train/{number % 7}/{number}.jpg": bytes([number % 256]) * number for number in range(500)}
    members |= {"train.csv": large, "inner.zip": inner.getvalue(), "ünï/a b.txt": b"1", "./empty": b""}
    archive = zipped(tmp_path / "a.zip", {**members, "./": b"", "no files/": b""})
    extract(archive, tmp_path / "raw", progress=NoProgress())
    assert files_in(tmp_path / "raw") == {name.removeprefix("./"): content for name, content in members.items()}
    assert (tmp_path / "raw/no files").is_dir()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_supported(tmp_path: Path, method: int) -> None:
    extract(zipped(tmp_path / "a.zip", {"a": b"12" * 9999}, method), tmp_path / "raw", progress=NoProgress())
    assert files_in(tmp_path / "raw") == {"a": b"12" * 9999}


def test_only_the_owner_can_read_what_was_extracted(tmp_path: Path) -> None:
    open_to_all = zipfile.ZipInfo("a/b/c")
    open_to_all.external_attr = (stat.S_IFREG | 0o4777) << 16
    extract(zipped(tmp_path / "a.zip", {open_to_all: b"1"}), tmp_path / "raw", progress=NoProgress())
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "raw", *(tmp_path / "raw").rglob("*")]
    }
    assert modes == {"raw": 0o700, "a": 0o700, "b": 0o700, "c": 0o600}


def test_progress_adds_up_to_the_bytes_written(tmp_path: Path) -> None:
    class Adding:
        @contextmanager
        def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
            assert (what, total) == ("Extracting a.zip", 3_000_005)
            yield amounts.append

    amounts: list[float] = []
    archive = zipped(tmp_path / "a.zip", {"a": bytes(3_000_000), "b": b"12345"})
    extract(archive, tmp_path / "raw", progress=Adding())
    assert sum(amounts) == 3_000_005


@pytest.mark.parametrize(
    "name",
    ["../evil", "a/../../evil", "..", "/etc/evil", "//evil", "C:evil", "C:/evil", "..\\evil", "\\\\host\\evil", "../"],
)
def test_a_path_outside_the_target_is_refused(tmp_path: Path, name: str) -> None:
    refused(
        tmp_path, zipped(tmp_path / "a.zip", {"good": b"1", name: b"2"}), "outside its folder; nothing is extracted"
    )


def test_a_name_with_a_nul_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"goodXbad": b"1"})
    archive.write_bytes(archive.read_bytes().replace(b"goodXbad", b"good\0bad"))
    refused(tmp_path, archive, "outside its folder; nothing is extracted")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFSOCK])
@pytest.mark.parametrize("system", [0, 3])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int, system: int) -> None:
    member = zipfile.ZipInfo("passwords")
    member.create_system, member.external_attr = system, (kind | 0o777) << 16
    refused(tmp_path, zipped(tmp_path / "a.zip", {member: b"/etc/passwd"}), "'passwords' is a link or a device")


def test_a_member_without_a_name_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, zipped(tmp_path / "a.zip", {".": b"1"}), "a member has no name")


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, zipped(tmp_path / "a.zip", {"a/b": b"1", "a/./b": b"2"}), "'a/./b' occurs twice")


def test_names_that_differ_in_case_are_two_files(tmp_path: Path) -> None:
    extract(zipped(tmp_path / "a.zip", {"a": b"1", "A": b"2"}), tmp_path / "raw", progress=NoProgress())
    assert files_in(tmp_path / "raw") == {"a": b"1", "A": b"2"}


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b/c", "a"), ("a", "a/")])
def test_a_file_that_is_also_a_folder_is_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    archive = zipped(tmp_path / "a.zip", dict.fromkeys(names, b""))
    refused(tmp_path, archive, "'a' is both a file and a folder")


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"a": b"1"})
    content = bytearray(archive.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flags of a member in the central directory
    archive.write_bytes(content)
    refused(tmp_path, archive, "'a' is encrypted with a password")


def test_a_member_is_never_extracted_beyond_its_declared_size(tmp_path: Path) -> None:
    archive = announcing(zipped(tmp_path / "a.zip", {"bomb": bytes(50_000_000)}), 1000)
    written: list[float] = []

    class Watching:
        @contextmanager
        def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
            yield written.append

    with pytest.raises(SourceError, match="damaged or not a zip archive"):
        extract(archive, tmp_path / "raw", progress=Watching())
    assert sum(written) <= 1000
    assert not (tmp_path / "raw").exists()


def test_an_archive_larger_than_the_disk_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"large": b"1"})
    with zipfile.ZipFile(archive, "a") as content:
        content.infolist()[0].file_size = 900 * 10**12
        content.writestr("small", b"1")
    refused(tmp_path, archive, r"extracting a\.zip needs 900TB, but the disk of .* has only .*B free")


def test_disk_space_is_needed_only_for_the_extracted_bytes(tmp_path: Path) -> None:
    check_space(tmp_path, 1, "writing")
    with pytest.raises(SourceError, match=r"writing needs 900TB, .* ASSAY_HOME"):
        check_space(tmp_path, 900 * 10**12, "writing")


def test_a_full_disk_is_reported_and_cleaned_up(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"small": b"1", "large": bytes(5_000_000)})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        refused(tmp_path, archive, r"the disk was full before all of a\.zip was extracted")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_damage_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"a": b"1234567890" * 1000, "b": b"2"}, zipfile.ZIP_STORED)
    content = bytearray(archive.read_bytes())
    content[5000] ^= 1
    archive.write_bytes(content)
    refused(tmp_path, archive, "damaged or not a zip archive: Bad CRC-32 for file 'a'")
    archive.write_bytes(content[:-30])
    refused(tmp_path, archive, "damaged or not a zip archive")
    archive.write_bytes(b"<html>")
    refused(tmp_path, archive, "damaged or not a zip archive")


def test_an_unknown_compression_method_is_reported(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"a": b"1"}, zipfile.ZIP_STORED)
    content = bytearray(archive.read_bytes())
    for start, offset in ((0, 8), (content.index(b"PK\x01\x02"), 10)):
        content[start + offset : start + offset + 2] = struct.pack("<H", 9)  # deflate64
    archive.write_bytes(content)
    refused(tmp_path, archive, "cannot be read")


def announcing(archive: Path, size: int) -> Path:
    """Set the size of the only member in the central directory of an archive."""
    content = bytearray(archive.read_bytes())
    start = content.index(b"PK\x01\x02")
    content[start + 24 : start + 28] = struct.pack("<I", size)
    archive.write_bytes(content)
    return archive


def test_an_interrupted_extraction_is_resumed_file_by_file(tmp_path: Path) -> None:
    members = {f"{number % 3}/{number}": bytes([number]) * 1000 for number in range(30)}
    archive, raw = zipped(tmp_path / "a.zip", {**members, "large": bytes(2**21)}), tmp_path / "raw"

    class Interrupted(NoProgress):
        """Stops the extraction, as Ctrl-C does, in the middle of the last file."""

        @contextmanager
        def stage(self, what: str, total: float | None = None) -> Iterator[Advance]:
            def stop(amount: float) -> None:
                if amount > 1000:
                    raise KeyboardInterrupt

            yield stop

    with pytest.raises(KeyboardInterrupt):
        extract(archive, raw, progress=Interrupted(), resume=True)
    assert (raw / "large").stat().st_size < 2**21
    (raw / "0/0").write_bytes(b"x" * 1000)  # as long as it should be
    (raw / "0/3").unlink()
    (raw / "0/of another archive").write_bytes(b"")
    (raw / "other").mkdir()
    kept = {name: (raw / name).stat().st_ino for name in members if name not in ("0/0", "0/3")}
    times = {name: (raw / name).stat().st_mtime_ns for name in kept}
    extract(archive, raw, progress=NoProgress(), resume=True)
    assert files_in(raw) == {**members, "large": bytes(2**21)}
    assert not (raw / "other").exists()
    assert {name: (raw / name).stat().st_ino for name in kept} == kept
    assert {name: (raw / name).stat().st_mtime_ns for name in kept} == times


def test_a_damaged_archive_leaves_nothing_that_could_be_resumed(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"a": b"1", "b": bytes(1000)}, zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes().replace(bytes(1000), b"x" * 1000))
    with pytest.raises(SourceError, match="damaged"):
        extract(archive, tmp_path / "raw", progress=NoProgress(), resume=True)
    assert not (tmp_path / "raw").exists()
