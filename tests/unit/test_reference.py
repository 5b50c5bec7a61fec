import re
from pathlib import Path

import pytest

from ostinato._core.base import errortree, metrics
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.observe import figures
from tools import generated, http, python, reference, surface


def test_a_function_is_listed_with_its_signature_and_the_comment_above_it() -> None:
    text = """
-- The head of the file.

-- Adds a job,
-- and returns its id.
create function ostinato.enqueue_job(
    kind text,
    args json default '{}'
) returns bigint language plpgsql as $$ begin end $$;

create or replace function ostinato.tidy(after numeric(3, 1)) returns table (n integer, at text)
set search_path = pg_catalog language sql as $$ select 1 $$;
"""

    assert list(reference.sql_functions(text)) == [
        (
            "ostinato.enqueue_job(\n    kind text,\n    args json default '{}'\n) returns bigint",
            "Adds a job, and returns its id.",
        ),
        ("ostinato.tidy(after numeric(3, 1)) returns table (n integer, at text)", ""),
    ]


def test_every_declared_error_and_metric_is_on_its_page() -> None:
    pages = reference.pages()

    assert all(f"`{cls.code}`" in pages["errors.md"] for cls in errortree.tree())
    of_apps = figures.figures_of(installed_apps()).values()
    declared = (*metrics.METRICS, *(metric for each in of_apps for metric in each.metrics))
    assert all(f"`{metric.name}`" in pages["metrics.md"] for metric in declared)
    assert len({metric.name for metric in declared}) == len(declared)


def test_every_request_is_on_the_http_page_with_who_may_make_it() -> None:
    page = http.page()

    for path, item in http.document()["paths"].items():
        for method in item:
            assert f"| `{method.upper()} {path}` |" in page
    assert "| `GET /api/v1/engine/jobs` | `list_jobs` |" in page
    assert "**`kind`**" in page
    assert "`engine.read`" in page
    assert "202 `Enqueued`" in page


def test_every_public_name_is_on_the_python_page_and_no_private_place() -> None:
    page = python.page()

    for module in surface.MODULES:
        for name in surface.names_of(f"ostinato.{module}"):
            assert re.search(rf"\b{name}\b", page), f"{module}.{name}"
    assert "ostinato._" not in page


def test_a_function_is_shown_as_it_is_written_and_entered() -> None:
    page = python.page()

    assert "async def ring(conn: AsyncConnection, queue: str) -> bool\n" in page
    assert "reason: str = 'cancelled by request'" in page
    assert "with flow(\n" in page
    assert "- `poll_seconds: float = 1.5`: Longest time between two looks" in page


def test_pages_that_were_just_written_are_up_to_date(tmp_path: Path) -> None:
    assert generated.write(reference.pages(), reference.FOLDER, ["--folder", str(tmp_path)]) == 0

    assert generated.stale(reference.pages(), tmp_path) == []
    assert generated.write(reference.pages(), reference.FOLDER, ["--check", "--folder", str(tmp_path)]) == 0


def test_a_stale_page_is_named_and_left_alone_by_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generated.write(reference.pages(), reference.FOLDER, ["--folder", str(tmp_path)])
    (tmp_path / "errors.md").write_text("old", encoding="utf-8")

    assert generated.write(reference.pages(), reference.FOLDER, ["--check", "--folder", str(tmp_path)]) == 1
    assert "errors.md is out of date: run `make reference`" in capsys.readouterr().out
    assert (tmp_path / "errors.md").read_text(encoding="utf-8") == "old"
