"""iNaturalist 2019: photographs of living things, split species by species and packed into tar files."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from assay.core.errors import SourceError
from assay.data import files
from assay.data.job import PrepareJob
from assay.formats.coco import read_coco, write_coco
from assay.formats.tar import pack_tar, unpack_tar

from .._shared.coco_split import (
    check_keys,
    hide_answers,
    list_categories,
    replace_pairs,
    split_by_category,
    write_answers,
)


def prepare(job: PrepareJob) -> None:
    """Test images keep their ids. The published archives lack the validation images, which `fixed` adds."""
    coco = read_coco(job.raw / "train2019.json")
    check_keys(coco, {"annotations", "categories", "images", "info", "licenses"})
    train, test = split_by_category(coco, test=0.12)
    kept = [image["file_name"] for image, _ in train]
    if job.edition == "fixed":
        kept += [image["file_name"] for image in read_coco(job.raw / "val2019.json")["images"]]
    test_names = {image["file_name"]: image["file_name"].split("/")[-1] for image, _ in test}
    if len(set(test_names.values())) < len(test):
        raise SourceError("train2019.json has two images of the same name")
    test_images = [{**image, "file_name": f"test2019/{test_names[image['file_name']]}"} for image, _ in test]
    write_coco(replace_pairs(coco, train), job.public / "train2019.json")
    write_coco(hide_answers(coco, test_images), job.public / "test2019.json")
    files.copy([(job.raw / "val2019.json", job.public / "val2019.json")])
    answers = pd.DataFrame({"id": [image["id"] for image, _ in test], "predicted": list_categories(test)})
    write_answers(job, answers, sample=654, name="kaggle_sample_submission.csv")
    with TemporaryDirectory(dir=job.public) as scratch:
        folder = _find_images(job.raw, [*kept, *test_names], Path(scratch))
        members = [(name.removeprefix("train_val2019/"), folder / name) for name in kept]
        pack_tar(job.public / "train_val2019.tar.gz", members)
        pack_tar(job.public / "test2019.tar.gz", [(new, folder / old) for old, new in test_names.items()])


def _find_images(raw: Path, names: list[str], scratch: Path) -> Path:
    """Return the folder that image names are relative to: the raw folder if its archive is unpacked already."""
    if (raw / "train_val2019").is_dir():
        return raw
    unpack_tar(raw / "train_val2019.tar.gz", {name: scratch / name for name in names})
    return scratch
