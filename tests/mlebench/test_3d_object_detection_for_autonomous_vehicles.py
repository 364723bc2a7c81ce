import io
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shapely
from competition import (
    Competition,
    Files,
    Miniatures,
    Table,
    prepare_raw,
    read_prepared,
    read_table,
    split,
    to_csv,
    write_file,
)
from graders import align, require, require_columns
from shapely import affinity

from assay.core.errors import SourceError
from assay.grading import grade_submission

Box = tuple[float, np.ndarray, str]
THRESHOLDS = np.arange(10, 20) / 20
CAR = "1.0 10 10 0 2 4 1.5 0 car"
STRINGS = (
    CAR, f"{CAR} {CAR}", CAR.removesuffix(" car"), f"{CAR} 1", f" {CAR}", f"{CAR} ", CAR.replace(" ", "  ", 1), " ",
    CAR.replace("2", "-2"), CAR.replace("1.5", "0"), CAR.replace("car", "dragon").replace("2", "-2"), "x" + CAR,
    CAR.replace("10 10", "1e9 1e9"), CAR.replace("10 10 0", "1e9 1e9 0").replace("0 car", "0.3 car"),
    CAR.replace("1.0", "7"), CAR.replace("1.0", "-7"), CAR.replace(" ", "\t", 1),
    CAR.replace(" 0 car", " 1e3 car"), CAR.replace("1.0", "nan"), CAR.replace("1.0", "1e20"), CAR.replace("1.5", "inf"),
    CAR.replace("10 10 0", "10 10 inf"), CAR.replace("10 10", "inf 10"), CAR.replace("1.5", "nan"),
    CAR.replace("10 10 0", "10 10 nan"), CAR.replace("1.5", "nan").replace("car", "dragon"),
    CAR.replace(" 0 car", " inf dragon"), CAR.replace(" 0 car", " nan dragon"),
)  # fmt: skip
FULL = {"train_data": 13, "test_data": 11}


class Test3dObjectDetectionForAutonomousVehicles(Competition):
    name = "3d-object-detection-for-autonomous-vehicles"
    id = "Id"
    targets = ("PredictionString",)
    fixed_changes = ("public/train_data/map.json",)
    max_rows = 8

    def prepare_reference(self, raw: Path) -> Files:
        tables = {path.stem: json.loads(path.read_text()) for path in (raw / "train_data").glob("*.json")}
        sides = split([log["token"] for log in tables["log"]], test_size=0.2)
        boxes = pd.read_csv(io.StringIO((raw / "train.csv").read_text()))
        files: Files = {}
        train_instances = set()
        for side, logs in zip(("train", "test"), sides, strict=True):
            samples = [record for record in tables["sample"] if record["scene_token"] in logs]
            tokens = [record["token"] for record in samples]
            data = [record for record in tables["sample_data"] if record["sample_token"] in tokens]
            notes = [record for record in tables["sample_annotation"] if record["sample_token"] in tokens]
            poses = {record["token"]: record for record in tables["ego_pose"]}
            sensors = {record["token"]: record for record in tables["calibrated_sensor"]}
            public_tables = {
                "log": [record for record in tables["log"] if record["token"] in logs],
                "sample": samples,
                "sample_data": data,
                "scene": [record for record in tables["scene"] if record["log_token"] in logs],
                "ego_pose": [poses[record["ego_pose_token"]] for record in data],
                "calibrated_sensor": [
                    sensors[token] for token in dict.fromkeys(record["calibrated_sensor_token"] for record in data)
                ],
                "map": [tables["map"][0] | {"log_tokens": sides[1]}],
            }
            if side == "train":
                train_instances = {record["instance_token"] for record in notes}
                public_tables["sample_annotation"] = notes
                public_tables["instance"] = [
                    record for record in tables["instance"] if record["token"] in train_instances
                ]
            files |= {
                f"public/{side}_data/{name}.json": json.dumps(public_tables[name]).encode() for name in public_tables
            }
            for name in ("attribute", "category", "sensor", "visibility"):
                files[f"public/{side}_data/{name}.json"] = (raw / f"train_data/{name}.json").read_bytes()
            for record in data:
                folder = {"jpeg": "images", "bin": "lidar"}[record["fileformat"]]
                name = record["filename"].rpartition("/")[2]
                files[f"public/{side}_{folder}/{name}"] = (raw / f"train_{folder}" / name).read_bytes()
            files[f"public/{side}_maps/map_raster_palo_alto.png"] = (
                raw / "train_maps/map_raster_palo_alto.png"
            ).read_bytes()
            rows = boxes[boxes["Id"].isin(tokens)]
            if side == "train":
                files["public/train.csv"] = to_csv(rows)
            else:
                words = [np.array(text.split(" ")).reshape(-1, 8) for text in rows["PredictionString"]]
                texts = [" ".join(" ".join(["1.0", *group]) for group in groups) for groups in words]
                files["private/test.csv"] = to_csv(rows.assign(PredictionString=texts))
                sample = "".join(f"{id},\n" for id in rows["Id"])
                files["public/sample_submission.csv"] = f"Id,PredictionString\n{sample}".encode()
        return files

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        require_columns(submission, "Id", "PredictionString")
        predicted, true = align(submission, answers, "Id")
        rows = list(zip(true["PredictionString"], predicted["PredictionString"].fillna(""), strict=True))
        return float(np.mean([score for texts in rows for score in score_sample(*map(parse, texts))]))

    def _predict(self, row: dict[str, str], known: dict[str, list[str]], draw: random.Random) -> dict[str, str]:
        """The true boxes of the row, moved by chance, and some others."""
        boxes = [move(box, draw) for box in groups(row["PredictionString"]) if draw.random() < 0.8]
        boxes += [move(box, draw) for box in groups(draw.choice(known["PredictionString"]))[:1]]
        return {"PredictionString": " ".join(boxes)}

    def perturbations(self, table: Table, draw: random.Random) -> Iterator[tuple[str, str]]:
        yield from super().perturbations(table, draw)
        target = "PredictionString"
        for text in STRINGS:
            yield f"boxes {text!r}", table.change(lambda _: {target: text}, [1])  # noqa: B023
            more = table.change(lambda row: {target: f"{row[target]} {text}"}, [1, 2, 3])  # noqa: B023
            yield f"{text!r} at the end of rows", more
        yield "another class", table.change(lambda row: {target: row[target].replace("car", "bus")})
        for factor in (0.5, 0.9):
            yield f"heights times {factor}", table.change(lambda row: {target: lower(row[target], factor)})  # noqa: B023

    def test_false_boxes_of_an_absent_class_cost_nothing_in_v1_only(self, miniatures: Miniatures) -> None:
        scores = {}
        for edition in ("v1", "fixed"):
            prepared = miniatures.prepared(self.name, edition)
            answers = read_table((prepared.private / "test.csv").read_bytes())
            for label, more in (("perfect", ""), ("false", " 1 0 0 0 2 9 3 0 bus")):
                submission = to_csv(answers.assign(PredictionString=answers["PredictionString"] + more))
                scores[edition, label] = grade_submission(submission, prepared, home=miniatures.home).score
        assert scores["v1", "perfect"] == scores["v1", "false"] == scores["fixed", "perfect"] == 1
        assert scores["fixed", "false"] < 0.9

    def test_fixed_lists_the_logs_of_each_side_in_its_map(self, miniatures: Miniatures) -> None:
        listed = {}
        for edition in ("v1", "fixed"):
            files = read_prepared(miniatures.prepared(self.name, edition))
            for side in ("train", "test"):
                logs = {log["token"] for log in json.loads(files[f"public/{side}_data/log.json"])}
                listed[edition, side] = set(json.loads(files[f"public/{side}_data/map.json"])[0]["log_tokens"]) == logs
        assert listed == {
            ("v1", "train"): False,
            ("v1", "test"): True,
            ("fixed", "train"): True,
            ("fixed", "test"): True,
        }

    def test_raw_data_unlike_the_miniature(self, raw: Path) -> None:
        """Two drives that share a sensor and an object, poses used twice, other spellings of JSON, further columns."""
        write_raw(raw)
        files = prepare_raw(self.name, raw)
        assert files == self.prepare_reference(raw)
        for folder, count in FULL.items():
            assert len([path for path in files if path.startswith(f"public/{folder}/")]) == count

    def test_all_that_is_missing_is_named_at_once(self, raw: Path) -> None:
        write_raw(raw)
        (raw / "train_maps/map_raster_palo_alto.png").unlink()
        (raw / "train_data/instance.json").unlink()
        with pytest.raises(SourceError, match=r"missing train_data/instance\.json, .*/map_raster_palo_alto\.png"):
            prepare_raw(self.name, raw)

    def test_a_record_of_no_sample_is_refused(self, raw: Path) -> None:
        write_raw(raw)
        write_file(raw / "train_data/sample_annotation.json", b'[{"sample_token": "lost", "instance_token": "o"}]')
        with pytest.raises(SourceError, match="'lost'"):
            prepare_raw(self.name, raw)


def write_raw(raw: Path) -> None:
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in ("log", "scene", "sample", "sample_data")}
    tables |= {name: [{"token": f"ä/{name}"}] for name in ("attribute", "category", "sensor", "visibility")}
    tables["map"] = [{"token": "m", "log_tokens": ["?"], "scale": 1.50}]
    tables["instance"] = [{"token": "shared", "x": None}, *({"token": log} for log in "ab")]
    tables["calibrated_sensor"] = [{"token": "s2", "x": 1e-7}, {"token": "s1", "x": 10**20}]
    tables["ego_pose"] = [{"token": f"{log}{n}"} for n in range(2) for log in "ab"]
    tables["sample_annotation"] = []
    lines = ["Id,PredictionString,number,note"]
    for log in "ab":
        tables["log"].append({"token": log})
        tables["scene"].append({"token": "other", "log_token": log})
        for n in range(2):
            tables["sample"].append({"token": f"{log}-{n}", "scene_token": log})
            for instance in ("shared", log):
                tables["sample_annotation"].append({"sample_token": f"{log}-{n}", "instance_token": instance})
            for sensor, kind in (("s1", "jpeg"), ("s2", "bin")):
                name = f"{log}_{n}.{kind}"
                tables["sample_data"].append(
                    {"sample_token": f"{log}-{n}", "calibrated_sensor_token": sensor, "ego_pose_token": f"{log}{n}"}
                    | {"fileformat": kind, "filename": f"deep/er/{name}"}
                )
                write_file(raw / ("train_images" if kind == "jpeg" else "train_lidar") / name, name.encode())
            lines.append(f'{log}-{n},1.0 2 3 4 5 6 7.50 car 1 2 3 4 5 6 7 bus,{n}.50,"a\r\nb"')
    write_file(raw / "train.csv", "\r\n".join([*lines, ""]).encode())
    write_file(raw / "train_maps/map_raster_palo_alto.png", b"map")
    for name, records in tables.items():
        write_file(raw / f"train_data/{name}.json", json.dumps(records, indent=3, ensure_ascii=False).encode())


def groups(text: str) -> list[str]:
    words = text.split(" ")
    return [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]


def move(box: str, draw: random.Random) -> str:
    _, *numbers, name = box.split(" ")
    moved = [float(number) + draw.gauss(0, 0.1) for number in numbers[:3]]
    return " ".join([str(round(draw.random(), 1)), *map(str, moved), *numbers[3:], name])


def lower(text: str, factor: float) -> str:
    words = [box.split(" ") for box in groups(text)]
    return " ".join(" ".join([*box[:6], str(float(box[6]) * factor), *box[7:]]) for box in words)


def parse(text: str) -> list[Box]:
    if not text.strip():
        return []
    words = text.split(" ")
    require(len(words) % 9 == 0 and not np.isinf([float(word) for word in words[7::9]]).any())
    return [
        (float(words[at]), np.array([float(word) for word in words[at + 1 : at + 8]]), words[at + 8])
        for at in range(0, len(words), 9)
    ]


def score_sample(truth: list[Box], predicted: list[Box]) -> list[float]:
    areas = []
    for name in sorted({box[2] for box in truth}):
        true = [numbers for _, numbers, label in truth if label == name]
        ranked = sorted((box for box in predicted if box[2] == name), key=lambda box: -box[0])
        overlaps = [[overlap(numbers, other) for other in true] for _, numbers, _ in ranked]
        areas.append([average_precision(overlaps, len(true), threshold) for threshold in THRESHOLDS])
    return np.mean(areas, axis=0).tolist()


def average_precision(overlaps: list[list[float]], count: int, threshold: float) -> float:
    free, hits = [True] * count, []
    for row in overlaps:
        best = int(np.argmax(row))
        hits.append(row[best] > threshold and free[best])
        free[best] = free[best] and not hits[-1]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return sum(precision[index:].max() / count for index, hit in enumerate(hits) if hit)


def has_right_angles(x: float, y: float, width: float, length: float, yaw: float) -> bool:
    """Whether the corners of a box, rounded as numbers are so far from 0, still form right angles."""
    ahead, aside = length / 2 * np.array([np.cos(yaw), np.sin(yaw)]), width / 2 * np.array([-np.sin(yaw), np.cos(yaw)])
    corners = [np.array([x, y]) + front * ahead + side * aside for front, side in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    sides = [corners[index] - corners[index - 1] for index in range(4)]
    return all(np.isclose(sides[index] @ sides[index - 1], 0) for index in range(4))


def overlap(left: np.ndarray, other: np.ndarray) -> float:
    require(not np.isnan(np.concatenate([left, other])).any())
    floors = []
    for x, y, _, width, length, height, yaw in (left, other):
        require(width > 0 and length > 0 and height > 0 and has_right_angles(x, y, width, length, yaw))
        flat = affinity.rotate(
            shapely.box(-length / 2, -width / 2, length / 2, width / 2), yaw, (0, 0), use_radians=True
        )
        floors.append(affinity.translate(flat, x - other[0], y - other[1]))
    shared = max(
        0, min(box[2] + box[5] / 2 for box in (left, other)) - max(box[2] - box[5] / 2 for box in (left, other))
    )
    common = floors[0].intersection(floors[1]).area * shared
    return common / (np.prod(left[3:6]) + np.prod(other[3:6]) - common)
