"""Predict which categories of animals an image of the sea floor shows, with a plain convolutional network."""

import ast
import json

import numpy as np
import pandas as pd
import torch
from PIL import Image
from sklearn.model_selection import train_test_split
from torch import nn

IMAGE_DIR = "images/"
SIZE = 256
EPOCH = 1
BATCH_SIZE = 64
N_CLASSES = 290


def label_map(category: str, n_classes: int = N_CLASSES) -> list[int]:
    """Return a 1 at the position of each category of a list such as `[1.0, 9.0]`."""
    labels = [0] * n_classes
    for category_id in ast.literal_eval(category):
        labels[int(category_id) - 1] = 1
    return labels


def load_img(file_name: str) -> np.ndarray:
    """Return an image as numbers from 0 to 1, channels first."""
    with Image.open(IMAGE_DIR + file_name) as img:
        pixels = np.asarray(img.convert("RGB").resize((SIZE, SIZE)), dtype=np.float32) / 255
    return pixels.transpose(2, 0, 1)


def block(inputs: int, filters: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, filters, 5), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(filters), nn.Dropout(0.2)]


if __name__ == "__main__":
    # Load all images.
    train_df = pd.read_csv("multilabel_classification/train.csv")
    X = torch.from_numpy(np.stack([load_img(f"{name}.png") for name in train_df["id"]]))
    y = torch.tensor(train_df["categories"].apply(label_map).to_list(), dtype=torch.float32)
    kept, held_out = train_test_split(np.arange(len(X)), random_state=20, test_size=0.3)

    # Define the model.
    model = nn.Sequential(
        *block(3, 16), *block(16, 32), *block(32, 64), *block(64, 64), nn.Flatten(),
        nn.LazyLinear(128), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, N_CLASSES),
    )  # fmt: skip
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device).eval()(X[:1].to(device))  # sets the width of the first dense layer

    # Train it: one binary decision for each category.
    optimizer = torch.optim.Adam(model.parameters())
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(EPOCH):
        model.train()
        for batch in torch.from_numpy(np.random.permutation(kept)).split(BATCH_SIZE):
            optimizer.zero_grad()
            loss = criterion(model(X[batch].to(device)), y[batch].to(device))
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            parts = torch.from_numpy(held_out).split(BATCH_SIZE)
            predicted = torch.cat([model(X[part].to(device)).cpu() for part in parts])
        val_loss = criterion(predicted, y[held_out]).item()
        print(f"Epoch {epoch + 1}/{EPOCH} - loss: {loss.item():.4f} - val_loss: {val_loss:.4f}")

    # Predict the categories of the test images and write them to submission.csv.
    with open("object_detection/eval.json") as file:
        valid_df = pd.DataFrame(json.load(file)["images"])
    threshold = 0.5
    predict_list = []
    for _ in range(len(valid_df)):
        img = torch.from_numpy(load_img(valid_df["file_name"][0]))[None]
        with torch.no_grad():
            proba = torch.sigmoid(model(img.to(device)))[0]
        predict_list.append([number + 1 for number, chance in enumerate(proba.tolist()) if chance >= threshold])

    valid_id = [name[:-4] for name in valid_df["file_name"]]
    submission = pd.DataFrame({"id": valid_id, "categories": predict_list, "osd": 1})
    submission.to_csv("submission.csv", index=False)
