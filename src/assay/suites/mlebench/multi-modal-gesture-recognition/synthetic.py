"""A miniature of the gesture recordings: each gesture has a pitch, and the sound plays them one after the other."""

import io
import zipfile
from typing import Any

import numpy as np

from assay.core.errors import MissingDependency
from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature
from assay.formats import seven_zip

GESTURES = [
    "vattene", "vieniqui", "perfetto", "furbo", "cheduepalle", "chevuoi", "daccordo", "seipazzo",
    "combinato", "freganiente", "ok", "cosatifarei", "basta", "prendere", "noncenepiu",
    "fame", "tantotempo", "buonissimo", "messidaccordo", "sonostufo",
]  # fmt: skip
PARTS = {
    "training1": 8,
    "training2": 8,
    "training3": 8,
    "training4": 24,
    "validation1": 2,
    "validation2": 2,
    "validation3": 2,
}
RATE = 8000
PITCHES = np.geomspace(200, 3500, len(GESTURES))


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write the archives of all parts; those for training hold their labels, as the real ones do."""
    rows: list[tuple[str, str]] = []
    number = 0
    for part, count in PARTS.items():
        members = {}
        for _ in range(count):
            number += int(make.rng.integers(1, 4))
            gestures = (make.rng.integers(0, len(GESTURES), make.rng.integers(3, 15))).tolist()
            labeled = part.startswith("training")
            members[f"Sample{number:05d}.zip"] = _recording(make, number, gestures, labeled=labeled)
            if labeled:
                rows.append((f"{number:04d}", " ".join(str(gesture + 1) for gesture in gestures)))
        make.tar_gz(job.raw / f"{part}.tar.gz", members)
    rows = [rows[row] for row in make.rng.permutation(len(rows))]
    make.csv(job.raw / "training.csv", {"Id": [row[0] for row in rows], "Sequence": [row[1] for row in rows]})
    make.zip(job.raw / "sample_code_mmrgc.zip", {"readme.txt": b"Sample code"})
    readme = job.raw / "readme.txt"
    readme.write_text("Data of an earlier challenge")
    for name in ("devel01-40.7z", "valid_all_files_combined.7z"):
        seven_zip.pack(job.raw / name, [("readme.txt", readme)])
    readme.unlink()


def _recording(make: Miniature, number: int, gestures: list[int], *, labeled: bool) -> bytes:
    sound = np.concatenate([make.tone(0.03, RATE, PITCHES[gesture]) for gesture in gestures])
    frames = 20 * len(gestures)
    video: dict[str, Any] = {
        "NumFrames": frames,
        "FrameRate": 20,
        "Skeleton": make.rng.normal(0, 1, (len(gestures), 3)),
    }
    names = np.empty((1, len(gestures)), [("Name", object), ("Begin", object), ("End", object)])
    for index, gesture in enumerate(gestures):
        names[0, index] = (GESTURES[gesture], 20 * index + 1, 20 * index + 20)
    if labeled:
        video["Labels"] = names
    sample, content = f"Sample{number:05d}", io.BytesIO()
    members = {f"{sample}_audio.wav": make.wav(sound, RATE), f"{sample}_data.mat": _matlab(video)}
    members |= {f"{sample}_{kind}.mp4": make.rng.bytes(40) for kind in ("color", "depth", "user")}
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _matlab(video: dict[str, Any]) -> bytes:
    """Return a MATLAB file with a header that does not tell the time."""
    try:
        from scipy.io import savemat
    except ModuleNotFoundError:
        raise MissingDependency("MATLAB files", "mlebench") from None
    content = io.BytesIO()
    savemat(content, {"Video": video}, do_compression=True)
    return b"MATLAB 5.0 MAT-file".ljust(116) + content.getvalue()[116:]
