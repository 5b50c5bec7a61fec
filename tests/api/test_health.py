"""Health, metrics, and the documents: open to all, and honest."""

import re

from openapi_spec_validator import validate

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.database import Database
from tests.api.conftest import Api
from tools import http


async def test_live_asks_nothing(api: Api) -> None:
    seen = await api.http.get("/health/live")
    assert seen.json() == {"status": "ok", "checks": []}


async def test_ready_says_what_was_looked_at(api: Api) -> None:
    seen = await api.http.get("/health/ready")
    assert seen.status_code == 200
    states = {check["name"]: check["state"] for check in seen.json()["checks"]}
    assert states == {"database": "ok", "migrations": "ok", "workers": "warn", "outbox": "ok"}
    assert seen.json()["status"] == "warn"


async def test_ready_is_no_when_the_database_is_away(api: Api) -> None:
    await api.parts.client._pool.close()
    nowhere = Database(url="host=/nowhere", admin_url="host=/nowhere", listen_url=None)
    api.parts.client = type(api.parts.client)(nowhere, Settings(call_timeout_seconds=0.2))
    async with api.parts.client:
        seen = await api.http.get("/health/ready")
    assert seen.status_code == 503
    assert seen.json()["checks"][0]["state"] == "fail"


async def test_ready_is_no_when_the_schema_does_not_fit(api: Api) -> None:
    before = await api.admin.execute("select pg_get_functiondef('ostinato.contract'::regproc)")
    (definition,) = await before.fetchone() or ("",)
    await api.admin.execute(
        "create or replace function ostinato.contract(out current integer, out oldest integer)"
        " language sql immutable as 'select 9, 9'"
    )
    try:
        seen = await api.http.get("/health/ready")
    finally:
        await api.admin.execute(definition)
    assert seen.status_code == 503
    assert [check["state"] for check in seen.json()["checks"]] == ["ok", "fail"]


async def test_metrics_have_the_engine_and_this_process(api: Api) -> None:
    await api.http.get("/health/live")
    page = await api.metrics()
    assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert re.search(
        r'^ostinato_http_requests_total\{method="GET",path="/health/live",status="200"\} 1\.0$', page.text, re.MULTILINE
    )
    assert re.search(r"^ostinato_workers 0\.0$", page.text, re.MULTILINE)


async def test_the_documents_need_no_outside_address(api: Api) -> None:
    page = await api.http.get("/docs")
    assert page.status_code == 200
    assert "http://" not in page.text
    assert "https://" not in page.text
    for path in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert (await api.http.get(path)).status_code == 200, path
    assert "script-src 'self'" in page.headers["content-security-policy"]


async def test_every_operation_of_the_document_is_complete(api: Api) -> None:
    document = (await api.http.get("/openapi.json")).json()
    names = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert operation.get("description"), where
            assert operation.get("tags"), where
            names.append(operation["operationId"])
            if "x-permission" in operation:
                assert {"401", "403", "422", "429", "503"} <= set(operation["responses"]), where
                assert operation["security"], where
    assert len(names) == len(set(names))
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+){0,5}", name)] == []
    assert {"list_jobs", "explain_job"} <= set(names)
    assert all(len(tag["description"]) > 10 for tag in document["tags"])


async def test_a_model_has_a_plain_name_that_no_other_has(api: Api) -> None:
    """Generators make a class of each: what is called as FastAPI calls two classes of one name, they leave out."""
    document = http.document()
    own = (await api.http.get("/openapi.json")).json()["components"]["schemas"]
    schemas = document["components"]["schemas"]

    assert [name for name in schemas if not re.fullmatch(r"[A-Z][A-Za-z]+", name)] == []
    assert [name for name, schema in schemas.items() if schema["title"] != name] == []
    assert {"JobView", "OutboundStatus", "RoundsStatus", "WatchfolderJobView"} <= schemas.keys()
    assert {name for name in own if not name.startswith("Shop")} <= schemas.keys()


async def test_an_error_is_a_problem_document_and_nothing_else(api: Api) -> None:
    document = (await api.http.get("/openapi.json")).json()

    refused = document["paths"]["/api/v1/engine/jobs/{job_id}"]["get"]["responses"]["404"]["content"]

    assert list(refused) == ["application/problem+json"]
    assert refused["application/problem+json"]["schema"] == {"$ref": "#/components/schemas/Problem"}


async def test_the_document_is_valid_openapi(api: Api) -> None:
    """What generators of clients read: a document that breaks the standard breaks them."""
    validate((await api.http.get("/openapi.json")).json())


async def test_the_type_of_a_problem_leads_to_its_page(api: Api) -> None:
    problem = (await api.http.get("/nothing")).json()
    page = await api.http.get(problem["type"])
    assert page.status_code == 200
    assert "not_found" in page.text
    assert (await api.http.get("/problems/no_such_code")).status_code == 404
