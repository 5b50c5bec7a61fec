"""Names the models of the OpenAPI document, because generators of clients make a class of each.

A model keeps the name of its class, and before that of an application stands the application's name, as it does in
the ids of operations. So no two models have one name, and no name depends on which applications are installed.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_PLACE = "#/components/schemas/"
_REFERENCE = re.compile(rf'(?<="{_PLACE})[^"]+(?=")')

Document = dict[str, Any]


def name_models(document: Document, owner_of: Callable[[str], str]) -> Document:
    """Return the document with its models renamed; `owner_of` says of a tag which application's it is, or ""."""
    schemas: Document = document.get("components", {}).get("schemas", {})
    owners = _owners(document, schemas, owner_of)
    names: dict[str, str] = {}
    for name in sorted(schemas, key=lambda each: (owners.get(each, ""), "__" in each, each)):
        plain = name.rpartition("__")[2]  # FastAPI puts the module before the names of two classes that are alike
        prefix = owners.get(name, "").capitalize()
        wanted = plain if plain.startswith(prefix) else f"{prefix}{plain}"
        names[name] = name if wanted in names.values() else wanted
    renamed: Document = json.loads(_REFERENCE.sub(lambda found: names.get(found[0], found[0]), json.dumps(document)))
    if schemas:
        made = renamed["components"]["schemas"]
        renamed["components"]["schemas"] = {new: made[old] | {"title": new} for old, new in sorted(names.items())}
    return renamed


def _owners(document: Document, schemas: Document, owner_of: Callable[[str], str]) -> dict[str, str]:
    """Return the application of each model: the only one whose operations use it."""
    used: dict[str, set[str]] = {}
    for path in document.get("paths", {}).values():
        for operation in path.values():
            owner = owner_of(str((operation.get("tags") or [""])[0]))
            for name in _reached(operation, schemas):
                used.setdefault(name, set()).add(owner)
    return {name: owners.pop() for name, owners in used.items() if len(owners) == 1}


def _reached(operation: Document, schemas: Document) -> Iterator[str]:
    """Yield the models that an operation takes or returns, and those inside them."""
    todo, seen = [json.dumps(operation)], set[str]()
    while todo:
        for name in _REFERENCE.findall(todo.pop()):
            if name not in seen:
                seen.add(name)
                todo.append(json.dumps(schemas.get(name)))
                yield name
