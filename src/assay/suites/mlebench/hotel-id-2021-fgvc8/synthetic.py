"""A miniature of the hotel rooms: small photographs, brighter the further down the list of hotels."""

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature

HOTELS = [53585, 5, 1877, 24077, 36364, 40001, 59999, 64315, 9004, 112]
PHOTOS = 500


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Hotels that the sample submission does not name; one photograph is listed twice and has no file."""
    labels = make.labels(PHOTOS, len(HOTELS))
    names = [f"{id}.jpg" for id in make.hex_ids(PHOTOS, 16)]
    chains = [[0, 3, 87][label % 3] for label in labels]
    for name, label, chain in zip(names, labels, chains, strict=True):
        pixels = make.texture((24, 24, 3), 0.05 + 0.9 * label / len(HOTELS))
        make.image(job.raw / "train_images" / str(chain) / name, pixels)
    times = [f"2019-{1 + number % 12:02d}-05 20:{number % 60:02d}:17" for number in range(PHOTOS)]
    hotels = [HOTELS[label] for label in labels]
    table = {"image": names, "chain": chains, "hotel_id": hotels, "timestamp": times}
    twice = {"image": "ce27d36c9147cc19.jpg", "chain": 0, "hotel_id": 5, "timestamp": "2018-06-01 10:00:00"}
    make.csv(job.raw / "train.csv", {key: [twice[key], *values, twice[key]] for key, values in table.items()})
    make.csv(job.raw / "sample_submission.csv", {"image": ["99e91ad5f2870678.jpg"], "hotel_id": ["36363"]})
