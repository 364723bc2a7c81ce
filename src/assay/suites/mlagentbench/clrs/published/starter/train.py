"""Train the baseline, a graph network with messages over triples of nodes, to carry out floyd_warshall."""

import argparse
import os
from collections.abc import Iterator

import numpy as np
import torch
from model import Guess, Network, Settings, predict, save
from torch import Tensor, nn

flags = argparse.ArgumentParser()
flags.add_argument("--train_lengths", default="", help="sizes of training graphs, such as 4,7,11; all by default")
flags.add_argument("--seed", type=int, default=42)
flags.add_argument("--batch_size", type=int, default=32)
flags.add_argument("--train_steps", type=int, default=500)
flags.add_argument("--eval_every", type=int, default=50, help="steps between evaluations")
flags.add_argument("--hidden_size", type=int, default=128)
flags.add_argument("--nb_msg_passing_steps", type=int, default=1, help="message passing steps per hint")
flags.add_argument("--nb_triplet_fts", type=int, default=8, help="features of a triple of nodes")
flags.add_argument("--learning_rate", type=float, default=0.001)
flags.add_argument("--grad_clip_max_norm", type=float, default=1.0)
flags.add_argument("--checkpoint_path", default="./checkpoints")
FLAGS = flags.parse_args()

HINTS = ("distances_before", "pointers_before", "reached_before")


def make_sampler(data: dict[str, np.ndarray], length: int, rng: np.random.RandomState) -> Iterator[dict[str, Tensor]]:
    """Yield batches of graphs of one size with their hints and outputs, and random positions of their nodes."""
    while True:
        rows = rng.randint(0, len(data[f"graphs_{length}"]), FLAGS.batch_size)
        batch = {name: torch.from_numpy(data[f"{name}_{length}"][rows]) for name in ("graphs", "pointers", *HINTS)}
        batch["places"] = torch.from_numpy(np.sort(rng.rand(FLAGS.batch_size, length), axis=1).astype(np.float32))
        yield batch


def make_multi_sampler(
    data: dict[str, np.ndarray], lengths: list[int], rng: np.random.RandomState
) -> Iterator[dict[str, Tensor]]:
    """Yield a batch of each size in turn."""
    samplers = [make_sampler(data, length, rng) for length in lengths]
    while True:
        for sampler in samplers:
            yield next(sampler)


def pointer_loss(scores: Tensor, pointers: Tensor) -> Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 2), pointers.flatten().long())


def get_loss(scores: Tensor, guesses: list[Guess], batch: dict[str, Tensor]) -> Tensor:
    """Return the loss of the output and the mean loss of the hints, which after step n are those before step n + 1."""
    total = pointer_loss(scores, batch["pointers"])
    for step, guess in enumerate(guesses[:-1], 1):
        loss = nn.functional.mse_loss(guess.distances, batch["distances_before"][:, step])
        reached = batch["reached_before"][:, step].float()
        loss = loss + nn.functional.binary_cross_entropy_with_logits(guess.reached, reached)
        loss = loss + nn.functional.cross_entropy(guess.turn, torch.full((len(scores),), step))
        if guess.pointers is not None:
            loss = loss + pointer_loss(guess.pointers, batch["pointers_before"][:, step])
        total = total + loss / (len(guesses) - 1)
    return total


def collect_and_eval(network: Network, data: dict[str, np.ndarray]) -> float:
    """Return the share of pointers that are right."""
    return float((predict(network, data["graphs"]) == data["pointers"]).mean())


def main() -> None:
    torch.manual_seed(FLAGS.seed)
    rng = np.random.RandomState(FLAGS.seed)
    with np.load("train.npz") as file:
        train = {name: file[name] for name in file.files}
    with np.load("validation.npz") as file:
        validation = {name: file[name] for name in file.files}
    known = sorted(int(name.removeprefix("graphs_")) for name in train if name.startswith("graphs_"))
    train_lengths = [int(length) for length in FLAGS.train_lengths.split(",") if length] or known

    settings = Settings(
        width=FLAGS.hidden_size, triplets=FLAGS.nb_triplet_fts, pointers=FLAGS.hidden_size,
        steps=0, layers=FLAGS.nb_msg_passing_steps,
    )  # fmt: skip
    network = Network(settings)
    optimizer = torch.optim.Adam(network.parameters(), lr=FLAGS.learning_rate)
    sampler = make_multi_sampler(train, train_lengths, rng)
    os.makedirs(FLAGS.checkpoint_path, exist_ok=True)

    best_score = -1.0
    for step in range(FLAGS.train_steps):
        batch = next(sampler)
        optimizer.zero_grad()
        loss = get_loss(*network(batch["graphs"], batch["places"]), batch)
        loss.backward()
        if FLAGS.grad_clip_max_norm:
            nn.utils.clip_grad_norm_(network.parameters(), FLAGS.grad_clip_max_norm)
        optimizer.step()
        if step % FLAGS.eval_every == 0 or step == FLAGS.train_steps - 1:
            print(f"Algo floyd_warshall step {step} current loss {loss.item():.6f}", flush=True)
            score = collect_and_eval(network, validation)
            print(f"(val) algo floyd_warshall step {step}: {{'Pi': {score:.4f}, 'score': {score:.4f}}}", flush=True)
            if score > best_score:
                best_score = score
                print("Checkpointing best model", flush=True)
                save(network, f"{FLAGS.checkpoint_path}/best.npz")
    print("Done!")


if __name__ == "__main__":
    main()
