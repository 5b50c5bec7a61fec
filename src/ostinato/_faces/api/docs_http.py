"""`/docs`: the interactive documentation; `/problems`: what the errors mean.

All files are served from here, so it works without the Internet.
"""

import html
from importlib import resources
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

from ostinato._core.base import errortree
from ostinato._core.base.errors import NotFound
from ostinato._core.web.problems import title_of
from ostinato._core.web.routes import SCHEMES, Router

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
<link rel="stylesheet" href="{STATIC}/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="{STATIC}/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
START = """window.ui = SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, persistAuthorization: false,
  validatorUrl: null, presets: [SwaggerUIBundle.presets.apis],
});
"""

router = Router(include_in_schema=False)


def mount(app: FastAPI) -> None:
    """Add the files that the pages need to an application."""
    files = resources.files("fastapi_offline") / "static"
    app.mount(STATIC, StaticFiles(directory=str(files)), name="docs_static")


def describe(app: FastAPI) -> None:
    """Add to the OpenAPI document what the routes check themselves."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        document.setdefault("components", {})["securitySchemes"] = SCHEMES
        return document

    app.openapi = openapi  # type: ignore[method-assign]


@router.get("/docs", public=True)
async def docs() -> Response:
    """The interactive document."""
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY})


@router.get("/docs/start.js", public=True)
async def start() -> Response:
    """The script that starts it: the security policy forbids inline scripts."""
    return Response(START, media_type="text/javascript")


@router.get("/problems/{code}", public=True)
async def about_problem(code: str) -> Response:
    """What a code of a problem means, and what to do about it."""
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
