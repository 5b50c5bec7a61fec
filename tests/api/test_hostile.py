"""Names and documents that nobody means well with, sent to every route that takes some: never an error of ours."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from ostinato._core.base.settings import Settings
from ostinato._core.web.routes import Route
from tests.api.conftest import Api

NAMES = (
    "'; drop table ostinato_data.job; --",
    '"; select pg_sleep(60); --',
    "') or true --",
    "$$ || current_user || $$",
    "%s %(tenant_id)s {0}",
    "a\\",
    "\u202e\ufeff\u0301é",
    "n" * 64,
    "é" * 100,
)
JSON = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"[" * 100_000,
    b'{"kind":' * 500,
    b'{"kind": "app.task", "kind": "app.other"}',
    b'{"kind": "app.task", "args": {"n": NaN}}',
    b'{"kind": "app.task", "args": {"n": Infinity}}',
    b'{"kind": "app.task", "args": {"n": 1e999}}',
    b'{"kind": "app.task", "args": {"n": ' + b"9" * 5_000 + b"}}",
    b'{"kind": "app.task", "args": {"n": "\\ud800"}}',
    b'{"kind": "app.task", "args": {"n": "\\u0000"}}',
    b'{"kind": "app.task", "args": {"\\u0000": 1}}',
    b'{"kind": "app.task\\u0000"}',
    b'{"kind": "app.task"} {}',
    b'{"kind": "app.task",}',
    b'\xef\xbb\xbf{"kind": "app.task"}',
    b'{"kind": "\xff"}',
    '{"kind": "app.task"}'.encode("utf-16"),
    b"\x1f\x8b\x08\x00",
)
"""None of them is a job: they are read in two ways, cannot be stored, or are no JSON."""
HEADERS = {"Content-Type": "application/json"}


@pytest.fixture
def api_settings() -> Settings:
    return Settings(api_rate_per_minute=1_000_000)


def addresses(api: Api) -> Iterator[tuple[str, str]]:
    """Every GET of the engine with each of the hostile names in each place that takes a text, and what it is."""
    for route in api.app.routes:
        if not isinstance(route, Route) or "GET" not in (route.methods or ()) or route.needs is None:
            continue
        for name in NAMES:
            yield route.path, _filled(route.path, quote(name, safe=""))
        for field in route.dependant.query_params:
            for name in NAMES[:: len(NAMES) // 2]:
                yield route.path, f"{_filled(route.path, 'none')}?{field.alias}={quote(name, safe='')}"


def _filled(path: str, text: str) -> str:
    parts = (
        part if not part.startswith("{") else "1" if part.endswith(":digits}") else text for part in path.split("/")
    )
    return "/".join(parts)


async def standing(api: Api) -> Any:  # noqa: ANN401 - rows
    """The tables that there are."""
    text = "select c.oid from pg_class c where c.relnamespace = 'ostinato_data'::regnamespace order by 1"
    return await (await api.admin.execute(text)).fetchall()


@pytest.mark.slow
async def test_a_hostile_name_is_found_nowhere_and_runs_nothing(api: Api) -> None:
    before = await standing(api)
    wrong = []
    for route, address in dict.fromkeys(addresses(api)):
        answer = await api.call("GET", address, roles=("admin", "ops", "installation"))
        if not 200 <= answer.status_code < 500:
            wrong.append((route, address, answer.status_code))
    for name in NAMES:
        fields = {
            "kind": "app.task",
            "correlation_id": name,
            "limit_key": name,
            "unique_key": name,
            "args": {name: name},
        }
        stored = await api.call("POST", "/api/v1/engine/jobs", json=fields)
        shown = await api.call("GET", "/api/v1/engine/jobs", params={"correlation_id": name, "text": name})
        found = [job["correlation_id"] for job in shown.json().get("items", [])]
        if (stored.status_code, found) != (202, [name]) and stored.status_code != 422:
            wrong.append(("POST /jobs", name, stored.status_code))
        for field in ("kind", "queue"):
            refused = await api.call("POST", "/api/v1/engine/jobs", json={"kind": "app.task", field: name})
            if refused.status_code not in (403, 422):
                wrong.append((f"POST /jobs {field}", name, refused.status_code))

    assert wrong == []
    assert await standing(api) == before


@pytest.mark.parametrize("body", JSON, ids=range(len(JSON)))
async def test_a_document_that_is_no_job_is_refused_and_adds_none(api: Api, body: bytes) -> None:
    answer = await api.call("POST", "/api/v1/engine/jobs", content=body, headers=HEADERS)

    assert 400 <= answer.status_code < 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert await (await api.admin.execute("select from ostinato_data.job")).fetchall() == []
