"""What the tests of machines speak: a table that obeys one, in an application's own schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg import sql

from ostinato._core.base.machine import Machine
from tests.sql.engine import Row, Session, Value
from tools.machines import EXAMPLE

ENTITY = "billing.invoice"


@dataclass
class Table:
    """An application's table, its machine, and who looks at it."""

    admin: Session
    machine: Machine
    entity: str = ENTITY

    def add(self, session: Session | None = None, tenant: str = "default") -> str:
        """A row in the initial state; its id as text."""
        return str(
            (session or self.admin).value("insert into billing.invoice (tenant_id) values (%s) returning id", tenant)
        )

    def state(self, row_id: str) -> str:
        return str(self.admin.value("select state from billing.invoice where id = %s", row_id))

    def log(self, row_id: str) -> list[tuple[str, str, str]]:
        """What happened to a row, first to last: from, event, to."""
        rows = self.admin.call("list_transitions", entity=self.entity, entity_id=row_id, most=1000)
        return [(row["from_state"], row["event"], row["to_state"]) for row in reversed(rows)]

    def happen(self, session: Session, row_id: str, event: str, **params: Value) -> str:
        return str(
            session.get("transition", machine=self.machine.name, entity=self.entity, id=row_id, event=event, **params)
        )

    def happen_all(self, session: Session, ids: list[str], event: str, **params: Value) -> list[Row]:
        return session.call(
            "transition_all", machine=self.machine.name, entity=self.entity, ids=ids, event=event, **params
        )


def columns_of(machine: Machine) -> list[str]:
    """The columns that a machine's invariants speak of."""
    return sorted({check.column for rule in machine.invariants for check in rule.checks})


@contextmanager
def table_of(
    admin: Session, machine: Machine = EXAMPLE, *, state_type: str = "text", attach: bool = True
) -> Iterator[Table]:
    """A table with row-level security, owned by the engine's owner as those of applications are."""
    columns = sql.SQL("").join(sql.SQL(", {} text").format(sql.Identifier(name)) for name in columns_of(machine))
    for name in ("machine", "machine_transition", "machine_table", "transition"):
        admin.rows(f"delete from ostinato_data.{name}")  # noqa: S608 # of the table before, whose ids come again
    admin.rows("create schema billing authorization ostinato_owner")
    try:
        with admin.transaction():
            admin.rows("set local role ostinato_owner")
            if state_type != "text":
                names = sql.SQL(", ").join(sql.Literal(state) for state in machine.states)
                admin.conn.execute(sql.SQL("create type billing.state as enum ({})").format(names))
            admin.conn.execute(
                sql.SQL(
                    "create table billing.invoice ("
                    " id bigint generated always as identity primary key,"
                    " tenant_id text not null, state {} not null default {}, amount integer{})"
                ).format(sql.SQL(state_type), sql.Literal(machine.initial), columns)
            )
            admin.rows("alter table billing.invoice enable row level security")
            admin.rows(
                "create policy tenant on billing.invoice to ostinato_tenant"
                " using (tenant_id = nullif(current_setting('app.tenant_id', true), ''))"
            )
            admin.rows("create policy engine on billing.invoice to ostinato_worker using (true)")
            admin.rows("grant usage on schema billing to ostinato_worker, ostinato_tenant")
            admin.rows("grant select, insert, update, delete on billing.invoice to ostinato_worker, ostinato_tenant")
            if attach:
                admin.get("install_machine", definition=machine.definition())
                attach_to(admin, machine)
        yield Table(admin, machine)
    finally:
        admin.rows("drop schema billing cascade")


def attach_to(session: Session, machine: Machine, **params: Value) -> None:
    session.call("attach_machine", machine=machine.name, entity=ENTITY, **({"tenant_column": "tenant_id"} | params))
