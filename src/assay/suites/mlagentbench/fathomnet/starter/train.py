"""A first try: a plain network with four convolutions on small images, trained for one epoch."""

import os
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch import nn

SEED = int(os.environ.get("SEED", "0"))
SIDE = 256
BATCH = 32
KINDS = 290


def block(inside: int, outside: int) -> list[nn.Module]:
    return [nn.Conv2d(inside, outside, 3), nn.ReLU(), nn.MaxPool2d(2)]


def picture(path: str) -> torch.Tensor:
    with Image.open(f"data/{path}") as file:
        pixels = np.asarray(file.convert("RGB").resize((SIDE, SIDE)), dtype=np.float32) / 255
    return torch.from_numpy(pixels).permute(2, 0, 1)


def batches(table: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, torch.Tensor]]:
    for start in range(0, len(table), BATCH):
        rows = table.iloc[start : start + BATCH]
        yield rows, torch.stack([picture(path) for path in rows["image"]])


def wanted(rows: pd.DataFrame) -> torch.Tensor:
    """Return for each row a 1 at the position of every category in the image."""
    places = torch.zeros(len(rows), KINDS)
    for row, text in enumerate(rows["categories"]):
        places[row, [int(word) - 1 for word in text.split()]] = 1
    return places


def said(chances: np.ndarray) -> str:
    """Return the categories with a probability above one half, or else the most likely one."""
    sure = np.flatnonzero(chances > 0.5)
    return " ".join(str(kind + 1) for kind in (sure if len(sure) else [chances.argmax()]))


torch.manual_seed(SEED)
train, test = (pd.read_csv(f"data/{part}.csv", dtype=str) for part in ("train", "test"))
train = train.sample(frac=1, random_state=SEED)
held_out, kept = train[: len(train) // 10], train[len(train) // 10 :]
model = nn.Sequential(
    *block(3, 8), *block(8, 16), *block(16, 32), *block(32, 32), nn.Flatten(),
    nn.LazyLinear(128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, KINDS),
)  # fmt: skip
model(torch.zeros(1, 3, SIDE, SIDE))  # sets the width of the first layer after the convolutions
optimizer = torch.optim.Adam(model.parameters())
loss_of = nn.BCEWithLogitsLoss()

for rows, pictures in batches(kept):
    loss = loss_of(model(pictures), wanted(rows))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    losses = [loss_of(model(pictures), wanted(rows)).item() for rows, pictures in batches(held_out)]
    print(f"loss on the held-out tenth: {np.mean(losses):.4f}")
    chances = np.concatenate([torch.sigmoid(model(pictures)).numpy() for _, pictures in batches(test)])
test["categories"] = [said(row) for row in chances]
test[["id", "categories"]].to_csv("submission.csv", index=False)
