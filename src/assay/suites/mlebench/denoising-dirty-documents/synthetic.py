"""A miniature of denoising-dirty-documents: pages of dark strokes, clean and with stains and grain."""

import numpy as np

from assay.data.job import SynthesisJob
from assay.data.miniature import Miniature, Pixels


def synthesize(job: SynthesisJob, make: Miniature) -> None:
    """Write 30 grayscale pages of two sizes, clean and dirty, in two archives under the same names."""
    numbers = make.rng.choice(np.arange(1, 217), 30, replace=False)
    clean = {f"{number}.png": page(make, 48 if number % 2 else 60) for number in numbers}
    for folder, pages in (
        ("train", {name: dirty(make, pixels) for name, pixels in clean.items()}),
        ("train_cleaned", clean),
    ):
        members = {f"{folder}/{name}": make.encode_image(pixels, ".png") for name, pixels in pages.items()}
        make.zip(job.raw / f"{folder}.zip", members)


def page(make: Miniature, height: int) -> Pixels:
    """Return lines of short dark strokes on white; a third of each line is ink."""
    pixels = np.full((height, 80), 255, np.uint8)
    for top in range(6, height - 6, 10):
        ink = make.rng.random((5, 70)) < 0.33
        pixels[top : top + 5, 5:75] = np.where(ink, make.rng.integers(0, 90, ink.shape), 255)
    return pixels


def dirty(make: Miniature, clean: Pixels) -> Pixels:
    """Return the page on stained paper: a slowly varying shade, and grain."""
    height, width = clean.shape
    across = np.sin(np.linspace(0, 3 * make.rng.random(), width)) * make.rng.uniform(30, 90)
    noisy = clean.astype(float) - across - make.rng.normal(20, 8, (height, width))
    return np.clip(noisy, 0, 255).astype(np.uint8)
