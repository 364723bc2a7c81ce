"""Files that are in train and in test: equal content under any name, and images that look the same.

Images are compared by a difference hash of 64 bits, which survives resizing and compression; pairs with nearly the
same hash are compared again by their small gray copies.
"""

import hashlib
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.audit.file_metadata import open_image
from assay.audit.finding import AuditFinding
from assay.audit.subject import Subject
from assay.audit.test_files import MAX_FILES, PublicFile, find_side, list_files, match_rows
from assay.core.installation import install_command

FILES, IMAGES = "duplicate files", "near-duplicate images"

_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp", ".gif")
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".txt", ".md", ".parquet", ".zip", ".xml")
_MAX_FILES = 10 * MAX_FILES
_MAX_IMAGES = 1500
_SIZE = 8
_LOOK = 16
_MAX_DISTANCE = 6
_MAX_DIFFERENCE = 8.0
"""Mean difference of gray levels, of 255, up to which two small copies count as the same."""
_MIN_CONTRAST = 4.0
_MIN_COUNT = 3
_MIN_SHARE = 0.01


def check_files(subject: Subject) -> list[AuditFinding]:
    """Compare the content of test files with that of training files."""
    sides: dict[str, dict[str, str]] = {"train": {}, "test": {}}
    counts = {"train": 0, "test": 0}
    for file, side in _files_by_side(subject, _MAX_FILES):
        if file.suffix in _TABLES:
            continue
        content = file.read()
        if len(content) >= 16:
            counts[side] += 1
            sides[side].setdefault(hashlib.sha256(content).hexdigest(), file.name)
    computed_on = f"{counts['train']:,} training and {counts['test']:,} test files, at most {_MAX_FILES:,} in all"
    if not counts["train"] or not counts["test"]:
        return [AuditFinding(FILES, "skipped", "there are no files on both sides", (), computed_on)]
    shared = sorted({*sides["train"]} & {*sides["test"]})
    share = len(shared) / len(sides["test"])
    text = f"{len(shared):,} of {len(sides['test']):,} test files ({share:.1%}) are in train with the same content"
    if len(shared) < _MIN_COUNT or share < _MIN_SHARE:
        return [AuditFinding(FILES, "none", text, (), computed_on)]
    evidence = tuple(f"{sides['test'][digest]} = {sides['train'][digest]}" for digest in shared[:3])
    return [AuditFinding(FILES, "high" if share >= 0.1 else "medium", text, evidence, computed_on)]


def check_images(subject: Subject) -> list[AuditFinding]:
    """Look for test images that look like a training image."""
    try:
        import PIL  # noqa: F401
    except ModuleNotFoundError:
        return [AuditFinding(IMAGES, "skipped", f"Pillow is not installed; {install_command('mlebench')}")]
    sides: dict[str, list[tuple[str, NDArray[Any], NDArray[Any]]]] = defaultdict(list)
    for file, side in _files_by_side(subject, _MAX_FILES):
        if file.suffix in _SUFFIXES and len(sides[side]) < _MAX_IMAGES and (hashed := hash_image(file.read())):
            sides[side].append((file.name, *hashed))
    train, test = sides["train"], sides["test"]
    computed_on = f"{len(train):,} training and {len(test):,} test images, at most {_MAX_IMAGES:,} of each"
    if not train or not test:
        return [AuditFinding(IMAGES, "skipped", "there are no images with contrast on both sides", (), computed_on)]
    bits = np.stack([image[1] for image in train])
    looks = np.stack([image[2] for image in train])
    pairs = []
    for name, pattern, look in test:
        distance = (bits != pattern).sum(axis=1)
        for candidate in np.flatnonzero(distance <= _MAX_DISTANCE):
            if np.abs(looks[candidate] - look).mean() <= _MAX_DIFFERENCE:
                pairs.append((name, train[candidate][0], int(distance[candidate])))
                break
    share = len(pairs) / len(test)
    text = f"{len(pairs):,} of {len(test):,} test images ({share:.1%}) look like a training image"
    if len(pairs) < _MIN_COUNT or share < _MIN_SHARE:
        return [AuditFinding(IMAGES, "none", text, (), computed_on)]
    evidence = tuple(
        f"{test_} ~ {train_} ({distance} of {_SIZE * _SIZE} bits differ)" for test_, train_, distance in pairs[:3]
    )
    return [AuditFinding(IMAGES, "high" if share >= 0.1 else "medium", text, evidence, computed_on)]


def hash_image(content: bytes) -> tuple[NDArray[np.bool_], NDArray[np.float32]] | None:
    """Return the difference hash of an image and a small gray copy; None if it is no image or has no contrast."""
    from PIL import Image

    try:
        with open_image(content) as image:
            if image.width * image.height > 50_000_000:
                return None
            image.draft("L", (4 * _LOOK, 4 * _LOOK))
            gray = image.convert("L")
            small, look = (
                np.asarray(gray.resize(size, Image.Resampling.BOX), np.float32)
                for size in ((_SIZE + 1, _SIZE), (_LOOK, _LOOK))
            )
    except (OSError, ValueError, SyntaxError):
        return None
    if float(small.std()) < _MIN_CONTRAST:
        return None
    return (small[:, 1:] > small[:, :-1]).ravel(), look.ravel()


def _files_by_side(subject: Subject, limit: int) -> list[tuple[PublicFile, str]]:
    """Return the files of both sides: by the id of a test row, or by the folder that they are in.

    Where test files are named by their ids, all others are compared with them, also those of further folders such as
    `old_data/test`; but not what else is in a folder for the test.
    """
    files = list(list_files(subject.public, limit))
    named = [bool(match_rows(file.name, subject.rows_of_id)) for file in files]
    sides = []
    for file, is_test in zip(files, named, strict=True):
        if is_test:
            sides.append((file, "test"))
        elif any(named) and find_side(file.name.partition("/")[0]) != "test":
            sides.append((file, "train"))
        elif file.side:
            sides.append((file, file.side))
    return sides
