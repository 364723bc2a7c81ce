"""Fill in the sample submission with a constant per column. Runs inside the lab; reads `starter.json` and `data/`.

The constant is what the training table says: the mean (or median) of a number, the most frequent label, and the share
of each class where every class has a column. A column that the table does not have keeps the values of the sample, or
gets the example that the task names.
Where a constant has no score, numbers are sampled from those of the training table.
"""

import io
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

DATA = Path("data")


def main() -> None:
    """Write the submission and say how it was made."""
    config = json.loads(Path("starter.json").read_text())
    sample, submission = DATA / config["sample"], Path(config["submission"])
    train = read_labels(config) if config["train"] else pd.DataFrame()
    if config["examples"]:
        table = pd.read_csv(open_table(sample), dtype=str, keep_default_na=False)
        table.assign(**config["examples"]).to_csv(submission, index=False)
        print("the sample submission with the same value in every row")
        return
    if train.columns.empty:
        with open_table(sample) as source, submission.open("wb") as target:
            shutil.copyfileobj(source, target)
        print("the sample submission, unchanged")
        return
    table = pd.read_csv(open_table(sample), dtype=str, keep_default_na=False)
    predicted = [str(name) for name in train]
    for name in predicted:
        table[name] = predict(train[name].dropna(), config, config["columns"][name], len(table))
    if config["row_sum"] is not None and set(predicted) == set(config["columns"]):
        numbers = table[predicted]
        table[predicted] = numbers.div(numbers.sum(axis=1), axis=0) * config["row_sum"]
    table.to_csv(submission, index=False)
    kept = [name for name in config["columns"] if name not in predicted]
    print(f"predicted from the training labels: {', '.join(predicted)}")
    print(f"as in the sample submission: {', '.join(kept) or 'no column'}")


def read_labels(config: dict[str, Any]) -> pd.DataFrame:
    """Return the training labels by column of the submission, as far as the training table has them."""
    columns, target = config["columns"], config["target"]
    table = read_columns(DATA / config["train"], {*columns, target})
    if target in table and target not in columns and len(columns) > 1:
        classes = table[target].astype(str)
        if set(classes) <= set(columns):
            return pd.DataFrame({name: (classes == name).astype(float) for name in columns})
    if target in table and len(columns) == 1:
        table = table.rename(columns={target: next(iter(columns))})
    return table[[name for name in columns if name in table]]


def predict(labels: pd.Series, config: dict[str, Any], rule: dict[str, Any], rows: int) -> Any:
    """Return what to predict in one column: a constant, or sampled numbers."""
    if not rule["number"]:
        return labels.mode().iloc[0]
    numbers = pd.to_numeric(labels).clip(rule["min"], rule["max"]).astype(float)
    if config["method"] == "draw":
        return numbers.sample(rows, replace=True, random_state=int(os.environ["SEED"])).to_numpy()
    return numbers.agg(config["method"])


def read_columns(path: Path, names: set[str]) -> pd.DataFrame:
    """Read the wanted columns of a table, as far as it has them: CSV, TSV, JSON or Parquet, also zipped."""
    name = path.name.removesuffix(".zip")
    if name.endswith((".json", ".parquet")):
        read = pd.read_json if name.endswith(".json") else pd.read_parquet
        table = read(open_table(path))
        return table[[column for column in table if column in names]]
    separator = "\t" if name.endswith(".tsv") else ","
    return pd.read_csv(open_table(path), sep=separator, usecols=lambda name: name in names)


def open_table(path: Path) -> Any:
    """Open a file, or the first file of a zip or 7z archive."""
    if path.suffix == ".zip":
        archive = zipfile.ZipFile(path)
        return archive.open(archive.namelist()[0])
    if path.suffix == ".7z":
        from py7zr import SevenZipFile

        with tempfile.TemporaryDirectory() as folder, SevenZipFile(path) as packed:
            packed.extractall(folder)
            first = next(file for file in sorted(Path(folder).rglob("*")) if file.is_file())
            return io.BytesIO(first.read_bytes())
    return path.open("rb")


if __name__ == "__main__":
    main()
