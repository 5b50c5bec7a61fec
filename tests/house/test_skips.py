"""No test is left out in silence: what a machine may lack is asked for in one place, and the CI says what it has."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it has no types of its own

from tests.house.source import ROOT, findings, text_of
from tests.needs import MUST_RUN, TOOLS, lacking, must_run, needs

TESTS = tuple(sorted((ROOT / "tests").rglob("*.py")))
NEEDS = ROOT / "tests" / "needs.py"
LEFT_OUT = re.compile(r"pytest\.(?:skip\(|importorskip|mark\.skip)|unittest|\.skipTest")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(text_of(ROOT / ".github" / "workflows" / "ci.yml"))["jobs"]
INSTALLED = re.compile(r"apt-get install .*")
PACKAGES = {"tesseract": "tesseract-ocr", "rabbitmq": "rabbitmq-server", "nats": "nats-server"}
OTHERWISE = {"chromium": "/usr/local/bin/chromium", "generator": "make .generator/ready", "clone": "'fetch-depth': 0"}
"""What no package brings, and what shows that it is there."""


def test_a_test_is_left_out_by_one_helper_only() -> None:
    def find(path: Path) -> list[str]:
        return LEFT_OUT.findall(text_of(path))

    others = [path for path in TESTS if path not in (NEEDS, Path(__file__))]

    assert findings(others, find) == {}
    assert find(NEEDS)


def said(job: dict[str, Any]) -> set[str]:
    """What a job says that it has."""
    return set(re.sub(r"\$\{\{.*?\}\}", "15", job.get("env", {}).get(MUST_RUN, "")).split())


def installed(job: dict[str, Any]) -> set[str]:
    """The tools that the steps of a job install."""
    steps = "\n".join(f"{step.get('run', '')} {step.get('with', '')}" for step in job["steps"]).replace("\\\n", " ")
    lines = " ".join(INSTALLED.findall(steps))
    packages = set(re.sub(r"\$\{\{.*?\}\}", "15", lines).split())
    otherwise = {tool for tool, trace in OTHERWISE.items() if trace in steps}
    return {tool for tool in TOOLS if PACKAGES.get(tool, tool) in packages} | otherwise


def test_what_the_workflow_installs_must_be_used_there() -> None:
    assert {name: said(job) for name, job in JOBS.items()} == {name: installed(job) for name, job in JOBS.items()}


def test_what_the_local_run_finds_must_be_used_there_and_in_the_workflow() -> None:
    named = re.findall(r"&& echo \"?([a-z]+(?:-\$major)?)\"?$", text_of(ROOT / ".ci" / "run"), re.MULTILINE)
    of_the_matrix, of_root = {"postgresql-$major"}, {"hosts"}

    assert set(named) == said(JOBS["python"]) | of_the_matrix | of_root
    assert "postgresql-15" in said(JOBS["postgresql"])
    assert f'{MUST_RUN}="disk namespace root hosts"' in text_of(ROOT / ".github" / "workflows" / "ci.yml")
    assert f"\nexport {MUST_RUN}\n" in text_of(ROOT / ".ci" / "run")


@pytest.mark.parametrize("value", ["pgbouncer", "1", "faketime, pgbouncer"])
def test_where_a_tool_must_be_a_test_that_lacks_it_fails(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(MUST_RUN, value)

    with pytest.raises(pytest.fail.Exception, match=f"no pooler, but {MUST_RUN}"):
        lacking("pgbouncer", "no pooler")
    assert needs("pgbouncer", here=False, reason="no pooler").args == (False,)


@pytest.mark.parametrize("value", ["", "faketime"])
def test_elsewhere_it_is_skipped(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(MUST_RUN, value)

    with pytest.raises(pytest.skip.Exception, match="no pooler"):
        lacking("pgbouncer", "no pooler")
    assert needs("pgbouncer", here=False, reason="no pooler").args == (True,)
    assert needs("pgbouncer", here=True, reason="no pooler").args == (False,)


def test_a_name_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MUST_RUN, "pgbounce")

    with pytest.raises(pytest.UsageError, match="no pgbounce; there are"):
        must_run("pgbouncer")
