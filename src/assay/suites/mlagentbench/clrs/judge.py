"""Run a checkpoint in the original model on the hidden graphs, and write the predecessors that it predicts."""

import sys

import numpy as np
import torch
from model import CheckpointError, load, predict

torch.set_num_threads(1)  # so that sums are computed in the same order on every machine
try:
    network = load(sys.argv[1])
except CheckpointError as error:
    sys.exit(str(error))
with np.load("inputs/graphs.npz", allow_pickle=False) as inputs:
    graphs = inputs["graphs"]
pointers = predict(network, graphs).reshape(-1)
np.savetxt(
    "predictions.csv", np.column_stack([np.arange(len(pointers)), pointers]), "%d", ",", header="id,node", comments=""
)
