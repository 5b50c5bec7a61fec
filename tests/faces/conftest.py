"""The command line on a real database: one server per test process, and an empty
engine at the start of each test.
"""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from typer.testing import CliRunner, Result

from ostinato._core.base import log
from ostinato._core.base.settings import CONFIG
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.migrate import migrate
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.frame.schema import components
from ostinato._faces.cli.main import app
from tests.conftest import copy_of_engine, empty

# Deleting what a test left takes a hundredth of the time of a database of its own.
EMPTY = """
do $$
declare
    v_table text;
begin
    for v_table in
        select c.oid::regclass::text from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind = 'r'
          and c.relname not in ('migration', 'tick', 'test_clock')
    loop
        execute format('delete from %s', v_table);
    end loop;
end
$$
"""


class Shell:
    """Types commands, as a user of this database would."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env

    def run(self, *args: str, code: int = 0, env: dict[str, str] | None = None, stdin: str | None = None) -> Result:
        """Run a command, which must end with this exit code."""
        # --config names its file in the environment, for processes that a command starts: with a
        # value of ours here, the runner takes that back after the command.
        given = {CONFIG: None} | self.env | (env or {})
        result = CliRunner().invoke(app, list(args), env=given, input=stdin)
        assert result.exit_code == code, f"{args}: {result.stdout}\n{result.stderr}"
        return result

    def __call__(self, *args: str) -> str:
        """What a command that succeeds says on stdout."""
        return self.run(*args).stdout

    def json(self, *args: str, code: int = 0) -> Any:  # noqa: ANN401 - the document of the command
        """What a command answers with --json."""
        return json.loads(self.run(*args, "--json", code=code).stdout)

    def fails(self, *args: str, code: int = 1) -> str:
        """What a command that fails says on stderr; stdout stays empty."""
        result = self.run(*args, code=code)
        assert result.stdout == ""
        return " ".join(result.stderr.split())


class Place:
    """A database, with shortcuts into the states that jobs can be in."""

    def __init__(self, urls: Urls) -> None:
        self.urls = urls
        self.conn = psycopg.connect(urls.admin, autocommit=True)

    def call(self, call: str, *params: object) -> Any:  # noqa: ANN401 - whatever SQL returns
        row = self.conn.execute(f"select {call}".encode(), params).fetchone()
        return row[0] if row else None

    def enqueue(self, kind: str = "mail.send", args: str = "{}", **options: object) -> int:
        names = ", ".join(f"{name} => %s" for name in options)
        more = f", {names}" if names else ""
        return int(self.call(f"ostinato.enqueue_job(%s, %s{more})", kind, args, *options.values()))

    def worker(self, name: str = "w1", *, kinds: tuple[str, ...] = ("mail.send",)) -> UUID:
        queues = ["default", "mail"]
        lasting = 600  # seconds: one that does not beat, and is alive for as long as any test takes
        made = self.call("ostinato.register_worker(%s, %s, %s, %s)", name, queues, list(kinds), lasting)
        return UUID(str(made))

    def claim(self, worker: UUID, queue: str = "default") -> list[tuple[int, int, int]]:
        """Claim everything: (claim, job, attempt) of each."""
        return self.conn.execute(
            "select claim_id, job_id, attempt from ostinato.claim_jobs(%s, %s, 100)", [worker, queue]
        ).fetchall()

    def bury(self, *, kind: str = "mail.send", message: str = "no such mailbox", **options: object) -> int:
        """A job that died of an error."""
        job = self.enqueue(kind, str(options.pop("args", "{}")), **options)
        queue = str(options.get("queue", "default"))
        held = [line for line in self.claim(self.worker(), queue) if line[1] == job]
        error = json.dumps({"type": "ValueError", "message": message, "traceback": "Trace: here"})
        for claim, job_id, attempt in held:
            self.conn.execute(
                "select ostinato.fail_jobs(%s, %s, %s, %s, %s, %s, %s, %s)",
                [[claim], [job_id], [attempt], [None], [error], [message], ["permanent_error"], [7]],
            )
        return job


@pytest.fixture(scope="session")
def _urls(shared_server: Server) -> Urls:
    urls = copy_of_engine(shared_server, "faces")
    asyncio.run(migrate(urls.admin, components(installed_apps())))
    return urls


@pytest.fixture
def place(_urls: Urls) -> Iterator[Place]:
    """A migrated database with nothing in it."""
    empty(_urls.admin, EMPTY)
    made = Place(_urls)
    yield made
    made.conn.close()


@pytest.fixture
def environ(place: Place) -> dict[str, str]:
    """What a process needs to find the database."""
    urls = place.urls
    return {
        "OSTINATO_DATABASE_URL": urls.worker,
        "OSTINATO_ADMIN_URL": urls.admin,
        "OSTINATO_API_DATABASE_URL": urls.api,
    }


@pytest.fixture
def shell(environ: dict[str, str]) -> Shell:
    return Shell(environ)


@pytest.fixture(autouse=True)
def _away_from_home(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    """No command may touch the .ostinato or ostinato.toml of the folder that tests run in."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    log.be_quiet()
