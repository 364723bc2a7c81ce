"""Train a GPT-2 model from scratch on the BabyLM data, and save it to output/."""

import argparse
import math
import os
import time

import numpy as np
import torch
from babyLM_for_hf import load_dataset
from model import LanguageModel, Settings, encode, joined, save
from torch.nn import functional


def parse_args() -> argparse.Namespace:
    """Return the settings; the defaults are those of GPT-2 and of one epoch of training."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_layer", type=int, default=12)
    parser.add_argument("--n_embd", type=int, default=768)
    parser.add_argument("--n_head", type=int, default=12)
    parser.add_argument("--block_size", type=int, default=1024)
    parser.add_argument("--merges", type=int, default=4096, help="tokens of the tokenizer besides the 256 bytes")
    parser.add_argument("--num_train_epochs", type=float, default=1)
    parser.add_argument("--per_device_train_batch_size", type=int, default=16)
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--eval_steps", type=float, default=0.2, help="share of the training between evaluations")
    parser.add_argument("--max_train_samples", type=int, default=None, help="blocks to train on; all by default")
    parser.add_argument("--max_eval_samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--output_dir", default="./output")
    return parser.parse_args()


def learn_merges(text: bytes, count: int) -> np.ndarray:
    """Learn a tokenizer by byte-pair encoding: join the most frequent pair of neighbors, again and again."""
    tokens = np.frombuffer(text, np.uint8).astype(np.int64)
    merges = []
    for new in range(256, 256 + count):
        pairs, counts = np.unique((tokens[:-1] << 20) + tokens[1:], return_counts=True)
        if not len(counts) or counts.max() < 2:
            break
        merges.append(divmod(int(pairs[counts.argmax()]), 1 << 20))
        tokens = joined(tokens, *merges[-1], new)
    return np.array(merges, np.int32).reshape(-1, 2)


def group_texts(lines: list[str], merges: np.ndarray, block_size: int) -> torch.Tensor:
    """Return all lines as one stream of tokens, cut into blocks; the remainder is dropped."""
    tokens = encode(["".join(lines).encode()], merges)[0]
    count = len(tokens) // block_size
    return torch.from_numpy(tokens[: count * block_size].astype(np.int64)).view(count, block_size)


def get_loss(model: LanguageModel, blocks: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of all tokens but the first of each block."""
    return functional.cross_entropy(model(blocks[:, :-1]).flatten(0, 1), blocks[:, 1:].flatten())


def evaluate(model: LanguageModel, blocks: torch.Tensor, device: torch.device) -> float:
    """Return the mean loss on the evaluation blocks."""
    model.eval()
    with torch.inference_mode():
        return float(np.mean([get_loss(model, part.to(device)).item() for part in blocks.split(8)]))


def main() -> None:
    args = parse_args()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    # The tokenizer is learned from a sample of the training text.
    raw_datasets = load_dataset("babyLM-10M")
    sample = np.random.permutation(len(raw_datasets["train"]))[:10_000]
    text = "".join(raw_datasets["train"][place] for place in np.sort(sample)).encode()[:300_000]
    merges = learn_merges(text, args.merges)
    train_dataset = group_texts(raw_datasets["train"], merges, args.block_size)[: args.max_train_samples]
    eval_dataset = group_texts(raw_datasets["validation"], merges, args.block_size)[: args.max_eval_samples]

    settings = Settings(args.n_layer, args.n_embd, args.n_head, inner=4 * args.n_embd, context=args.block_size)
    model = LanguageModel(settings, merges).to(device)
    size = sum(weight.numel() for weight in model.parameters())
    print(f"Training new model from scratch - Total size={size / 2**20:.2f}M params", flush=True)

    # Train.
    per_epoch = math.ceil(len(train_dataset) / args.per_device_train_batch_size)
    max_steps = max(1, math.ceil(args.num_train_epochs * per_epoch))
    eval_every = max(1, math.ceil(args.eval_steps * max_steps)) if args.eval_steps < 1 else int(args.eval_steps)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / max_steps)
    started, losses, step = time.time(), [], 0
    while step < max_steps:
        for batch in torch.randperm(len(train_dataset)).split(args.per_device_train_batch_size):
            if step == max_steps:
                break
            model.train()
            optimizer.zero_grad()
            loss = get_loss(model, train_dataset[batch].to(device))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            step += 1
            if step % eval_every == 0:
                print(
                    {"eval_loss": round(evaluate(model, eval_dataset, device), 4), "epoch": round(step / per_epoch, 2)},
                    flush=True,
                )

    os.makedirs(args.output_dir, exist_ok=True)
    save(f"{args.output_dir}/model.npz", model)
    print(f"train_loss = {np.mean(losses):.4f}, train_runtime = {time.time() - started:.1f} s")

    # Evaluate.
    eval_loss = evaluate(model, eval_dataset, device)
    print(f"eval_loss = {eval_loss:.4f}, perplexity = {math.exp(eval_loss):.4f}, eval_samples = {len(eval_dataset)}")


if __name__ == "__main__":
    main()
