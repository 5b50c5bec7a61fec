"""A client that is generated from the OpenAPI document: whole, importable, and it asks the real API."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.api.conftest import Api
from tests.house.source import ROOT
from tests.needs import needs
from tools import http

ENGINE = "/api/v1/engine"
GENERATOR = ROOT / ".generator" / "bin"
READ = """
import importlib, json, pkgutil, sys
import client
names = [each.name for each in pkgutil.walk_packages(client.__path__, "client.")]
for name in names:
    importlib.import_module(name)
from client.api.jobs import list_jobs, show_job
from client.models import JobPage, Problem
body = json.loads(sys.stdin.read())
page, problem = JobPage.from_dict(body["page"]), Problem.from_dict(body["problem"])
print(len(names), page.items[0].kind, problem.code)
"""


def run(folder: Path, *words: str | Path, told: str = "") -> str:
    """Run a program of the generator's environment, and return what it said."""
    ran = subprocess.run(
        words,
        cwd=folder,
        env=os.environ | {"PATH": f"{GENERATOR}{os.pathsep}{os.environ['PATH']}"},
        input=told,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    return ran.stdout


@pytest.mark.slow
@needs("generator", here=GENERATOR.is_dir(), reason="no generator of clients here: make .generator/ready")
async def test_a_generated_client_is_whole_and_reads_what_the_api_answers(api: Api, tmp_path: Path) -> None:
    """The generator leaves out what it cannot name or type, and says so in a warning."""
    document = http.document()
    (tmp_path / "openapi.json").write_text(json.dumps(document))

    words = ("openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "client", "--meta", "none")
    said = await asyncio.to_thread(run, tmp_path, *words)

    warned = [line for line in said.splitlines() if line.startswith(("WARNING", "Unable", "Unsupported", "Cannot"))]
    assert warned == ["WARNING parsing POST /v1/requests/batch within enrichment.", "Unsupported content type text/csv"]
    operations = {each["operationId"] for item in document["paths"].values() for each in item.values()}
    files = {path.stem for path in (tmp_path / "client" / "api").rglob("*.py")}
    assert operations - files == set()
    models = {path.stem.replace("_", "") for path in (tmp_path / "client" / "models").glob("*.py")}
    assert {name.lower() for name in document["components"]["schemas"]} - models == set()

    await api.call("POST", f"{ENGINE}/jobs", json={"kind": "app.task"})
    page, problem = await api.call("GET", f"{ENGINE}/jobs"), await api.call("GET", f"{ENGINE}/jobs/7")
    answers = json.dumps({"page": page.json(), "problem": problem.json()})
    read = await asyncio.to_thread(run, tmp_path, GENERATOR / "python", "-c", READ, told=answers)
    assert read.split()[1:] == ["app.task", "not_found"]
