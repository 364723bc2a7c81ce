"""A stand-in for the competition's time series API: it serves the test data month by month and takes predictions."""

from collections.abc import Iterator

import pandas as pd


class MockApi:
    """Serves all rows of one visit month at a time; the next month comes only after a prediction for this one."""

    def __init__(self) -> None:
        self.input_paths = [
            "example_test_files/test.csv",
            "example_test_files/test_peptides.csv",
            "example_test_files/test_proteins.csv",
            "example_test_files/sample_submission.csv",
        ]
        self.group_id_column = "visit_month"
        self.export_group_id_column = True
        self._status = "initialized"
        self.predictions: list[pd.DataFrame] = []

    def iter_test(self) -> Iterator[tuple[pd.DataFrame, ...] | None]:
        """Yield the rows of each month: test, peptides, proteins and sample submission. It can be used once."""
        if self._status != "initialized":
            raise RuntimeError("iter_test() can be used only once")
        tables = [pd.read_csv(path) for path in self.input_paths]
        for month in tables[0][self.group_id_column].unique():
            self._status = "prediction_needed"
            current = [table[table[self.group_id_column] == month].reset_index(drop=True) for table in tables]
            if not self.export_group_id_column:
                current = [table.drop(columns=self.group_id_column) for table in current]
            yield tuple(current)
            while self._status != "prediction_received":
                print("Call predict() before you go on with iter_test()", flush=True)
                yield None
        pd.concat(self.predictions).to_csv("submission.csv", index=False)
        self._status = "finished"

    def predict(self, user_predictions: pd.DataFrame) -> None:
        """Take the predictions for the month that was served last."""
        if self._status == "finished":
            raise RuntimeError("there are predictions for the whole test set already")
        if self._status != "prediction_needed":
            raise RuntimeError("get the next month from iter_test() first")
        if not isinstance(user_predictions, pd.DataFrame):
            raise TypeError("predictions must be a DataFrame")
        self.predictions.append(user_predictions)
        self._status = "prediction_received"


def make_env() -> MockApi:
    return MockApi()
