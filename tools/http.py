"""Writes the page of the HTTP reference from the routes that the API and the applications declare."""

from collections.abc import Iterable, Iterator
from typing import Any

from fastapi import FastAPI

from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.api import docs_http, server
from tools.generated import one_line, table

ABOUT = (
    "# HTTP\n\n"
    "What `ostinato api` answers, by part; `/openapi.json` of a running server has every model, and `/docs` shows it "
    "in a browser. [The API](../api.md) says who may ask, what errors look like and how a request is repeated safely. "
    "Names in **bold** must be given; a `?` marks those of the query. Every request may also be answered by an "
    "[error](errors.md)."
    "\n\nGenerators of clients name their functions by the operation, and their classes by the model: "
    "`openapi-python-client generate --url http://127.0.0.1:8080/openapi.json` makes one that our tests make too.\n"
)
Document = dict[str, Any]


def document() -> Document:
    """Return the OpenAPI document of all installed applications, without a server."""
    app = FastAPI(title="Ostinato", version=server.VERSION, generate_unique_id_function=lambda route: route.name)
    for router in server.routers_of(installed_apps()):
        app.router.routes.extend(router.routes)
    docs_http.describe(app)
    return app.openapi()


def page() -> str:
    """Return the page."""
    found = document()
    parts = [f"\n## {tag['name']}\n\n{tag['description']}\n\n{_rows(found, tag['name'])}" for tag in found["tags"]]
    return ABOUT + "".join(parts)


def _rows(found: Document, tag: str) -> str:
    rows = [
        (
            f"`{method.upper()} {path}`",
            f"`{operation['operationId']}`",
            one_line(operation.get("description", "")),
            ", ".join(_takes(operation, found)),
            ", ".join(_gives(operation)),
            f"`{needed['name']}`" if (needed := operation.get("x-permission")) else "public",
        )
        for path, item in found["paths"].items()
        for method, operation in item.items()
        if operation["tags"][0] == tag
    ]
    return table(("Request", "Operation", "What it does", "Takes", "Answers", "Permission"), rows)


def _takes(operation: Document, found: Document) -> Iterator[str]:
    for each in operation.get("parameters", ()):
        if each["in"] == "query":
            yield _named(f"{each['name']}?", needed=bool(each.get("required")))
    for content in operation.get("requestBody", {}).get("content", {}).values():
        given = content.get("schema", {})
        chosen = next((each for each in (given, *given.get("anyOf", ())) if "$ref" in each), {"$ref": ""})
        schema = found["components"]["schemas"].get(chosen["$ref"].rpartition("/")[2], {})
        needed = schema.get("required", ())
        yield from (_named(name, needed=name in needed) for name in schema.get("properties", {}))


def _gives(operation: Document) -> Iterable[str]:
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            models = [each.get("schema", {}).get("$ref", "") for each in answer.get("content", {}).values()]
            named = [f" `{model.rpartition('/')[2]}`" for model in models if model]
            yield f"{status}{named[0] if named else ''}"


def _named(name: str, *, needed: bool) -> str:
    return f"**`{name}`**" if needed else f"`{name}`"
