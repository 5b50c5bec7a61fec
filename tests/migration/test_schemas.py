"""A database whose helpers still stand in `ostinato` gets three schemas, with its data in it."""

import asyncio
import re
import shutil
from pathlib import Path

from ostinato._core.db.bundle import Component
from ostinato._core.db.embedded import Server
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE
from tests.schemas import internal_functions
from tests.sql.engine import Held, Session, refused
from tests.sql.machinery import table_of

SCHEMAS = ("ostinato", "ostinato_internal")
SPLIT = 26  # the migration that moves what triggers and guards name
ENGINE_SQL = Path(__file__).parents[2] / "src" / "ostinato" / "_core" / "engine" / "sql"
IN_PUBLIC = "select p.proname from pg_proc p where p.pronamespace = 'ostinato'::regnamespace and p.proname = any (%s)"


def engine_of_two_schemas(folder: Path) -> Component:
    """The engine before: the same tables and functions, all of those in `ostinato`.

    The tables are those of today, because its functions are; the migration that moves what triggers
    name finds nothing to move in a new database.
    """
    shutil.copytree(ENGINE_SQL, folder)
    files = [path for path in folder.rglob("*.sql") if path.parent.name != "tables"]
    made = "\n".join(path.read_text(encoding="utf-8") for path in files)
    public, helpers = (set(re.findall(rf"create function {schema}\.(\w+)", made)) for schema in SCHEMAS)
    # A verb and its work may have the same name today: then that of the work was another.
    twins = re.compile(rf"ostinato_internal\.({'|'.join(public & helpers)})\b")
    for path in files:
        if path.parent.name != "tables":
            text = twins.sub(r"ostinato.work_of_\1", path.read_text(encoding="utf-8"))
            path.write_text(text.replace("ostinato_internal", "ostinato"), encoding="utf-8")
    return Component("engine", folder, ("ostinato",))


def split(admin: Session) -> None:
    """Apply the migration that moves what triggers and guards name, now that there is something."""
    (step,) = [step for step in ENGINE.tables if step.version == SPLIT]
    admin.rows("set role ostinato_owner")
    admin.conn.execute(step.text.encode())
    admin.rows("reset role")


def test_an_upgrade_moves_the_helpers_and_keeps_data_and_guards(shared_server: Server, tmp_path: Path) -> None:
    urls = shared_server.create_database("three_schemas")
    asyncio.run(migrate(urls.admin, [engine_of_two_schemas(tmp_path / "before")]))
    admin, worker = Session.open(urls.admin), Session.open(urls.worker)
    helpers = sorted(internal_functions())
    assert len(admin.rows(IN_PUBLIC, helpers)) == len(helpers)

    with table_of(admin) as table:
        invoice = table.add()
        table.happen(worker, invoice, "send", changes={"sent_at": "2026-03-02"})
        ready, held = worker.enqueue(), worker.enqueue("app.other", queue="other")
        claimed = worker.claim_one(worker.worker(), queue="other")
        split(admin)
        asyncio.run(migrate(urls.admin, [ENGINE]))

        # The helpers are gone from the public schema; the session of a worker from before goes on.
        assert admin.rows(IN_PUBLIC, helpers) == []
        assert claimed.id == held
        assert worker.call("complete_jobs", **fence(claimed)) == []
        assert [worker.state(job) for job in (ready, held)] == ["ready", "done"]
        # Triggers and guards of the application's table still refuse, allow and log.
        with refused("OS424", "cannot be written"):
            admin.rows("update billing.invoice set state = 'paid' where id = %s", invoice)
        table.happen(worker, invoice, "pay", changes={"receipt": "R-1"})
        assert [event for _, event, _ in table.log(invoice)] == ["send", "pay"]

    admin.close()
    worker.close()
    shared_server.drop_database("three_schemas")


def fence(held: Held) -> dict[str, list[int]]:
    return {"claim_ids": [held.claim_id], "job_ids": [held.id], "attempts": [held.attempt]}
