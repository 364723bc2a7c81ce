"""Grade the holdout predictions and write `score.json`."""

import csv
import json
from pathlib import Path

SETTINGS = json.loads((Path(__file__).parent / "settings.json").read_text())


def read(path: str) -> dict[str, str]:
    """Return the labels of a table by row."""
    with Path(path).open(newline="") as file:
        return {row["row"]: row["label"] for row in csv.DictReader(file)}


truth, predicted = read(SETTINGS["labels"]), read(SETTINGS["predictions"])
accuracy = sum(predicted.get(row) == label for row, label in truth.items()) / len(truth)
passed = accuracy >= SETTINGS["threshold"]
Path("score.json").write_text(json.dumps({"accuracy": accuracy, "passed": passed}))
print(f"accuracy: {accuracy:.4f}, {'passed' if passed else 'not passed'}")
