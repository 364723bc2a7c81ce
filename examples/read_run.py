"""Read a run with pandas: `python examples/read_run.py runs/waves`."""

import sys

import assay

run = assay.load_run(sys.argv[1])

trials = run.to_frame()
print(trials.groupby("agent")["score"].describe()[["count", "mean", "std", "min", "max"]])

for trial in run.trials:
    kinds = [event.kind for event in trial.events]
    print(f"{trial.id}: {len(kinds)} events, the last one {kinds[-1]}")
