"""Mark contrails in satellite images with a single 1 x 1 convolution, and write the masks of the test records."""

import os

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from encode import list_to_string, rle_encode
from sklearn.model_selection import train_test_split
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

N_TIMES_BEFORE = 4  # the frame that was labeled
PADDING = 2


def dice_score(y_p: torch.Tensor, y_t: torch.Tensor, smooth: float = 1e-6) -> torch.Tensor:
    """Return the Dice coefficient of each image, averaged; images are padded, masks are not."""
    y_p = y_p[:, :, PADDING:-PADDING, PADDING:-PADDING].argmax(dim=1, keepdim=True)
    i = (y_p * y_t).sum(dim=(2, 3))
    u = y_p.sum(dim=(2, 3)) + y_t.sum(dim=(2, 3))
    return ((2 * i + smooth) / (u + smooth)).mean()


def ce_loss(y_p: torch.Tensor, y_t: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy, in which the few pixels of contrails weigh more."""
    weight = torch.tensor([0.57, 4.17], device=y_t.device)
    return F.cross_entropy(y_p[:, :, PADDING:-PADDING, PADDING:-PADDING], y_t.squeeze(dim=1), weight=weight)


def false_color(band11: np.ndarray, band14: np.ndarray, band15: np.ndarray) -> np.ndarray:
    """Return differences of temperature as red, green and blue from 0 to 1; contrails become dark blue."""

    def normalize(band: np.ndarray, lowest: float, highest: float) -> np.ndarray:
        return (band - lowest) / (highest - lowest)

    colors = [normalize(band15 - band14, -4, 2), normalize(band14 - band11, -4, 5), normalize(band14, 243, 303)]
    return np.clip(np.stack(colors, axis=2), 0, 1)


class ICRGWDataset(Dataset):
    """Records of a folder: padded images, and masks where there are any."""

    def __init__(self, tar_path: str, ids: list[str], padding_size: int) -> None:
        self.tar_path, self.ids, self.padding_size = tar_path, ids, padding_size

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        sample_path = f"{self.tar_path}/{self.ids[idx]}"
        bands = [np.load(f"{sample_path}/band_{band}.npy")[..., N_TIMES_BEFORE] for band in (11, 14, 15)]
        image = torch.from_numpy(false_color(*bands)).float().permute(2, 0, 1)
        image = F.pad(image, (self.padding_size,) * 4, mode="reflect")
        if os.path.exists(f"{sample_path}/human_pixel_masks.npy"):
            label = torch.from_numpy(np.load(f"{sample_path}/human_pixel_masks.npy")).to(torch.int64).permute(2, 0, 1)
        else:
            label = torch.zeros((1, image.shape[1], image.shape[2]))
        return image, label


if __name__ == "__main__":
    data_path = "./train"
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    ids_train, ids_valid = train_test_split(os.listdir(data_path), test_size=0.1, random_state=42)
    print(f"TrainSize: {len(ids_train)}, ValidSize: {len(ids_valid)}")

    batch_size = 8
    epochs = 1
    lr = 1e-5
    train_dataloader = DataLoader(ICRGWDataset(data_path, ids_train, PADDING), batch_size, shuffle=True)
    valid_dataloader = DataLoader(ICRGWDataset(data_path, ids_valid, PADDING), 1)

    model = nn.Conv2d(3, 2, 1).to(device)  # TODO: replace it by a better model
    optimizer = optim.Adam(model.parameters(), lr=lr)

    def validate() -> float:
        """Return the Dice score on the validation records."""
        model.eval()
        with torch.no_grad():
            return float(np.mean([dice_score(model(X.to(device)), y.to(device)).item() for X, y in valid_dataloader]))

    bst_dice = 0.0
    for _ in range(epochs):
        model.train()
        losses, scores = [], []
        for X, y in train_dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            loss = ce_loss(pred, y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            scores.append(dice_score(pred, y).item())
        dice = validate()
        print(f"TrainLoss: {np.mean(losses):.4f}, TrainDice: {np.mean(scores):.4f}, ValidDice: {dice:.4f}")
        if dice > bst_dice:
            bst_dice = dice
            torch.save(model.state_dict(), "u-net.pth")
            print("current model saved!")
    print(f"Validation Dice Score: {validate()}")

    # Write the masks of the test records to submission.csv.
    submission = pd.read_csv("sample_submission.csv", index_col="record_id")
    test_dataset = ICRGWDataset("test", os.listdir("test"), PADDING)
    for idx in range(len(test_dataset)):
        with torch.no_grad():
            pred = model(test_dataset[idx][0].unsqueeze(0).to(device))[:, :, PADDING:-PADDING, PADDING:-PADDING]
        mask = pred.argmax(dim=1)[0].cpu().numpy()
        submission.loc[int(test_dataset.ids[idx]), "encoded_pixels"] = list_to_string(rle_encode(mask))
    submission.to_csv("submission.csv")
