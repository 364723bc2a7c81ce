from pathlib import Path

import pytest
from competition import prepare_raw, write_archive
from text_normalization import TextNormalization

from assay.core.errors import SourceError


class TestTextNormalizationChallengeRussianLanguage(TextNormalization):
    name = "text-normalization-challenge-russian-language"
    language = "ru"

    def test_columns_in_another_order_are_refused(self, raw: Path) -> None:
        table = "sentence_id,token_id,before,class,after\n0,0,a,b,c\n1,0,a,b,c\n"
        write_archive(raw / "ru_train.csv.zip", {"ru_train.csv": table})
        with pytest.raises(SourceError, match=r"ru_train\.csv has the columns"):
            prepare_raw(self.name, raw)
