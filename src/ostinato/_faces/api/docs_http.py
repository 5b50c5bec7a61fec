"""`/docs`: the interactive documentation; `/problems`: what the errors mean.

All files are served from here, so it works without the Internet.
"""

import html
import inspect
from collections.abc import Callable
from importlib import resources
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.staticfiles import StaticFiles

from ostinato._core.base import errortree
from ostinato._core.base.errors import NotFound
from ostinato._core.web.problems import MEDIA_TYPE, title_of
from ostinato._core.web.routes import SCHEMES, Router
from ostinato._faces.api.schema_names import name_models

STATIC = "/docs/static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Ostinato API</title>
<link rel="stylesheet" href="{STATIC[1:]}/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{STATIC[1:]}/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
START = """window.ui = SwaggerUIBundle({
  url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, persistAuthorization: false,
  validatorUrl: null, presets: [SwaggerUIBundle.presets.apis],
});
"""

TAGS = {
    "jobs": "Add jobs, look at them, ask why one waits; retry, cancel, move, restart and signal them; many at once.",
    "events": "What was emitted, and who got it.",
    "queues": "What waits and runs in each queue.",
    "workers": "The processes that run jobs.",
    "schedules": "What fires when, in its own time zone; made, moved, paused, previewed.",
    "dead letters": "Jobs that failed for good, grouped by their error.",
    "records": "Keys, leases, webhooks, subscriptions, transitions and the trail of a request.",
    "webhooks": "Links by which a customer looks after its own endpoints.",
    "alerts": "What is wrong now, what to do, and silences.",
    "audit": "Who did what; and the erasure of a person.",
    "panels": "What applications show in the console.",
    "installation": "What concerns all tenants: queues, workers, subscriptions, figures.",
    "operations": "Whether the server lives, and is ready.",
}
"""Each tag of the engine's routes has a line on what it is about."""

router = Router(include_in_schema=False)


def mount(app: FastAPI) -> None:
    """Add the files that the pages need to an application."""
    files = resources.files("fastapi_offline") / "static"
    app.mount(STATIC, StaticFiles(directory=str(files)), name="docs_static")


def describe(app: FastAPI) -> None:
    """Add to the OpenAPI document what the routes check themselves."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = name_models(_with_problems(made()), _owner)
            document.setdefault("components", {})["securitySchemes"] = SCHEMES
            document["tags"] = [{"name": name, "description": texts[name]} for name in _tags_of(document)]
            app.openapi_schema = document
        return app.openapi_schema

    texts = _name_operations(app)
    app.openapi = openapi  # type: ignore[method-assign]


def _name_operations(app: FastAPI) -> dict[str, str]:
    """Give every route the id that generated clients call it by; returns the texts of all tags.

    An id is the name of the function; before that of an application stands its name. So no id depends
    on which other applications are installed.
    """
    texts = dict(TAGS)
    for route in app.routes:
        if isinstance(route, APIRoute) and route.tags:
            tag = str(route.tags[0])
            owner = f"{_owner(tag)}_" if _owner(tag) else ""
            route.operation_id = f"{owner}{route.name.removeprefix(owner)}"
            if tag not in TAGS:
                texts[tag] = _first_sentence(route.endpoint)
    return texts


def _with_problems(document: dict[str, Any]) -> dict[str, Any]:
    """Give the model of a problem the media type that problems are sent as; FastAPI has it under plain JSON."""
    for path in document["paths"].values():
        for operation in path.values():
            for answer in operation["responses"].values():
                content = answer.get("content", {})
                if "schema" not in content.get(MEDIA_TYPE, {"schema": None}) and "application/json" in content:
                    content[MEDIA_TYPE] |= content.pop("application/json")
    return document


def _owner(tag: str) -> str:
    """Return the application that a tag belongs to; empty for the engine."""
    return "" if tag in TAGS else tag.partition(" ")[0]


def _first_sentence(endpoint: Callable[..., object]) -> str:
    """Return what the module of a route says about itself."""
    text = inspect.getdoc(inspect.getmodule(endpoint)) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _tags_of(document: dict[str, Any]) -> list[str]:
    found = [tag for path in document["paths"].values() for operation in path.values() for tag in operation["tags"]]
    return list(dict.fromkeys(found))


@router.get("/docs", public=True)
async def docs() -> Response:
    """Serve the interactive API document."""
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY})


@router.get("/docs/start.js", public=True)
async def start() -> Response:
    """Serve the script that starts the document: the security policy forbids inline scripts."""
    return Response(START, media_type="text/javascript")


@router.get("/problems/{code}", public=True)
async def about_problem(code: str) -> Response:
    """Explain what a problem's code means, and what to do about it."""
    kind = next((kind for kind in errortree.tree() if kind.code == code), None)
    if kind is None:
        raise NotFound(f"there is no problem {code[:100]!r}", hint="Look at `type` again.")
    about = (kind.__doc__ or "").strip()
    lines = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{kind.code}</title>",
        f"<h1>{html.escape(title_of(kind))}</h1>",
        f"<p><code>{kind.code}</code>, status {kind.status or 500}</p>",
        f"<p>{html.escape(about)}</p>",
        f"<p>{html.escape(kind.hint or '')}</p></html>",
    ]
    policy = {"Content-Security-Policy": "default-src 'none'"}
    return HTMLResponse("\n".join(lines), headers=policy)
