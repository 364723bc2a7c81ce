"""A miniature of the specimens: small photographs, brighter the further down the list of taxa."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.specimens import Specimens, write_json

SIZES = {42: 6, 3: 2, 15504: 4, 100: 31, 7: 5, 1200: 30, 512: 30, 10001: 30, 88: 3}


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Ids in the form of the real ones. Every taxon has at least two specimens, as in the real data."""
    specimens = Specimens(make, SIZES)
    images, annotations = [], []
    counts = dict.fromkeys(SIZES, 0)
    for category in specimens.draw():
        counts[category] += 1
        id = f"{category:05d}__{counts[category]:03d}"
        name = f"{category // 100:03d}/{category % 100:02d}/{id}.jpg"
        make.image(job.raw / "train_images" / name, specimens.photograph(category))
        images.append({"image_id": id, "file_name": name, "license": 0})
        annotations.append(
            {"genus_id": category % 5, "category_id": category, "institution_id": len(images) % 3, "image_id": id}
        )
    metadata = {
        "annotations": annotations,
        "images": images,
        "categories": [{"category_id": id, "scientificName": f"Übelia {make.words(1)}"} for id in SIZES],
        "genera": [{"genus_id": id, "genus": make.words(1)} for id in range(5)],
        "distances": [{"genus_id_x": 0, "genus_id_y": id, "distance": 28.412500000000005 * id} for id in range(1, 5)],
        "institutions": [{"institution_id": id, "collectionCode": f"C{id}"} for id in range(3)],
        "license": [{"id": 0, "name": "CC BY"}],
    }
    write_json(job.raw / "train_metadata.json", metadata)
