"""Miniature raw data for 3d-object-detection-for-autonomous-vehicles: the points of a sweep are inside the boxes."""

import json
from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

LOGS = 20
SAMPLES = 4
CLASSES = {"car": (1.9, 4.7, 1.7), "pedestrian": (0.8, 0.8, 1.8), "bicycle": (0.6, 1.8, 1.4)}
SENSORS = ("CAM_FRONT", "LIDAR_TOP")


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Each drive has a few samples, a camera and a lidar; an object stays where it is for the whole drive."""
    tables: dict[str, list[dict[str, Any]]] = {
        "sensor": [{"token": name.lower(), "channel": name} for name in SENSORS],
        "category": [{"token": name, "name": name, "description": ""} for name in CLASSES],
        "attribute": [{"token": "parked", "name": "object_action_parked"}],
        "visibility": [{"token": "4", "level": "v80-100"}],
    }
    names = ("log", "sample", "sample_data", "calibrated_sensor", "ego_pose", "scene", "sample_annotation", "instance")
    tables |= {name: [] for name in names}
    rows = []
    tokens = iter(make.hex_ids(LOGS * 60, 64))
    for host, log in enumerate(make.hex_ids(LOGS, 64)):
        origin = make.rng.uniform(500, 2500, 2)
        tables["log"].append({"token": log, "vehicle": f"a{host:03}", "logfile": "", "map_token": "m"})
        tables["scene"].append({"token": log, "log_token": log, "nbr_samples": SAMPLES, "name": f"host-a{host:03}"})
        sensors = [
            {"token": next(tokens), "sensor_token": name.lower(), "translation": [1e-7, 0.0, 1.5]} for name in SENSORS
        ]
        tables["calibrated_sensor"] += sensors
        objects = [_place_object(make, next(tokens), origin) for _ in range(make.rng.integers(2, 5))]
        tables["instance"] += [{"token": each["token"], "category_token": each["name"]} for each in objects]
        for number in range(SAMPLES):
            sample, texts = next(tokens), []
            tables["sample"].append({"token": sample, "scene_token": log, "timestamp": 1.5e15 + number, "prev": None})
            pose = {"token": next(tokens), "translation": [*origin.tolist(), -20.0], "rotation": [1, 0, 0, 0]}
            tables["ego_pose"].append(pose)
            for each in objects:
                texts += [*map(str, each["center"]), *map(str, each["size"]), str(each["yaw"]), each["name"]]
                box = {"token": next(tokens), "sample_token": sample, "instance_token": each["token"]}
                tables["sample_annotation"].append(box | {"translation": each["center"], "size": each["size"]})
            rows.append((sample, " ".join(texts)))
            files = {
                "jpeg": f"images/host-a{host:03}_cam0_{number}.jpeg",
                "bin": f"lidar/host-a{host:03}_lidar1_{number}.bin",
            }
            for (kind, name), sensor in zip(files.items(), sensors, strict=True):
                record = {"token": next(tokens), "sample_token": sample, "ego_pose_token": pose["token"]}
                record |= {"calibrated_sensor_token": sensor["token"], "fileformat": kind, "filename": name}
                tables["sample_data"].append(record)
            make.image(job.raw / f"train_{files['jpeg']}", make.texture((16, 24, 3), len(objects) / 5))
            sweep = np.concatenate([_draw_points(make, each, origin) for each in objects])
            path = job.raw / f"train_{files['bin']}"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(sweep.astype("<f4").tobytes())
    logs = [log["token"] for log in tables["log"]]
    tables["map"] = [
        {"log_tokens": logs, "category": "semantic_prior", "filename": "maps/map_raster_palo_alto.png", "token": "m"}
    ]
    make.image(job.raw / "train_maps" / "map_raster_palo_alto.png", make.texture((32, 32), 0.5))
    for name, records in tables.items():
        path = job.raw / "train_data" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(records, indent=0))
    order = make.rng.permutation(len(rows))
    table = {name: [rows[row][column] for row in order] for column, name in enumerate(("Id", "PredictionString"))}
    make.csv(job.raw / "train.csv", table)


def _place_object(make: Miniature, token: str, origin: Any) -> dict[str, Any]:
    name = str(make.rng.choice(list(CLASSES)))
    size = (np.array(CLASSES[name]) * make.rng.uniform(0.9, 1.1)).round(3).tolist()
    center = [*(origin + make.rng.uniform(-30, 30, 2)).tolist(), float(make.rng.uniform(-20, -18))]
    return {"token": token, "name": name, "size": size, "center": center, "yaw": float(make.rng.uniform(-3, 3))}


def _draw_points(make: Miniature, each: dict[str, Any], origin: Any) -> Any:
    """Return points in a box as seen from the car, with an intensity and a ring number each."""
    width, length, height = each["size"]
    ahead, aside, up = (make.rng.uniform(-0.5, 0.5, (3, 20)).T * [length, width, height]).T
    cosine, sine = np.cos(each["yaw"]), np.sin(each["yaw"])
    x, y = (np.array(each["center"][:2]) - origin)[:, None]
    across = [x + ahead * cosine - aside * sine, y + ahead * sine + aside * cosine]
    return np.column_stack([*across, up + each["center"][2] + 20, np.full(20, 100.0), np.zeros(20)])
