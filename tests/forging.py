"""How a forger changes the files of a record."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.home import Home
from assay.data.store import load_prepared
from assay.grading import grade_submission
from assay.records import RunFolder, TrialFile, TrialFolder, read_events
from assay.records.final_state import final_state
from assay.records.origin import find_last_snapshot
from assay.tasks import Registry

Events = list[dict[str, Any]]


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a JSON file."""
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content).replace("Infinity", "1e999"))


def forge(path: Path, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Edit a log and recompute its hash chain, as a forger who knows the format would."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    edit(events)
    chain, lines = "0" * 64, []
    for number, event in enumerate(events):
        content = {key: value for key, value in event.items() if key != "chain"} | {"number": number}
        line = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("Infinity", "1e999")
        chain = hashlib.sha256((chain + line).encode()).hexdigest()
        lines.append(f'{line[:-1]},"chain":"{chain}"}}\n')
    path.write_text("".join(lines))


@dataclass(frozen=True)
class Forger:
    """Somebody who has the source code, the answers and all the time in the world, and leaves no hash that is wrong."""

    run: RunFolder
    home: Home
    tasks: Registry

    def rewrite(
        self,
        trial: TrialFolder,
        *,
        plan: Callable[[dict[str, Any]], object] | None = None,
        events: Callable[[Events], object] | None = None,
        submission: bytes | None = None,
        honest_score: bool = True,
    ) -> TrialFolder:
        """Change a trial's plan, log or submission, and everything that follows from it: id, hashes, grade, state."""
        content = json.loads((trial.path / "trial.json").read_text())
        if plan:
            plan(content)
        content["id"] = TrialFile.model_validate(content).trial_id
        folder = TrialFolder(trial.path.with_name(content["id"]))
        trial.path.rename(folder.path)
        (folder.path / "trial.json").write_text(json.dumps(content))
        change(self.run.path / "run.json", lambda run: run.update(trials=self._renamed(run, trial, folder)))
        digest = hashlib.sha256((folder.path / "trial.json").read_bytes()).hexdigest()

        def edit(logged: Events) -> None:
            if events:
                events(logged)
            for event in logged:
                if event["kind"] == "started":
                    event.update(trial=content["id"], trial_file_sha256=digest)
                elif event["kind"] == "submitted" and submission is not None:
                    entry = {"size": len(submission), "sha256": hashlib.sha256(submission).hexdigest()}
                    event["submission"].update(entry)
                    (folder.path / "submission" / event["submission"]["file"]).write_bytes(submission)
                elif event["kind"] == "graded" and honest_score:
                    event["grade"].update(self._grade(folder, content))

        forge(folder.events, edit)
        self.derive(folder)
        return folder

    def derive(self, folder: TrialFolder) -> None:
        """Write the files that follow from a log."""
        logged = [json.loads(line) for line in folder.events.read_text().splitlines()]
        for event in logged:
            if event["kind"] == "submitted":
                (folder.path / "submission" / "manifest.json").write_text(json.dumps(event["submission"]))
            elif event["kind"] == "graded":
                (folder.path / "grade.json").write_text(json.dumps(event["grade"]))
        state = final_state(read_events(folder.events))
        assert state is not None
        (folder.path / "state.json").write_text(state.model_dump_json())

    def rewrite_last_snapshot(self, folder: TrialFolder, name: str, content: bytes) -> None:
        """Have the last snapshot of a trial show another file."""
        old = find_last_snapshot(read_events(folder.events))
        manifest = json.loads((folder.snapshots / "manifests" / f"{old}.json").read_text())
        digest = hashlib.sha256(content).hexdigest()
        (folder.snapshots / "objects" / digest).write_bytes(content)
        manifest["files"][name].update(sha256=digest, size=len(content))
        self._replace_snapshot(folder, old, manifest)

    def split_last_snapshot(self, folder: TrialFolder, name: str) -> None:
        """Have the last manifest of a trial add a file to another manifest, as in a long trial."""
        old = find_last_snapshot(read_events(folder.events))
        manifest = json.loads((folder.snapshots / "manifests" / f"{old}.json").read_text())
        added = {name: manifest["files"].pop(name)}
        base = self._write_manifest(folder, manifest)
        removed: dict[str, list[str]] = {"files": [], "folders": [], "links": []}
        difference = {"files": added, "folders": {}, "links": {}, "removed": removed}
        self._replace_snapshot(folder, old, {"format": "snapshot/2", "base": base, **difference})

    def _replace_snapshot(self, folder: TrialFolder, old: str | None, manifest: dict[str, Any]) -> None:
        new = self._write_manifest(folder, manifest)

        def point(logged: Events) -> None:
            for event in logged:
                if event.get("snapshot") == old:
                    event["snapshot"] = new

        forge(folder.events, point)

    def _write_manifest(self, folder: TrialFolder, manifest: dict[str, Any]) -> str:
        text = json.dumps(manifest, sort_keys=True)
        id = hashlib.sha256(text.encode()).hexdigest()
        (folder.snapshots / "manifests" / f"{id}.json").write_text(text)
        return id

    def copy(self, trial: TrialFolder, seed: int, events: Callable[[Events], object] | None = None) -> TrialFolder:
        """Copy a trial as a further seed."""
        aside = trial.path.with_name("aside")
        shutil.copytree(trial.path, aside)
        change(self.run.path / "run.json", lambda run: run["trials"].append("aside"))

        def plan(content: dict[str, Any]) -> None:
            content.update(seed=seed, planned_seeds=seed)

        return self.rewrite(TrialFolder(aside), plan=plan, events=events)

    def remove(self, trial: TrialFolder) -> None:
        """Remove a trial without a trace."""
        shutil.rmtree(trial.path)
        change(self.run.path / "run.json", lambda run: run["trials"].remove(trial.path.name))

    def _renamed(self, run: dict[str, Any], old: TrialFolder, new: TrialFolder) -> list[str]:
        return [new.path.name if name == old.path.name else name for name in run["trials"]]

    def _grade(self, folder: TrialFolder, plan: dict[str, Any]) -> dict[str, Any]:
        data = load_prepared(self.home, self.tasks.task(plan["task"]), plan["edition"], plan["variant"])
        (path,) = (path for path in (folder.path / "submission").iterdir() if path.name != "manifest.json")
        return grade_submission(path, data, home=self.home).model_dump(mode="json", exclude={"sealed"})
