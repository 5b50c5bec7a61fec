"""A route reads what it takes by a plan; what is not plainly right, FastAPI reads, and says what is wrong."""

from typing import Annotated, Any

import fastapi.routing
import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from pydantic import BaseModel, Field, model_validator

from ostinato._core.web.routes import Route, Router


class Thing(BaseModel):
    name: str = Field(min_length=1)
    size: int = 1


class Found(BaseModel):
    number: int
    said: str


async def sign(x_sign: Annotated[str, Header(max_length=5)] = "none") -> str:
    return f"<{x_sign}>"


Sign = Annotated[str, Depends(sign)]


async def add(number: int, body: Thing, sign: Sign, request: Request, kind: str | None = None) -> Found:
    return Found(number=number, said=f"{body.name} {body.size} {kind} {sign} {request.method}")


async def look(number: int, most: Annotated[int, Query(le=9)] = 3) -> Response:
    return Response(f"{number} {most}")


async def several(kind: Annotated[list[str] | None, Query()] = None) -> Found:
    return Found(number=len(kind or ()), said="")


def app_with(router: APIRouter, **options: Any) -> FastAPI:  # noqa: ANN401 - as our routers have them
    router.post("/things/{number}", status_code=201, **options)(add)
    router.get("/things/{number}", **options)(look)
    router.get("/several", **options)(several)
    app = FastAPI()
    app.router.routes.extend(router.routes)
    return app


async def asked(app: FastAPI, method: str, path: str, **given: Any) -> httpx.Response:  # noqa: ANN401 - as httpx
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        return await client.request(method, path, **given)


OURS = app_with(Router(), public=True, uncounted=True)
PLAIN = app_with(APIRouter())

RIGHT: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("POST", "/things/7", {"json": {"name": "n"}}),
    ("POST", "/things/7?kind=k", {"json": {"name": "n", "size": 4}, "headers": {"x-sign": "me"}}),
    ("GET", "/things/7", {}),
    ("GET", "/things/7?most=9", {}),
)
WRONG: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("POST", "/things/x", {"json": {"name": "n"}}),
    ("POST", "/things/7", {"json": {"name": ""}}),
    ("POST", "/things/7", {"json": {"size": "many"}, "headers": {"x-sign": "too long"}}),
    ("POST", "/things/7", {"json": [1]}),
    ("POST", "/things/7", {}),
    ("GET", "/things/7?most=10", {}),
    ("GET", "/things/7?most=", {}),
)


@pytest.mark.parametrize(("method", "path", "given"), RIGHT)
async def test_what_is_right_is_read_without_fastapi_and_answered_alike(
    method: str, path: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = await asked(PLAIN, method, path, **given)

    async def solve(**_: object) -> None:
        raise AssertionError("FastAPI was asked")

    monkeypatch.setattr(fastapi.routing, "solve_dependencies", solve)
    found = await asked(OURS, method, path, **given)

    assert (found.status_code, found.content, found.headers) == (wanted.status_code, wanted.content, wanted.headers)
    assert found.status_code in {200, 201}


@pytest.mark.parametrize(("method", "path", "given"), WRONG)
async def test_what_is_wrong_is_said_as_fastapi_says_it(method: str, path: str, given: dict[str, Any]) -> None:
    wanted = await asked(PLAIN, method, path, **given)
    found = await asked(OURS, method, path, **given)

    assert (found.status_code, found.json()) == (wanted.status_code, wanted.json())
    assert found.status_code == 422


async def test_what_a_plan_does_not_know_is_left_to_fastapi() -> None:
    (route,) = (each for each in OURS.router.routes if isinstance(each, Route) and each.path == "/several")

    assert route._plan is None
    assert (await asked(OURS, "GET", "/several?kind=a&kind=b")).json() == {"number": 2, "said": ""}


async def test_a_dependency_is_called_once_for_all_that_ask_for_it() -> None:
    calls = 0

    async def counting() -> int:
        nonlocal calls
        calls += 1
        return calls

    async def doubled(count: Annotated[int, Depends(counting)]) -> int:
        return 2 * count

    async def ask(
        count: Annotated[int, Depends(counting)], twice: Annotated[int, Depends(doubled)], size: int
    ) -> Found:
        return Found(number=count, said=f"{size} {twice}")

    router = Router()
    router.get("/count", public=True, uncounted=True)(ask)
    app = FastAPI()
    app.router.routes.extend(router.routes)

    assert (await asked(app, "GET", "/count?size=2")).json() == {"number": 1, "said": "2 2"}
    assert calls == 1

    async def anew(
        count: Annotated[int, Depends(counting, use_cache=False)], other: Annotated[int, Depends(counting)]
    ) -> Found:
        return Found(number=other - count, said="")

    router.get("/anew", public=True, uncounted=True)(anew)
    app.router.routes[:] = [*app.router.routes, router.routes[-1]]

    plain = FastAPI()
    plain.get("/anew")(anew)

    assert (await asked(app, "GET", "/anew")).json() == (await asked(plain, "GET", "/anew")).json()


async def test_a_body_that_validators_changed_is_refused_as_it_came() -> None:
    class Renamed(BaseModel):
        kind: str
        size: int

        @model_validator(mode="before")
        @classmethod
        def rename(cls, given: dict[str, Any]) -> dict[str, Any]:
            given["kind"] = given.pop("type")
            return given

    async def take(body: Renamed) -> Found:
        return Found(number=body.size, said=body.kind)

    router = Router()
    router.post("/renamed", public=True, uncounted=True)(take)
    app, plain = FastAPI(), FastAPI()
    app.router.routes.extend(router.routes)
    plain.post("/renamed")(take)

    body = {"json": {"type": "t", "size": "many"}}
    ours, theirs = await asked(app, "POST", "/renamed", **body), await asked(plain, "POST", "/renamed", **body)

    assert (ours.status_code, ours.json()) == (theirs.status_code, theirs.json())
    assert ours.status_code == 422
