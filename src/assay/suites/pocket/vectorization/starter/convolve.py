"""Slide every filter over every image, one position at a time."""

import numpy as np


def convolve(images: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Return the response of each filter at each position of each image."""
    batch, height, width, _ = images.shape
    count, tall, wide, _ = filters.shape
    output = np.zeros((batch, height - tall + 1, width - wide + 1, count))
    for image in range(batch):
        for row in range(output.shape[1]):
            for column in range(output.shape[2]):
                for number in range(count):
                    window = images[image, row : row + tall, column : column + wide, :]
                    output[image, row, column, number] = np.sum(window * filters[number])
    return output
