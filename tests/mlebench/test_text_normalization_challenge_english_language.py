import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from competition import prepare_raw, to_csv, write_archive
from text_normalization import TextNormalization


class TestTextNormalizationChallengeEnglishLanguage(TextNormalization):
    name = "text-normalization-challenge-english-language"
    language = "en"

    def test_tokens_of_any_characters_are_written_as_pandas_writes_them(self, raw: Path) -> None:
        draw = np.random.default_rng(0)
        pieces = [
            '"',
            ",",
            "\n",
            "\r",
            "\\",
            " ",
            "a",
            "Ж",
            "NA",
            "null",
            "n/a",
            "1",
            ".5",
            "\t",
            "'",
            "\u2028",
            "😀",
            "#",
        ]
        before, after = (["".join(draw.choice(pieces, draw.integers(0, 4))) for _ in range(5000)] for _ in range(2))
        # Sentences are interleaved and out of order: new numbers follow their first appearance.
        columns = {"sentence_id": draw.integers(0, 900, 5000), "token_id": np.arange(5000), "class": "PLAIN"}
        table = pd.DataFrame({**columns, "before": before, "after": after})
        write_archive(raw / "en_train.csv.zip", {"en_train.csv": to_csv(table, quoting=csv.QUOTE_NONNUMERIC)})
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)

    @pytest.mark.parametrize("words", [["1", "02"], ["1.50", "2"], ["True", "FALSE"], ['6"', "a"], ["NA", ""]])
    def test_tokens_that_pandas_does_not_read_as_text_are_written_as_it_reads_them(
        self, words: list[str], raw: Path
    ) -> None:
        rows = [f"{number},0,PLAIN,{words[number % 2]},word" for number in range(20)]
        content = "\r\n".join(["sentence_id,token_id,class,before,after", *rows])
        write_archive(raw / "en_train.csv.zip", {"en_train.csv": content})
        assert prepare_raw(self.name, raw) == self.prepare_reference(raw)
