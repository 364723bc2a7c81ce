"""Brain tissue: every third slice is for test, those between are for training; each has its own shading and noise."""

import gzip
import struct

import numpy as np
import polars as pl

from assay.data.job import PrepareJob
from assay.data.polars_tables import write
from assay.formats.png import write_png

FIRST, LAST, STEP = 40, 150, 2
NOISE = 0.06
SEED = 20279


def prepare(job: PrepareJob) -> None:
    """Write slices at half the resolution, with the mask of pixels that are mostly gray matter."""
    folder = job.raw / "nilearn/datasets/data"
    scan, gray = (
        read_volume((folder / f"mni_icbm152_{kind}_tal_nlin_sym_09a_converted.nii.gz").read_bytes())
        for kind in ("t1", "gm")
    )
    random = np.random.RandomState(SEED)
    levels = random.permutation(np.arange(FIRST, LAST, STEP))
    cut = len(levels) * 2 // 5
    answers = []
    for number, level in enumerate(levels):
        image, mask = halve(scan[:, :, level]), halve(gray[:, :, level]) > 0.5 * gray.max()
        side = "train" if number < cut else "test"
        name = f"{side}/{number:03d}.png"
        write_png(job.public / name, degrade(image / scan.max(), random))
        if side == "train":
            write_png(job.public / f"masks/{number:03d}.png", mask.astype(np.uint8) * 255)
        else:
            answers.append((name, encode(mask)))
    table = pl.DataFrame(answers, schema=["slice", "mask"], orient="row")
    write(table.select("slice"), job.public / "test.csv")
    write(table.select("slice", mask=pl.lit("1 1")), job.public / "sample_submission.csv")
    write(table, job.private / "answers.csv")


def read_volume(content: bytes) -> np.ndarray:
    """Return the voxels of a NIfTI-1 file of bytes, x first."""
    raw = gzip.decompress(content)
    shape = struct.unpack_from("<8h", raw, 40)[1:4]
    kind = {2: np.uint8, 4: np.int16, 16: np.float32}[struct.unpack_from("<h", raw, 70)[0]]
    start = int(struct.unpack_from("<f", raw, 108)[0])
    return (
        np.frombuffer(raw, kind, count=int(np.prod(shape)), offset=start).reshape(shape, order="F").astype(np.float64)
    )


def halve(plane: np.ndarray) -> np.ndarray:
    """Return means of 2 x 2 voxels of a plane, as rows from front to back, 116 x 98."""
    padded = np.zeros((196, 232))
    padded[:, :] = np.pad(plane, ((0, 0), (0, 0)))[:196, :232]
    return padded.reshape(98, 2, 116, 2).mean(axis=(1, 3)).T


def degrade(image: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return the image in bytes with smooth shading, another contrast, and noise."""
    rows, columns = np.meshgrid(np.linspace(-1, 1, image.shape[0]), np.linspace(-1, 1, image.shape[1]), indexing="ij")
    tilt = random.uniform(-0.35, 0.35, 5)
    shading = np.exp(
        tilt[0] * rows + tilt[1] * columns + tilt[2] * rows * columns + tilt[3] * rows**2 + tilt[4] * columns**2
    )
    noisy = (image ** random.uniform(0.8, 1.25)) * shading + random.normal(0, NOISE, image.shape)
    return (noisy.clip(0, 1.3) / 1.3 * 255).round().astype(np.uint8)


def encode(mask: np.ndarray) -> str:
    """Return the runs of a mask, counted from 1 down the columns: `start length start length ...`."""
    pixels = np.concatenate([[0], mask.T.ravel(), [0]]).astype(np.int8)
    edges = np.flatnonzero(np.diff(pixels)) + 1
    return " ".join(map(str, np.column_stack([edges[::2], edges[1::2] - edges[::2]]).ravel()))
