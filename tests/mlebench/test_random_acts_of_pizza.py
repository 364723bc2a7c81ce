import json
from pathlib import Path

import pandas as pd
import pytest
from competition import Competition, Files, Miniatures, prepare_raw, read_prepared, split, to_csv, write_file
from graders import roc_auc

from assay.core.errors import SourceError


class TestRandomActsOfPizza(Competition):
    name = "random-acts-of-pizza"
    id = "request_id"
    targets = ("requester_received_pizza",)
    fixed_changes = ("public/t*.json",)

    def prepare_reference(self, raw: Path) -> Files:
        requests, kaggle_test = (json.loads((raw / f"{name}.json").read_text()) for name in ("train", "test"))
        train, test = split(requests, test_size=len(kaggle_test) / (len(requests) + len(kaggle_test)))
        public = [{field: request[field] for field in kaggle_test[0]} for request in test]
        answers = pd.DataFrame(test)[["request_id", "requester_received_pizza"]]
        answers = answers.astype({"requester_received_pizza": int})
        files = {
            "public/sampleSubmission.csv": to_csv(answers.assign(requester_received_pizza=0)),
            "private/test.csv": to_csv(answers),
        }
        for name, side in (("train", train), ("test", public)):
            content = json.dumps(side, indent=4).encode()
            files[f"public/{name}.json"] = files[f"public/{name}.zip/{name}.json"] = content
        return files

    def grade_reference(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        return roc_auc(submission, answers, "request_id", "requester_received_pizza")

    def test_fixed_does_not_name_the_giver(self, miniatures: Miniatures) -> None:
        v1, fixed = (read_prepared(miniatures.prepared(self.name, edition)) for edition in ("v1", "fixed"))
        for name in ("train", "test"):
            for path in (f"public/{name}.json", f"public/{name}.zip/{name}.json"):
                requests = json.loads(v1[path])
                assert any(request["giver_username_if_known"] != "N/A" for request in requests)
                for request in requests:
                    del request["giver_username_if_known"]
                assert json.loads(fixed[path]) == requests

    def test_requests_with_different_fields_are_refused(self, raw: Path) -> None:
        known = '{"request_id": "t3_1", "requester_received_pizza": true}'
        write_file(raw / "train.json", f'[{known}, {known}, {known[:-1]}, "more": 1}}]'.encode())
        write_file(raw / "test.json", b'[{"request_id": "t3_2"}]')
        with pytest.raises(SourceError, match="same fields"):
            prepare_raw(self.name, raw)
