"""A miniature of the species: small photographs, brighter the further down the list of categories."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

from .._shared.specimens import Specimens, write_json

SIZES = {3: 6, 9: 1, 400: 2, 12: 4, 1009: 5, 31: 45, 77: 3, 205: 45, 8: 45, 640: 45, 90: 30}
KINGDOMS = ["Plants", "Insects", "Birds"]


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Sizes that are split by each rule, and validation images that are in the same archive."""
    specimens = Specimens(make, SIZES)
    categories = [*specimens.draw(), *SIZES]
    names = make.hex_ids(len(categories), 32)
    photographs, images, annotations = {}, [], []
    for number, (category, name) in enumerate(zip(categories, names, strict=True)):
        path = f"train_val2019/{KINGDOMS[category % 3]}/{category}/{name}.jpg"
        photographs[path] = make.encode_image(specimens.photograph(category), ".jpg")
        owner = f"Zoë {make.words(1)}"
        images.append(
            {"id": number, "width": 16, "height": 24, "file_name": path, "license": 1.0, "rights_holder": owner}
        )
        annotations.append({"id": number, "image_id": number, "category_id": category})
    count = len(categories) - len(SIZES)
    for name, side in (("train2019", slice(count)), ("val2019", slice(count, None))):
        metadata = {
            "info": {"year": 2019, "contributor": "Café"},
            "images": images[side],
            "licenses": [{"id": 1, "name": "CC BY"}],
            "annotations": annotations[side],
            "categories": [{"id": category} for category in SIZES],
        }
        write_json(job.raw / f"{name}.json", metadata)
    make.tar_gz(job.raw / "train_val2019.tar.gz", photographs)
