"""Train a small convolutional network on CIFAR-10 and write its class probabilities for the test images."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FOLDER = Path("data/cifar-10-batches-bin")
EPOCHS = 5
BATCH_SIZE = 128


class Net(nn.Module):
    """Two convolutions with pooling, then three dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        found = self.pool(F.relu(self.conv1(images)))
        found = self.pool(F.relu(self.conv2(found)))
        found = F.relu(self.fc1(found.flatten(1)))
        found = F.relu(self.fc2(found))
        return self.fc3(found)


def load_images(*batches: str) -> TensorDataset:
    """Read batches: images as numbers from -1 to 1, and labels, which are 255 for the test images."""
    content = b"".join((FOLDER / f"{batch}.bin").read_bytes() for batch in batches)
    records = np.frombuffer(content, np.uint8).reshape(-1, 1 + 3 * 32 * 32)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return TensorDataset((images.float() / 255 - 0.5) / 0.5, torch.from_numpy(records[:, 0].astype(np.int64)))


device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
train_dataset = load_images("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
test_dataset = load_images("test_batch")
train_dataloader = DataLoader(train_dataset, batch_size=BATCH_SIZE, shuffle=True, drop_last=True)

model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def test_model(dataloader: DataLoader) -> float:
    """Return the accuracy in per cent; the test images have no labels here."""
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for images, labels in dataloader:
            predicted = model(images.to(device)).argmax(dim=1)
            correct += int((predicted == labels.to(device)).sum())
            total += len(labels)
    return 100 * correct / total


for epoch in range(EPOCHS):
    model.train()
    running_loss = 0.0
    for number, (images, labels) in enumerate(train_dataloader, 1):
        optimizer.zero_grad()
        loss = criterion(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if number % 100 == 0:
            print(f"[{epoch + 1}, {number:5d}] loss: {running_loss / 100:.3f}")
            running_loss = 0.0
    print(f"Epoch [{epoch + 1}/{EPOCHS}], Train Accuracy: {test_model(train_dataloader):.2f}%")

print(f"Train Accuracy: {test_model(train_dataloader):.2f}%")

# Write the probabilities of the ten classes for each test image to submission.csv.
model.eval()
submission = pd.DataFrame(columns=range(10), index=range(len(test_dataset)), dtype=float)
with torch.no_grad():
    for index, (image, _) in enumerate(test_dataset):
        submission.loc[index] = torch.softmax(model(image[None].to(device))[0], dim=0).tolist()
submission.to_csv("submission.csv")
