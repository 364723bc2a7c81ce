"""The forward pass of a convolution layer in numpy, one window at a time, and how long it takes."""

import csv
import time

import numpy as np


def relu(x: np.ndarray) -> np.ndarray:
    """Return the array with 0 in place of everything below 0."""
    return x * (x > 0)


def add_padding(X: np.ndarray, pad_size: int | tuple[int, int], pad_val: float = 0) -> np.ndarray:
    """Pad images on all four sides.

    Args:
        X: Images of shape [batch, height, width, channels].
        pad_size: How many pixels to add on each side, one number or one for height and one for width.
        pad_val: The value of the new pixels.
    """
    if X.ndim != 4:
        raise ValueError("images must have the shape [batch, height, width, channels]")
    y_pad, x_pad = (pad_size, pad_size) if isinstance(pad_size, int) else pad_size
    pad_width = ((0, 0), (y_pad, y_pad), (x_pad, x_pad), (0, 0))
    return np.pad(X, pad_width=pad_width, mode="constant", constant_values=pad_val)


class Conv2DLayer:
    """A two-dimensional convolution with random weights."""

    def __init__(
        self,
        input_channels: int,
        num_filters: int,
        kernel_size: int,
        stride: int,
        padding: int | None,
        activation: str | None = "relu",
    ) -> None:
        """Draw the weights.

        Args:
            input_channels: Channels of the images that come in.
            num_filters: Filters, each of which makes one channel of the output.
            kernel_size: Height and width of each filter.
            stride: Pixels between the positions of a filter, in both directions.
            padding: Pixels to add on each side of an image; None adds none.
            activation: `relu`, or None to leave the output as it is.
        """
        self.kernel_matrices = np.random.randn(kernel_size, kernel_size, input_channels, num_filters)
        self.biases = np.random.randn(1, 1, 1, num_filters)
        self.stride = stride
        self.padding = padding
        self.activation = activation

    def convolution_step(self, image_portion: np.ndarray, kernel_matrix: np.ndarray, bias: np.ndarray) -> float:
        """Return what one filter makes of one window.

        Args:
            image_portion: The window, of shape [kernel_size, kernel_size, channels].
            kernel_matrix: The weights of the filter, of the same shape.
            bias: The bias of the filter, a single number in an array.
        """
        if image_portion.shape != kernel_matrix.shape:
            raise ValueError("the window and the filter must have the same shape")
        return float(np.sum(np.multiply(image_portion, kernel_matrix)) + bias.item())

    def forward(self, features_batch: np.ndarray) -> np.ndarray:
        """Return the output of all filters at all positions of all images.

        Args:
            features_batch: Images of shape [batch, height, width, channels].
        """
        padding_size = self.padding if isinstance(self.padding, int) else 0
        batch_size, h_old, w_old, _ = features_batch.shape
        filter_size, _, _, num_of_filters = self.kernel_matrices.shape

        h_new = int((h_old + 2 * padding_size - filter_size) / self.stride) + 1
        w_new = int((w_old + 2 * padding_size - filter_size) / self.stride) + 1

        padded_batch = add_padding(features_batch, padding_size)
        output = np.zeros([batch_size, h_new, w_new, num_of_filters])

        for index in range(batch_size):
            padded_feature = padded_batch[index, :, :, :]
            for h in range(h_new):
                for w in range(w_new):
                    for filter_index in range(num_of_filters):
                        vertical_start = h * self.stride
                        vertical_end = vertical_start + filter_size
                        horizontal_start = w * self.stride
                        horizontal_end = horizontal_start + filter_size

                        image_portion = padded_feature[vertical_start:vertical_end, horizontal_start:horizontal_end, :]
                        kernel_matrix = self.kernel_matrices[:, :, :, filter_index]
                        bias = self.biases[:, :, :, filter_index]
                        output[index, h, w, filter_index] = self.convolution_step(image_portion, kernel_matrix, bias)

        return relu(output) if self.activation == "relu" else output


if __name__ == "__main__":
    batch_features = np.random.randn(32, 64, 64, 3)

    start_time = time.time()
    cnn = Conv2DLayer(3, 8, 3, 2, 2, "relu")
    pre_output = cnn.forward(batch_features)
    interval_time = time.time() - start_time
    print(f"Time taken for execution: {interval_time} s")

    with open("submission.csv", "a+", newline="") as file:
        csv.writer(file, delimiter=";").writerow([interval_time])
