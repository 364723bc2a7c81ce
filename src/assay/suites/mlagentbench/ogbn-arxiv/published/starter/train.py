"""Train a small network on the papers of ogbn-arxiv, and write the predicted subjects of the test papers."""

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau

FOLDER = "networks/ogbn_arxiv"


def read_numbers(name: str, dtype: type) -> np.ndarray:
    """Read one of the dataset's tables of numbers."""
    return pd.read_csv(f"{FOLDER}/{name}.csv.gz", header=None).to_numpy(dtype, copy=True)


x = torch.from_numpy(read_numbers("raw/node-feat", np.float32))
y = torch.from_numpy(read_numbers("raw/node-label", np.int64)[:, 0])  # -1 for test papers
edges = read_numbers("raw/edge", np.int64)  # from the paper that cites to the one that is cited
split_idx = {
    part: torch.from_numpy(read_numbers(f"split/time/{part}", np.int64)[:, 0]) for part in ("train", "valid", "test")
}


class NeighborLoader:
    """Go through papers in batches, each followed by a sample of the papers that cite them, hop by hop."""

    def __init__(self, nodes: torch.Tensor, num_neighbors: list[int], batch_size: int, shuffle: bool) -> None:
        self.nodes, self.num_neighbors = nodes, num_neighbors
        self.batch_size, self.shuffle = batch_size, shuffle
        order = np.argsort(edges[:, 1], kind="stable")
        self.sources = edges[order, 0]
        self.starts = np.searchsorted(edges[order, 1], np.arange(len(x) + 1))

    def __len__(self) -> int:
        return -(-len(self.nodes) // self.batch_size)

    def __iter__(self):
        nodes = self.nodes[torch.randperm(len(self.nodes))] if self.shuffle else self.nodes
        for seeds in nodes.split(self.batch_size):
            found, frontier = [seeds.numpy()], seeds.numpy()
            for count in self.num_neighbors:
                frontier = np.setdiff1d(self.sample(frontier, count), np.concatenate(found))
                found.append(frontier)
            yield torch.from_numpy(np.concatenate(found)), len(seeds)

    def sample(self, nodes: np.ndarray, count: int) -> np.ndarray:
        """Return up to `count` neighbors of each node."""
        chosen = [np.empty(0, np.int64)]
        for node in nodes:
            near = self.sources[self.starts[node] : self.starts[node + 1]]
            chosen.append(near if len(near) <= count else np.random.choice(near, count, replace=False))
        return np.unique(np.concatenate(chosen))


class MLP(torch.nn.Module):
    """A multilayer perceptron, which sees a paper's own features and no edges."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, dropout: float
    ) -> None:
        super().__init__()
        sizes = [in_channels, *[hidden_channels] * (num_layers - 1)]
        self.lins = torch.nn.ModuleList(
            torch.nn.Linear(*pair) for pair in zip(sizes, [*sizes[1:], out_channels], strict=True)
        )
        self.bns = torch.nn.ModuleList(torch.nn.BatchNorm1d(hidden_channels) for _ in range(num_layers - 1))
        self.dropout = dropout

    def reset_parameters(self) -> None:
        for layer in [*self.lins, *self.bns]:
            layer.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for lin, bn in zip(self.lins[:-1], self.bns, strict=True):
            x = F.dropout(F.relu(bn(lin(x))), p=self.dropout, training=self.training)
        return torch.log_softmax(self.lins[-1](x), dim=-1)

    def inference(self, device: torch.device) -> torch.Tensor:
        """Return the scores of all papers."""
        with torch.no_grad():
            return torch.cat([self(part.to(device)).cpu() for part in x.split(4096)])


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
train_loader = NeighborLoader(split_idx["train"], num_neighbors=[30] * 2, batch_size=1024, shuffle=True)
model = MLP(x.size(-1), hidden_channels=16, out_channels=172, num_layers=2, dropout=0).to(device)
epochs = 4
optimizer = torch.optim.Adam(model.parameters(), lr=1)
scheduler = ReduceLROnPlateau(optimizer, "max", patience=7)


def test(model: MLP, device: torch.device) -> tuple[float, float]:
    """Return the accuracy on the training and on the validation papers."""
    model.eval()
    y_pred = model.inference(device).argmax(dim=-1)
    train, valid = (
        (y_pred[split_idx[part]] == y[split_idx[part]]).float().mean().item() for part in ("train", "valid")
    )
    return train, valid


for epoch in range(epochs):
    model.train()
    total_loss = 0.0
    for nodes, batch_size in train_loader:
        optimizer.zero_grad()
        out = model(x[nodes].to(device))[:batch_size]
        loss = F.nll_loss(out, y[nodes[:batch_size]].to(device))
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
    train_acc, val_acc = test(model, device)
    print(f"Epoch {epoch:02d}, loss: {total_loss / len(train_loader):.4f}")
    print(f"Train: {train_acc:.4f}, Val: {val_acc:.4f}")

model.eval()
y_pred = model.inference(device).argmax(dim=-1, keepdim=True)
pd.DataFrame(y_pred[split_idx["test"]].numpy()).to_csv("submission.csv", index=False)
