"""The forward pass of a convolution layer, one output at a time."""

import numpy as np

STRIDE = 2
PADDING = 2


def convolve(images: np.ndarray, filters: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Return the rectified response of each filter at every second position of each padded image."""
    batch, height, width, channels = images.shape
    count, tall, wide, _ = filters.shape
    padded = np.zeros((batch, height + 2 * PADDING, width + 2 * PADDING, channels))
    padded[:, PADDING : PADDING + height, PADDING : PADDING + width, :] = images
    rows = (height + 2 * PADDING - tall) // STRIDE + 1
    columns = (width + 2 * PADDING - wide) // STRIDE + 1
    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                for number in range(count):
                    top, left = row * STRIDE, column * STRIDE
                    window = padded[image, top : top + tall, left : left + wide, :]
                    response = np.sum(window * filters[number]) + biases[number]
                    output[image, row, column, number] = max(response, 0.0)
    return output
