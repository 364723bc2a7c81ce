"""Reference solutions from slow to fast: bodies of `convolve`."""

from pathlib import Path

HEAD = '''"""A reference solution."""

import numpy as np


def convolve(images, filters, biases):'''

SIZES = """
    batch, height, width, channels = images.shape
    count, tall, wide, _ = filters.shape
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2), (0, 0)))
    rows, columns = (height + 4 - tall) // 2 + 1, (width + 4 - wide) // 2 + 1
"""

SOLUTIONS = {
    "all-filters-at-once": """
    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                window = padded[image, 2 * row : 2 * row + tall, 2 * column : 2 * column + wide, :]
                output[image, row, column] = (filters * window).sum(axis=(1, 2, 3))
    return np.maximum(output + biases, 0)
""",
    "matmul-per-position": """
    flat = filters.reshape(count, -1).T
    output = np.zeros((batch, rows, columns, count))
    for row in range(rows):
        for column in range(columns):
            windows = padded[:, 2 * row : 2 * row + tall, 2 * column : 2 * column + wide, :]
            output[:, row, column, :] = windows.reshape(batch, -1) @ flat
    return np.maximum(output + biases, 0)
""",
    "tensordot-of-views": """
    windows = np.lib.stride_tricks.sliding_window_view(padded, (tall, wide), axis=(1, 2))[:, ::2, ::2]
    return np.maximum(np.tensordot(windows, filters, axes=((3, 4, 5), (3, 1, 2))) + biases, 0)
""",
    "one-matmul-single-precision": """
    padded, flat = padded.astype(np.float32), filters.reshape(count, -1).T.astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (tall, wide), axis=(1, 2))[:, ::2, ::2]
    table = windows.transpose(0, 1, 2, 4, 5, 3).reshape(batch * rows * columns, -1)
    responses = table @ flat
    responses += biases.astype(np.float32)
    return np.maximum(responses, 0).reshape(batch, rows, columns, count).astype(np.float64)
""",
}


def write_submission(body: str) -> None:
    Path("convolve.py").write_text(HEAD + SIZES + body.lstrip("\n"))
