"""Tools of outside agents as ours: schemas in whatever dialect, brought down to what every provider can be told."""

import json
from collections.abc import Mapping
from typing import Any

from assay.models import Tool

KEPT = (
    "format", "description", "default", "enum", "required", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "examples",
)  # fmt: skip
TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
HARMLESS = ("$schema", "$defs", "definitions", "title", "strict", "additionalProperties", "nullable")
LONGEST = 4_000
DEEPEST = 12


def tool_of(name: str, description: str, schema: Mapping[str, Any]) -> Tool:
    """A tool; what of its schema no model could be told as such is told in its description instead."""
    lost: list[str] = []
    kept = _plain(schema, schema, lost, 0)
    properties = kept.get("properties", {})
    required = [field for field in kept.get("required", []) if field in properties]
    if lost:
        written = json.dumps(schema)
        description += f"\n\nThe JSON schema of its arguments: {written[:LONGEST]}" if len(written) <= LONGEST else ""
    return Tool(
        name=name,
        description=description or name,
        parameters={"type": "object", "properties": properties, "required": required},
    )


def _plain(schema: object, root: Mapping[str, Any], lost: list[str], depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > DEEPEST:
        lost.append("depth")
        return {}
    if isinstance(reference := schema.get("$ref"), str):
        return _plain(_referred(reference, root, lost), root, lost, depth + 1)
    kept = {key: schema[key] for key in KEPT if schema.get(key) is not None and _fits(key, schema[key])}
    if kind := _type(schema.get("type")):
        kept["type"] = kind
    if isinstance(schema.get("properties"), dict):
        kept["properties"] = {
            str(name): _plain(inner, root, lost, depth + 1) for name, inner in schema["properties"].items()
        }
    if isinstance(schema.get("items"), dict):
        kept["items"] = _plain(schema["items"], root, lost, depth + 1)
    choices = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), None)
    if choices:
        kept["anyOf"] = [_plain(choice, root, lost, depth + 1) for choice in choices]
    if "const" in schema:
        kept["enum"] = [schema["const"]]
    known = (*KEPT, *HARMLESS, "type", "properties", "items", "anyOf", "oneOf", "const")
    lost += [key for key in schema if key not in known]
    return kept


def _referred(reference: str, root: Mapping[str, Any], lost: list[str]) -> object:
    found: object = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    if found is None:
        lost.append(reference)
    return found


def _type(kind: object) -> str | list[str] | None:
    """The type in small letters, which Google writes in large ones."""
    if isinstance(kind, str):
        return kind.lower() if kind.lower() in TYPES else None
    if isinstance(kind, list):
        return [name for name in (str(each).lower() for each in kind) if name in TYPES] or None
    return None


def _fits(key: str, value: object) -> bool:
    """Whether a key has a value of the kind it must have, as far as others would stumble over it."""
    if key in ("enum", "examples"):
        return isinstance(value, list)
    if key == "required":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if key in ("minLength", "maxLength"):
        return isinstance(value, int)
    if key in ("minimum", "maximum"):
        return isinstance(value, int | float)
    return key == "default" or isinstance(value, str)
