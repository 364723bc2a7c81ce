"""JSON schemas of all file formats, for tools that read or write them."""

import importlib
from typing import Any

from assay.core.errors import UsageError
from assay.core.text import did_you_mean

FORMATS = {
    "board-entry/2": ("assay.board.folder:BoardEntry", "entry.json of a board"),
    "board-event/1": ("assay.board.history:BoardEvent", "a line of history.jsonl of a board"),
    "board-rescored/1": ("assay.board.folder:Rescored", "rescored.json of an entry of a board"),
    "board-seeds/1": ("assay.board.seeds:SealedSeeds", "sealed.json of a board, which only its maintainer has"),
    "board-unverified/1": ("assay.board.folder:UnverifiedEntry", "entry.json of results of other harnesses"),
    "code/1": ("assay.records.code:Code", "the code of an agent, as a run registers it"),
    "config/1": ("assay.runs.plan_config:_ConfigFile", "the user's config.toml"),
    "event": ("assay.records.events:Event", "a line of events.jsonl"),
    "executor/1": ("assay.runs.executors.config:ExecutorConfig", "a file with settings of an executor"),
    "facts/1": ("assay.tasks.facts:Facts", "facts.json: known leaks and the sample's score"),
    "grade/1": ("assay.grading.result:Grade", "grade.json of a trial, and each report of assay grade"),
    "harbor-task/1": ("assay.interop.harbor.verifier:Rubric", "assay.json of a task exported for Harbor"),
    "lease/1": ("assay.records.lease:ClaimFile", "the lease of a trial"),
    "measured/1": ("assay.tasks.model:Measured", "measured.json: the reference panel of a task"),
    "plan/1": ("assay.runs.plan_config:_ConfigFile", "a plan file"),
    "prepared/2": ("assay.data.store:Manifest", "manifest.json of prepared data"),
    "preset/1": ("assay.runs.plan_config:Preset", "the settings of a published study"),
    "profile/1": ("assay.agents.external.profile:Profile", "the profile of an external agent"),
    "published/1": ("assay.results.published_figures:PublishedFigures", "published results of a suite"),
    "run/1": ("assay.records.run:RunFile", "run.json"),
    "selection/1": ("assay.data.selection:SelectionManifest", "how hidden validation rows were split off"),
    "signature/3": ("assay.records.signature:Signature", "signature.json"),
    "state/2": ("assay.records.state:State", "state.json of a trial"),
    "submission/2": ("assay.records.state:SubmissionEntry", "submission/manifest.json"),
    "suite/1": ("assay.tasks.model:Suite", "suite.toml"),
    "task/1": ("assay.tasks.model:TaskFile", "task.toml"),
    "trial/2": ("assay.records.trial:TrialFile", "trial.json"),
    "trials/1": ("assay.results.frame:COLUMNS", "a row of assay report --csv --trials"),
    "version/1": ("assay.regression.history:Version", "a version of an agent in its history"),
}
"""The model of each file format, and what it is the format of."""


def make_schema(format: str) -> dict[str, Any]:
    """Return the JSON schema of a file format, which is named with or without its number."""
    from pydantic import BaseModel, TypeAdapter

    format = next((known for known in FORMATS if format in (known, known.partition("/")[0])), format)
    if format not in FORMATS:
        raise UsageError(f"no file format is called {format!r}; {did_you_mean(format, FORMATS)}")
    module, _, name = FORMATS[format][0].partition(":")
    model = getattr(importlib.import_module(module), name)
    if format == "trials/1":
        properties = {column: {"description": meaning} for column, meaning in model.items()}
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(properties)}
    elif isinstance(model, type) and issubclass(model, BaseModel):
        schema = model.model_json_schema()
    else:
        schema = TypeAdapter(model).json_schema()
    if format == "task/1":
        _describe_as_written(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": format, **schema, "$comment": format}


def _describe_as_written(schema: dict[str, Any]) -> None:
    """Describe `task.toml` before `suite.toml`, which may say anything for all tasks of a suite, is merged into it."""
    parts = schema["$defs"]
    parts["EditionRules"]["properties"]["quirks"] = {"type": "array", "items": {"type": "string"}}
    parts["Submission"]["properties"]["alike"] = {"type": "array", "items": {"type": "object"}}
    for part in (schema, *parts.values()):
        part.pop("required", None)
