"""A first try: a small LeNet-style convolutional network, five epochs with a high learning rate, no augmentation."""

import os

import numpy as np
import pandas as pd
import torch
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
EPOCHS = 5
BATCH = 128


def network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10),
    )  # fmt: skip


def normalised(images: np.ndarray) -> torch.Tensor:
    return (torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5


def predict(model: nn.Module, images: np.ndarray) -> torch.Tensor:
    model.eval()
    parts = range(0, len(images), 1000)
    with torch.no_grad():
        return torch.cat([model(normalised(images[start : start + 1000])).argmax(1) for start in parts])


torch.manual_seed(SEED)
images, labels = np.load("data/train_images.npy"), torch.from_numpy(np.load("data/train_labels.npy"))
order = torch.randperm(len(images))
kept, held_out = order[: int(0.9 * len(order))], order[int(0.9 * len(order)) :]

model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(1, EPOCHS + 1):
    model.train()
    for batch in kept[torch.randperm(len(kept))].split(BATCH):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(normalised(images[batch.numpy()])), labels[batch]).backward()
        optimizer.step()
    right = predict(model, images[held_out.numpy()]) == labels[held_out]
    print(f"epoch {epoch}, accuracy on held-out pictures: {right.float().mean():.4f}", flush=True)

predicted = predict(model, np.load("data/test_images.npy")).numpy()
pd.DataFrame({"index": range(len(predicted)), "label": predicted}).to_csv("submission.csv", index=False)
