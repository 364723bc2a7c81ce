"""Makes the English text normalization task: text as it is written, token by token, and how it is read."""

from pathlib import Path

import polars as pl

from assay.data import archives
from assay.data.splits import appearance_numbers, random_groups

COLUMNS = {"sentence_id": pl.Int64, "token_id": pl.Int64, "class": pl.String, "before": pl.String, "after": pl.String}

# The words that pandas takes for gaps when it reads a table, as the published preparation does.
GAPS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


def prepare(raw: Path, public: Path, private: Path, edition: str) -> None:
    """Sentences stay whole and get new numbers on either side; only `fixed` keeps words that pandas takes for gaps."""
    with archives.open_member(raw / "en_train.csv.zip", "en_train.csv") as file:
        tokens = pl.read_csv(file.read(), schema=COLUMNS).with_columns(pl.col(pl.String).fill_null(""))
    if edition != "fixed":
        word = pl.col(pl.String)
        tokens = tokens.with_columns(pl.when(~word.is_in(GAPS)).then(word).otherwise(pl.lit("")).name.keep())
    rows = random_groups(tokens["sentence_id"].to_list(), test=0.1, seed=0)
    train, test = (_renumbered(tokens[side]) for side in rows)
    ids = pl.format("{}_{}", "sentence_id", "token_id").alias("id")
    sample = _quoted(test.select(ids, after="before"))
    for name, content in (
        ("en_train.csv", _quoted(train)),
        ("en_test_2.csv", _quoted(test.select("sentence_id", "token_id", "before"))),
        ("en_sample_submission_2.csv", sample),
    ):
        archives.pack(public / f"{name}.zip", [(name, content)], method="stored")
    (private / "sample_submission.csv").write_bytes(sample)
    (private / "answers.csv").write_bytes(_quoted(test.select(ids, "after")))


def _renumbered(tokens: pl.DataFrame) -> pl.DataFrame:
    return tokens.with_columns(sentence_id=appearance_numbers(tokens["sentence_id"].to_list()))


def _quoted(table: pl.DataFrame) -> bytes:
    """The table as CSV with quotes around everything but numbers."""
    return table.write_csv(quote_style="non_numeric").encode()
