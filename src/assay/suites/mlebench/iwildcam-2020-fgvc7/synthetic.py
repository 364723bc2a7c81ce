"""A miniature of the camera traps: small photographs, brighter the further down the list of animals."""

from typing import Any

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.specimens import write_json

CATEGORIES = [0, 2, 10, 71, 96, 111, 372, 673]
SIZES = [40, 5, 60, 12, 25, 8, 33, 17, 50, 9, 21, 14, 45, 6, 30, 25]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Locations of very different size, so that some change sides; every tenth photograph shows two animals."""
    locations = make.rng.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    labels = make.labels(len(locations), len(CATEGORIES))
    ids = [f"{id[:8]}-21bc-11ea-{id[8:]}" for id in make.hex_ids(len(locations), 20)]
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, (id, label, location) in enumerate(zip(ids, labels, locations, strict=True)):
        make.image(job.raw / "train" / f"{id}.jpg", make.texture((24, 32, 3), 0.05 + 0.9 * label / len(CATEGORIES)))
        time = f"2013-10-04 13:{number % 60:02d}:00.000"
        images.append(
            {"seq_num_frames": 6, "location": int(location), "datetime": time, "id": id, "frame_num": number % 6,
             "seq_id": f"s{number // 6}", "width": 32, "height": 24, "file_name": f"{id}.jpg"}
        )  # fmt: skip
        for category in [label, (label + 1) % len(CATEGORIES)][: 2 if number % 10 == 0 else 1]:
            annotations.append(
                {"count": 1, "image_id": id, "id": f"a{len(annotations)}", "category_id": CATEGORIES[category]}
            )
    categories = [{"id": id, "name": make.words(1), "count": id} for id in CATEGORIES]
    train = {"annotations": annotations, "images": images, "categories": categories, "info": {"note": "Ñandú"}}
    test = {"images": [], "categories": categories, "info": {"note": "Ñandú"}}
    write_json(job.raw / "iwildcam2020_train_annotations.json", train)
    write_json(job.raw / "iwildcam2020_test_information.json", test)
    detections = [
        {"id": id, "detections": [{"category": "1", "bbox": [0.1, 0.2, 0.3, 0.4], "conf": 0.9}]} for id in ids
    ]
    write_json(job.raw / "iwildcam2020_megadetector_results.json", {"images": detections})
