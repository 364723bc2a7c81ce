"""Results in trackers and traces, written and read back with their own packages, without a network."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from outside import outside_python
from sample_run import write_run

READ_SPANS = """
import json, sys
from google.protobuf.json_format import Parse
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
traces = [Parse(line, TracesData()) for line in open(sys.argv[1])]
spans = [span for trace in traces for one in trace.resource_spans for scope in one.scope_spans for span in scope.spans]
unique = len({span.span_id for span in spans}) == len(spans)
required = {"gen_ai.operation.name", "gen_ai.provider.name"}
asked = [span for span in spans if not span.name.startswith("execute_tool")]
lacking = [span.name for span in asked if not required <= {item.key for item in span.attributes}]
print(json.dumps([len(traces), sorted({span.name.split()[0] for span in spans}), unique and not lacking]))
"""
READ_MLFLOW = """
import json, mlflow, os, sys
client = mlflow.MlflowClient(tracking_uri="file://" + os.path.abspath(sys.argv[1]))
runs = client.search_runs([client.get_experiment_by_name("assay").experiment_id])
print(json.dumps({run.data.params["agent"]: run.data.metrics["valid"] for run in runs}))
"""


@pytest.fixture(scope="module")
def python() -> Path:
    """A Python with trackers."""
    return outside_python("wandb>=0.20,<1", "mlflow-skinny>=3.10,<4", "opentelemetry-proto>=1.30,<2")


def test_a_run_is_in_each_tracker(python: Path, tmp_path: Path):
    run = write_run(tmp_path / "run", seeds=1)
    variables = {"HOME": str(tmp_path), "WANDB_MODE": "offline", "MLFLOW_ALLOW_FILE_STORE": "true"}

    def call(*words: object) -> str:
        command = [str(word) for word in (python, *words)]
        done = subprocess.run(command, env=os.environ | variables, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    formats = [word for name in ("otel", "mlflow", "wandb") for word in ("--to", name, tmp_path / name)]
    call("-m", "assay", "export", run.path, *formats)
    traces, names, unique = json.loads(call("-c", READ_SPANS, tmp_path / "otel" / "traces.jsonl"))
    assert (traces, names, unique) == (8, ["chat", "execute_tool", "invoke_agent"], True)
    assert json.loads(call("-c", READ_MLFLOW, tmp_path / "mlflow")) == {"starter": 1.0, "research": 0.75}
    assert len(list((tmp_path / "wandb").glob("wandb/offline-run-*/*.wandb"))) == 2
    tables = [json.loads(path.read_text()) for path in (tmp_path / "wandb").rglob("*.table.json")]
    assert sorted(len(table["data"]) for table in tables) == [4, 4]
