"""Tools of external agents: their JSON schemas in any dialect, reduced to what every provider supports."""

import json
from collections.abc import Mapping
from typing import Any

from assay.agents.external.protocols.base import MAX_SCHEMA_CHARACTERS, MAX_SCHEMA_NODES, Malformed, RequestLimits
from assay.models import Tool

KEPT_KEYS = (
    "format", "description", "default", "enum", "required", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "examples",
)  # fmt: skip
TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
IGNORED_KEYS = ("$schema", "$defs", "definitions", "title", "strict", "additionalProperties", "nullable")
CONVERTED_KEYS = ("type", "properties", "items", "anyOf", "oneOf", "const")
_KNOWN_KEYS = frozenset((*KEPT_KEYS, *IGNORED_KEYS, *CONVERTED_KEYS))
MAX_DESCRIBED = 4_000
MAX_SCHEMA_DEPTH = 12


def make_tool(name: str, description: str, schema: Mapping[str, Any], limits: RequestLimits) -> Tool:
    """Return a tool; parts of its schema that not every provider supports are described in its description instead."""
    converter = _SchemaConverter(name, schema, limits)
    converted = converter.convert(schema)
    properties = converted.get("properties", {})
    required = [field for field in converted.get("required", []) if field in properties]
    if converter.lossy:
        written = json.dumps(schema)
        if len(written) <= MAX_DESCRIBED:
            description += f"\n\nThe JSON schema of its arguments: {written}"
    return Tool(
        name=name,
        description=description or name,
        parameters={"type": "object", "properties": properties, "required": required},
    )


class _SchemaConverter:
    """Converts the schema of one tool, which is untrusted: references can make a small schema expand without end.

    References that lead back to themselves are not followed, and the result is limited in nodes and characters.
    """

    def __init__(self, name: str, root: Mapping[str, Any], limits: RequestLimits) -> None:
        self.lossy = False
        self._name = name
        self._root = root
        self._limits = limits
        self._nodes = MAX_SCHEMA_NODES
        self._characters = MAX_SCHEMA_CHARACTERS
        self._kept: dict[int, tuple[dict[str, Any], int]] = {}
        self._open_references: set[str] = set()

    def convert(self, schema: object, depth: int = 0) -> dict[str, Any]:
        if not isinstance(schema, dict) or depth > MAX_SCHEMA_DEPTH:
            self.lossy = True
            return {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._follow(reference, depth)
        kept = self._keep_values(schema)
        if isinstance(schema.get("properties"), dict):
            inner = schema["properties"].items()
            kept["properties"] = {str(name): self.convert(each, depth + 1) for name, each in inner}
        if isinstance(schema.get("items"), dict):
            kept["items"] = self.convert(schema["items"], depth + 1)
        choices = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), None)
        if choices:
            kept["anyOf"] = [self.convert(choice, depth + 1) for choice in choices]
        return kept

    def _follow(self, reference: str, depth: int) -> dict[str, Any]:
        target: object = self._root
        for part in reference.removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, dict) else None
        if target is None or reference in self._open_references:
            self.lossy = True
            return {}
        self._open_references.add(reference)
        converted = self.convert(target, depth + 1)
        self._open_references.remove(reference)
        return converted

    def _keep_values(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return what is kept of a node apart from nested schemas, and count it against the limits.

        The work is done once per node, however often references lead to it.
        """
        if id(schema) not in self._kept:
            kept = {
                key: schema[key] for key in KEPT_KEYS if schema.get(key) is not None and _is_valid(key, schema[key])
            }
            if kind := _convert_type(schema.get("type")):
                kept["type"] = kind
            if "const" in schema:
                kept["enum"] = [schema["const"]]
            if any(key not in _KNOWN_KEYS for key in schema):
                self.lossy = True
            names = schema["properties"] if isinstance(schema.get("properties"), dict) else {}
            self._kept[id(schema)] = kept, len(json.dumps(kept)) + sum(map(len, names))
        kept, length = self._kept[id(schema)]
        self._limits.take_schema_node(length)
        self._nodes -= 1
        self._characters -= length
        if self._nodes < 0 or self._characters < 0:
            raise Malformed(f"the schema of the tool {self._name[:100]!r} is too large")
        return dict(kept)


def _convert_type(kind: object) -> str | list[str] | None:
    """Return the type in lower case; Google writes it in upper case."""
    if isinstance(kind, str):
        return kind.lower() if kind.lower() in TYPES else None
    if isinstance(kind, list) and len(kind) <= len(TYPES):
        return [name for name in (str(each).lower() for each in kind) if name in TYPES] or None
    return None


def _is_valid(key: str, value: object) -> bool:
    """Return whether a key has a value of the type that providers require."""
    if key in ("enum", "examples"):
        return isinstance(value, list)
    if key == "required":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if key in ("minLength", "maxLength"):
        return isinstance(value, int)
    if key in ("minimum", "maximum"):
        return isinstance(value, int | float)
    return key == "default" or isinstance(value, str)
