"""Metadata of a task's data in the format Croissant 1.1: a dataset in JSON-LD, with its source, license and files."""

from collections.abc import Mapping
from typing import Any

from assay import __version__
from assay.tasks.model import Task

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {
    ".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonlines", ".md": "text/markdown",
    ".npz": "application/x-npz", ".parquet": "application/vnd.apache.parquet", ".png": "image/png",
    ".txt": "text/plain", ".tsv": "text/tab-separated-values", ".zip": "application/zip",
}  # fmt: skip


def describe_dataset(task: Task, files: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """Return the metadata of a task; `files` are its prepared public files with their SHA-256 and size.

    Without prepared files, the files that the task downloads are listed, as far as their address and hash are known.
    """
    objects = [_file(f"data/{name}", f"data/{name}", sha256, size) for name, (sha256, size) in files.items()]
    if not files:
        objects = [
            _file(file.file, file.url, file.sha256, file.size) for file in task.source.files if file.sha256 is not None
        ]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": task.id.replace("/", "-"),
        "version": __version__,
        "alternateName": [task.id],
        "description": " ".join(part for part in (task.title, task.summary, task.source.about) if part),
        "license": task.source.license,
        "url": f"https://www.kaggle.com/c/{task.source.kaggle.competition}" if task.source.kaggle else "",
        "keywords": [task.suite, task.kind, task.metric.name, *([task.category] if task.category else [])],
        "citeAs": task.source.about,
        "isLiveDataset": False,
        "distribution": objects,
    }


def _file(name: str, url: str, sha256: str, size: int | None) -> dict[str, Any]:
    suffix = f".{name.rpartition('.')[2].lower()}"
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": url,
        "encodingFormat": _TYPES.get(suffix, "application/octet-stream"),
        "sha256": sha256,
        **({"contentSize": f"{size} B"} if size is not None else {}),
    }
