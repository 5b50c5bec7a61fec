"""Arguments from the command line, checked against the JSON schema that a worker registered for a kind.

It looks at the names and the plain types of an object's fields: what it does not know it lets
through, because the handler checks everything again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostinato._core.base.errors import InvalidInput
from ostinato._faces.cli.frame import words
from ostinato._faces.cli.frame.document import Raw

Schema = Mapping[str, Any]

TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
LOOSE = {"integer", "number", "boolean"}
"""A handler takes these as text too: "7" for 7."""


def fitted(kind: str, given: list[str], schema: Schema) -> Raw:
    """Return the arguments of a job as JSON; `card=4242` is text where the kind wants text."""
    args = words.named_args(given)
    values = json.loads(args)
    if not isinstance(values, dict):
        raise InvalidInput(f"args of {kind} must be a JSON object", hint='Such as {"id": 7}.')
    fields: Mapping[str, Schema] = schema.get("properties", {})
    texts = [name for name, value in values.items() if name in fields and _is_text(value, fields[name], schema)]
    if texts and not given[0].lstrip().startswith("{"):  # what is written as JSON means what it says
        args = words.named_args(given, texts=texts)
        values = json.loads(args)
    _check(kind, values, schema)
    return args


def _is_text(value: object, field: Schema, root: Schema) -> bool:
    """Return whether a number, a yes or no, or null stands where only a text may."""
    types = set(_types(field, root))
    return "string" in types and TYPES.get(type(value), "null") not in _wider(types)


def _check(kind: str, values: Mapping[str, Any], schema: Schema) -> None:
    fields: Mapping[str, Schema] = schema.get("properties", {})
    needed: Sequence[str] = schema.get("required", ())
    takes = f"It takes {', '.join(_said(name, each, schema) for name, each in fields.items()) or 'no arguments'}."
    unknown = [name for name in values if name not in fields] if schema.get("additionalProperties") is False else []
    missing = [name for name in needed if name not in values]
    if unknown or missing:
        parts = [f"has no argument {name!r}" for name in unknown] + [f"needs {name!r}" for name in missing]
        raise InvalidInput(f"{kind} {' and '.join(parts)}", hint=takes, kind=kind)
    for name, value in values.items():
        types = set(_types(fields.get(name, {}), schema))
        found = TYPES.get(type(value), "null")
        if not types or found in _wider(types) or (found == "string" and types & LOOSE and _reads(value)):
            continue
        shown = "" if fields[name].get("writeOnly") else f" ({json.dumps(value)[:60]})"  # a secret is not quoted
        raise InvalidInput(
            f"{name} of {kind} must be {' or '.join(sorted(types))}, not {found}{shown}", hint=takes, kind=kind
        )


def _wider(types: set[str]) -> set[str]:
    """Return the types of values that these types take: an integer is a number too."""
    return types | ({"integer"} if "number" in types else set())


def _reads(text: str) -> bool:
    """Return whether a handler would read a number, or yes or no, from a text."""
    try:
        float(text)
    except ValueError:
        return text.lower() in {"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n"}
    return True


def _types(field: Schema, root: Schema) -> Iterator[str]:
    """Yield the JSON types that a field takes; none: anything, or what is not known here."""
    if "$ref" in field:
        name = str(field["$ref"]).rpartition("/")[2]
        yield from _types(root.get("$defs", {}).get(name, {}), root)
    for each in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        inner = list(_types(each, root))
        if not inner:
            return
        yield from inner
    for value in field.get("enum", ()):
        yield TYPES.get(type(value), "null")
    if isinstance(field.get("type"), str) and "enum" not in field:
        yield field["type"]


def _said(name: str, field: Schema, root: Schema) -> str:
    types = " or ".join(dict.fromkeys(_types(field, root)))
    return f"{name} ({types})" if types else name
