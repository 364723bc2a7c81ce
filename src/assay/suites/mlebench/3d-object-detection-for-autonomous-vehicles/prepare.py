"""Lyft 3D object detection: drives split at random, and everything that belongs to a drive follows it.

Tables are lists of records that refer to each other by token, read one by one: the largest has hundreds of megabytes.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from assay.core.errors import SourceError
from assay.data import files, pandas_tables
from assay.data.job import PrepareJob
from assay.data.splits import random_rows
from assay.formats.json_list import Record, read_json_list, split_json_list, write_json_list

SIDES = ("train", "test")
MAP = "map_raster_palo_alto.png"
FOLDERS = {"jpeg": "images", "bin": "lidar"}
COPIED = ("attribute", "category", "sensor", "visibility")
SPLIT = (
    "log", "sample", "sample_data", "calibrated_sensor", "ego_pose", "map", "scene", "sample_annotation", "instance",
)  # fmt: skip
WORDS = 8


def prepare(job: PrepareJob) -> None:
    """Split the tables in the order in which they depend on each other, then copy the files that they name."""
    tables = [f"train_data/{name}.json" for name in (*SPLIT, *COPIED)]
    files.check_complete(job.raw, ["train.csv", *tables, "train_images", "train_lidar", f"train_maps/{MAP}"])
    tokens = [log["token"] for log in _read(job, "log")]
    rows = random_rows(len(tokens), test=0.2, seed=0)
    logs = {side: [tokens[row] for row in part] for side, part in zip(SIDES, rows, strict=True)}
    log_side = {token: side for side in SIDES for token in logs[side]}
    _split(job, "log", lambda log: log_side[log["token"]])
    _split(job, "scene", lambda scene: _find(log_side, scene["log_token"]))
    _split(job, "sample", lambda sample: _find(log_side, sample["scene_token"]))
    sample_side = {sample["token"]: log_side[sample["scene_token"]] for sample in _read(job, "sample")}
    _write_boxes(job, sample_side)
    _split_sample_data(job, sample_side)
    _split(job, "sample_annotation", lambda box: _find(sample_side, box["sample_token"]), hidden="test")
    instances = {box["instance_token"] for box in read_json_list(_table(job.public, "sample_annotation"))}
    _split(job, "instance", lambda instance: SIDES[instance["token"] not in instances], hidden="test")
    (area,) = _read(job, "map")
    for side in SIDES:
        with write_json_list(_table(job.public, "map", side)) as append:
            append({**area, "log_tokens": logs[side if job.edition == "fixed" else "test"]})
        files.copy((_table(job.raw, name), _table(job.public, name, side)) for name in COPIED)
        files.copy([(job.raw / "train_maps" / MAP, job.public / f"{side}_maps" / MAP)])


def _table(folder: Path, name: str, side: str = "train") -> Path:
    return folder / f"{side}_data" / f"{name}.json"


def _read(job: PrepareJob, name: str) -> Iterator[Record]:
    return read_json_list(_table(job.raw, name))


def _split(job: PrepareJob, name: str, choose: Callable[[Record], str], hidden: str | None = None) -> None:
    """Write each record of a table to the side that `choose` returns for it, or not at all if that side is hidden."""
    targets = {side: _table(job.public, name, side) for side in SIDES if side != hidden}
    split_json_list(_table(job.raw, name), targets, choose)


def _find(sides: Mapping[str, str], token: str) -> str:
    if token not in sides:
        raise SourceError(f"a table of train_data refers to the token {token!r}, which does not exist")
    return sides[token]


def _write_boxes(job: PrepareJob, sample_side: Mapping[str, str]) -> None:
    with (job.raw / "train.csv").open(encoding="utf-8") as file:  # as text, in which every line end is a line feed
        boxes = pandas_tables.read(file)
    if len(boxes) != len(sample_side) or set(boxes["Id"]) != set(sample_side):
        raise SourceError("train.csv must have one row for each sample of sample.json")
    in_test = boxes["Id"].map(sample_side) == "test"
    answers = boxes[in_test].copy()
    answers["PredictionString"] = [_add_confidence(text) for text in answers["PredictionString"]]
    sample = pandas_tables.sample(answers, "Id", {"PredictionString": ""})
    pandas_tables.write(boxes[~in_test], job.public / "train.csv")
    pandas_tables.write(sample, job.public / "sample_submission.csv")
    pandas_tables.write(answers, job.private / "test.csv")


def _add_confidence(text: object) -> str:
    words = str(text).split(" ")
    if len(words) % WORDS:
        raise SourceError(f"train.csv has boxes that are not groups of {WORDS} words: {str(text)[:40]!r}")
    return " ".join(" ".join(["1.0", *words[at : at + WORDS]]) for at in range(0, len(words), WORDS))


def _split_sample_data(job: PrepareJob, sample_side: Mapping[str, str]) -> None:
    """Split sample_data, and what it uses in the order of its use: each sensor once, but a pose each time."""
    _split(job, "sample_data", lambda record: _find(sample_side, record["sample_token"]))
    sensors, poses = (
        {record["token"]: record for record in _read(job, name)} for name in ("calibrated_sensor", "ego_pose")
    )
    for side in SIDES:
        used: dict[str, None] = {}
        names: dict[str, set[str]] = {folder: set() for folder in FOLDERS.values()}
        with write_json_list(_table(job.public, "ego_pose", side)) as append:
            for record in read_json_list(_table(job.public, "sample_data", side)):
                append(poses[record["ego_pose_token"]])
                used[record["calibrated_sensor_token"]] = None
                names[FOLDERS[record["fileformat"]]].add(Path(record["filename"]).name)
        with write_json_list(_table(job.public, "calibrated_sensor", side)) as append:
            for token in used:
                append(sensors[token])
        for folder, file_names in names.items():
            (job.public / f"{side}_{folder}").mkdir()
            files.copy_by_id(job.raw / f"train_{folder}", job.public / f"{side}_{folder}", file_names, "")
