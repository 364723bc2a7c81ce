"""Reference solutions from slow to fast: bodies of `convolve`."""

from pathlib import Path

HEAD = '''"""A reference solution."""

import numpy as np


def convolve(images, filters):'''

SIZES = """
    batch, height, width, channels = images.shape
    count, tall, wide, _ = filters.shape
    rows, columns = height - tall + 1, width - wide + 1
"""

SOLUTIONS = {
    "starter": """
    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                for number in range(count):
                    window = images[image, row : row + tall, column : column + wide, :]
                    output[image, row, column, number] = np.sum(window * filters[number])
    return output
""",
    "window-taken-once": """
    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                window = images[image, row : row + tall, column : column + wide, :]
                for number in range(count):
                    output[image, row, column, number] = (window * filters[number]).sum()
    return output
""",
    "all-images-by-sum": """
    output = np.zeros((batch, rows, columns, count))
    for row in range(rows):
        for column in range(columns):
            window = images[:, row : row + tall, column : column + wide, :]
            for number in range(count):
                output[:, row, column, number] = (window * filters[number]).sum(axis=(1, 2, 3))
    return output
""",
    "flat-dot": """
    flat = filters.reshape(count, -1)
    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                window = images[image, row : row + tall, column : column + wide, :].ravel()
                for number in range(count):
                    output[image, row, column, number] = flat[number] @ window
    return output
""",
    "row-by-row": """
    output = np.zeros((batch, rows, columns, count))
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    for image in range(batch):
        for row in range(rows):
            for number in range(count):
                output[image, row, :, number] = (windows[image, row] * filters[number]).sum(axis=(1, 2, 3))
    return output
""",
    "all-filters-by-sum": """
    output = np.zeros((batch, rows, columns, count))
    for image in range(batch):
        for row in range(rows):
            for column in range(columns):
                window = images[image, row : row + tall, column : column + wide, :]
                output[image, row, column] = (filters * window).sum(axis=(1, 2, 3))
    return output
""",
    "einsum-per-position": """
    output = np.zeros((batch, rows, columns, count))
    for row in range(rows):
        for column in range(columns):
            window = images[:, row : row + tall, column : column + wide, :]
            output[:, row, column, :] = np.einsum("bhwc,nhwc->bn", window, filters)
    return output
""",
    "einsum-of-views": """
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2))
    return np.einsum("brcxhw,nhwx->brcn", windows, filters)
""",
    "matmul-per-position": """
    flat = filters.reshape(count, -1).T
    output = np.zeros((batch, rows, columns, count))
    for row in range(rows):
        for column in range(columns):
            windows = images[:, row : row + tall, column : column + wide, :].reshape(batch, -1)
            output[:, row, column, :] = windows @ flat
    return output
""",
    "tensordot-of-views": """
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2))
    return np.tensordot(windows, filters, axes=((3, 4, 5), (3, 1, 2)))
""",
    "one-matmul-per-image": """
    flat = filters.reshape(count, -1).T
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    tables = (image.reshape(rows * columns, -1) for image in windows)
    return np.stack([(table @ flat).reshape(rows, columns, count) for table in tables])
""",
    "one-matmul": """
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    table = windows.reshape(batch * rows * columns, -1)
    return (table @ filters.reshape(count, -1).T).reshape(batch, rows, columns, count)
""",
    "shifted-responses-single-precision": """
    # Every pixel against every tap of every filter at once; then add up the shifted responses.
    taps = filters.astype(np.float32).transpose(3, 1, 2, 0).reshape(channels, -1)
    responses = images.astype(np.float32).reshape(-1, channels) @ taps
    responses = responses.reshape(batch, height, width, tall, wide, count)
    output = np.zeros((batch, rows, columns, count), np.float32)
    for down in range(tall):
        for right in range(wide):
            output += responses[:, down : down + rows, right : right + columns, down, right]
    return output.astype(np.float64)
""",
    "one-matmul-single-precision": """
    images, filters = images.astype(np.float32), filters.astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    table = windows.reshape(batch * rows * columns, -1)
    return (table @ filters.reshape(count, -1).T).reshape(batch, rows, columns, count).astype(np.float64)
""",
    "image-at-a-time-single-precision": """
    images, flat = images.astype(np.float32), filters.reshape(count, -1).T.astype(np.float32)
    output = np.empty((batch, rows, columns, count))
    table = np.empty((rows, columns, tall, wide, channels), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(images, (tall, wide), axis=(1, 2)).transpose(0, 1, 2, 4, 5, 3)
    for image in range(batch):
        np.copyto(table, windows[image])
        output[image] = (table.reshape(rows * columns, -1) @ flat).reshape(rows, columns, count)
    return output
""",
}


def write_submission(body: str) -> None:
    Path("convolve.py").write_text(HEAD + SIZES + body.lstrip("\n"))
