"""A row never reaches a state that it may not reach, whoever writes; the log says how it went."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from psycopg import sql

from ostinato._core.base.machine import Invariant, Machine, Transition, above, empty, equals, filled
from tests.sql.engine import START, Clock, Session, Sessions, Value, refused, until_blocked
from tests.sql.machinery import ENTITY, Table, attach_to, table_of
from tools.machines import EXAMPLE

SENT = {"sent_at": "2026-03-02"}
PAID = {"receipt": "R-1"}


@pytest.fixture
def table(admin: Session, sessions: Sessions) -> Iterator[Table]:
    with table_of(admin) as made:
        yield made


# What transitions do.


def test_an_event_leads_to_the_state_that_is_listed_and_is_logged(db: Session, table: Table) -> None:
    row = table.add(tenant="t1")

    state = table.happen(db, row, "send", by="ana", why="it is due", correlation_id="req-1", changes=SENT)

    assert state == table.state(row) == "sent"
    (line,) = db.call("list_transitions", entity=ENTITY, entity_id=row)
    assert line.pop("id") > 0
    assert line == {
        "at": START,
        "machine": "invoice",
        "entity": ENTITY,
        "entity_id": row,
        "tenant_id": "t1",
        "event": "send",
        "from_state": "draft",
        "to_state": "sent",
        "actor": "ana",
        "why": "it is due",
        "correlation_id": "req-1",
        "job_id": None,
        "attempt": None,
    }


def test_an_event_that_is_not_listed_is_refused_and_says_what_would_be_possible(db: Session, table: Table) -> None:
    row = table.add()

    with refused("OS424", f"{ENTITY} {row} is draft: pay is not possible", "send to sent"):
        table.happen(db, row, "pay", by="ana", changes=PAID)
    with refused("OS424", "explode is not possible"):
        table.happen(db, row, "explode")
    table.happen(db, row, "cancel")
    with refused("OS424", "Nothing leads out of void"):
        table.happen(db, row, "send")

    assert table.log(row) == [("draft", "cancel", "void")]


def test_who_and_what_for_default_to_the_session(db: Session, table: Table) -> None:
    row = table.add()

    with db.transaction():
        db.rows("select set_config('app.correlation_id', 'req-7', true)")
        table.happen(db, row, "cancel")

    (line,) = db.call("list_transitions", entity=ENTITY, entity_id=row)
    assert (line["actor"], line["correlation_id"]) == ("ostinato_worker", "req-7")


def test_a_transition_to_the_same_state_is_logged_and_a_write_of_it_is_not(db: Session, table: Table) -> None:
    row = table.add()
    table.happen(db, row, "send", changes=SENT)

    table.happen(db, row, "send", changes={"sent_at": "again"})
    db.rows("update billing.invoice set state = state, amount = 5 where id = %s", row)

    assert table.log(row) == [("draft", "send", "sent"), ("sent", "send", "sent")]


def test_a_transition_takes_effect_with_its_transaction(db: Session, table: Table) -> None:
    row = table.add()

    with db.conn.transaction(force_rollback=True):
        table.happen(db, row, "cancel")

    assert table.state(row) == "draft"
    assert table.log(row) == []
    with db.transaction():
        with db.conn.transaction(force_rollback=True):
            table.happen(db, row, "cancel")
        table.happen(db, row, "send", changes=SENT)
        table.happen(db, row, "cancel")
    assert table.log(row) == [("draft", "send", "sent"), ("sent", "cancel", "void")]


def test_rows_that_are_not_there_and_machines_that_are_not_attached(db: Session, table: Table) -> None:
    for missing in ("404", "-1"):
        with refused("OS404", f"there is no {ENTITY} {missing}"):
            table.happen(db, missing, "send")
    with refused("22P02"):
        table.happen(db, "seven", "send")
    for machine, entity in (("order", ENTITY), ("invoice", "billing.bill"), ("invoice", "invoice")):
        with refused("OS404", "does not obey a machine"):
            db.call("transition", machine=machine, entity=entity, id="1", event="send")
        with refused("OS404", "does not obey a machine"):
            db.call("find_machine_table", machine=machine, entity=entity, tenant_id=None)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"by": ""}, "by must be 1 to 200"),
        ({"by": "x" * 201}, "by must be 1 to 200"),
        ({"correlation_id": "x" * 201}, "correlation_id must be"),
        ({"why": "x" * 8193}, "why is 8193 bytes"),
        ({"changes": {"state": "paid"}}, "changes may not hold 'state'"),
        ({"changes": {"id": 7}}, "changes may not hold 'id'"),
        ({"changes": {"colour; drop table": 7}}, "has no column"),
        ({"changes": json.dumps([1])}, "must be a JSON object, got array"),
    ],
)
def test_odd_parameters_are_refused(db: Session, table: Table, params: dict[str, object], words: str) -> None:
    with refused("OS400", words):
        table.happen(db, table.add(), "cancel", **params)


# Many at once.


def test_many_rows_go_from_where_each_is_all_or_none(db: Session, table: Table) -> None:
    first, second, third = table.add(), table.add(), table.add()
    table.happen(db, second, "send", changes=SENT)

    moved = table.happen_all(db, [third, second, first, first], "cancel", by="sweep")

    assert {(row["id"], row["from_state"], row["to_state"]) for row in moved} == {
        (first, "draft", "void"),
        (second, "sent", "void"),
        (third, "draft", "void"),
    }
    fresh = table.add()
    with refused("OS424", "is void"):
        table.happen_all(db, [fresh, first], "cancel")
    with refused("OS404", "404"):
        table.happen_all(db, [fresh, "404"], "cancel")
    assert table.log(fresh) == []
    assert table.happen_all(db, [], "cancel") == []


def test_with_skip_those_that_cannot_are_left(db: Session, table: Table) -> None:
    fresh, void = table.add(), table.add()
    table.happen(db, void, "cancel")

    moved = table.happen_all(db, [fresh, void, "404"], "cancel", skip=True)

    assert [row["id"] for row in moved] == [fresh]
    assert table.happen_all(db, [fresh, void], "cancel", skip=True) == []
    assert len(table.log(void)) == 1


def test_rows_of_several_requests_go_together_each_as_part_of_its_own(db: Session, table: Table) -> None:
    rows = [table.add() for _ in range(3)]
    ids = [rows[0], f"0{rows[1]}", rows[2]]  # as the caller writes them

    table.happen_all(db, ids, "cancel", correlation_id="all", correlation_ids=["req-0", "req-1", None])

    log = db.call("list_transitions", entity=ENTITY)
    assert {line["entity_id"]: line["correlation_id"] for line in log} == {
        rows[0]: "req-0",
        rows[1]: "req-1",
        rows[2]: "all",
    }


def test_what_changes_may_be_another_in_each_row(db: Session, table: Table) -> None:
    rows = [table.add() for _ in range(3)]
    for row in rows:
        table.happen(db, row, "send", changes=SENT)
    each = [{"id": row, "receipt": f"R-{row}"} for row in reversed(rows)]

    table.happen_all(db, rows, "pay", changes=json.dumps(each))

    assert db.rows("select receipt, sent_at from billing.invoice order by id") == [
        {"receipt": f"R-{row}", "sent_at": SENT["sent_at"]} for row in rows
    ]


@pytest.mark.parametrize(
    ("code", "words", "params"),
    [
        ("OS400", "2 rows have 1 correlation ids", {"correlation_ids": ["req-1"]}),
        ("OS400", "correlation_id must be", {"correlation_ids": ["req-1", "x" * 201]}),
        ("OS400", "changes may not hold 'state'", {"changes": json.dumps([{"id": 1, "state": "paid"}])}),
        ("OS409", "of 2 rows of billing.invoice were not changed", {"changes": json.dumps([{"id": 1, "amount": 1}])}),
    ],
)
def test_a_set_is_refused_that_does_not_fit_its_rows(
    db: Session, table: Table, code: str, words: str, params: dict[str, Value]
) -> None:
    rows = [table.add(), table.add()]

    with refused(code, words):
        table.happen_all(db, rows, "cancel", **params)

    assert [table.state(row) for row in rows] == ["draft", "draft"]


def test_a_thousand_rows_go_in_one_call(db: Session, table: Table) -> None:
    ids = [
        str(row["id"])
        for row in db.rows(
            "insert into billing.invoice (tenant_id) select 't1' from generate_series(1, 1000) returning id"
        )
    ]

    assert len(table.happen_all(db, ids, "send", changes=SENT)) == 1000

    assert db.value("select count(*) from ostinato_data.transition") == 1000


# What only transitions may do.


@pytest.mark.parametrize("role", ["admin", "owner", "worker", "tenant"])
@pytest.mark.parametrize(
    "statement",
    [
        "update billing.invoice set state = 'sent', sent_at = 'x'",
        "update billing.invoice set state = 'void'",
        "update billing.invoice set state = null",
        "update billing.invoice set state = 'nonsense'",
        """insert into billing.invoice (id, tenant_id) overriding system value values (1, 't1')
        on conflict (id) do update set state = 'void'""",
        """merge into billing.invoice i using (select 1) x on true
        when matched then update set state = 'void'""",
        "with x as (update billing.invoice set state = 'void' returning 1) select * from x",
    ],
)
def test_a_direct_write_of_the_state_is_refused_to_everybody(
    admin: Session, sessions: Sessions, table: Table, role: str, statement: str
) -> None:
    row = table.add(tenant="t1")
    session = sessions.tenant("t1") if role == "tenant" else sessions.open(role)

    with pytest.raises(Exception, match=r"cannot be written|violates not-null"):
        session.rows(statement)

    assert table.state(row) == "draft"


def test_no_setting_and_no_transition_before_it_lets_a_direct_write_through(db: Session, table: Table) -> None:
    row, other = table.add(), table.add()

    with db.transaction():
        for name in ("ostinato.pass", "ostinato.transition", "app.pass", "ostinato.machine"):
            db.rows("select set_config(%s, '1', true)", name)
        table.happen(db, other, "send", changes=SENT)
        for target in (row, other):
            with refused("OS424", "cannot be written"), db.transaction():
                db.rows("update billing.invoice set state = 'void' where id = %s", target)

    assert (table.state(row), table.state(other)) == ("draft", "sent")


def test_a_row_starts_in_the_initial_state(admin: Session, db: Session, table: Table) -> None:
    for state in ("sent", "void", "nonsense"):
        with refused("OS424", f"cannot start in state {state}", "in state draft"):
            db.rows("insert into billing.invoice (tenant_id, state) values ('t1', %s)", state)
    with (
        admin.conn.cursor() as cursor,
        refused("OS424", "cannot start in state paid"),
        cursor.copy("copy billing.invoice (tenant_id, state) from stdin") as copy,
    ):
        copy.write_row(("t1", "paid"))

    assert db.value("select count(*) from billing.invoice") == 0


def test_the_id_of_a_row_stays(db: Session, table: Table) -> None:
    row = table.add()

    with refused("OS424", "the id of billing.invoice cannot become"):
        db.rows("update billing.invoice set id = default where id = %s", row)


def test_a_trigger_of_the_application_cannot_change_the_state_on_the_side(
    admin: Session, db: Session, table: Table
) -> None:
    row = table.add()
    admin.rows(
        "create function billing.cheat() returns trigger language plpgsql as"
        " $$ begin new.state := 'paid'; return new; end $$"
    )
    admin.rows(
        "create trigger cheat before update of amount on billing.invoice for each row execute function billing.cheat()"
    )

    with refused("OS424", "draft to paid"):
        db.rows("update billing.invoice set amount = 1 where id = %s", row)


def test_a_pass_opened_by_hand_lets_only_listed_changes_through_and_logs_them(db: Session, table: Table) -> None:
    row = table.add()
    call = "select ostinato.open_pass('invoice', 'billing.invoice', 'cancel', 'eve', null, null, null, null)"

    with db.transaction():
        opened = db.value(call)
        with refused("OS424"), db.transaction():
            db.rows("update billing.invoice set state = 'paid', receipt = 'x'")
        db.rows("update billing.invoice set state = 'void' where id = %s", row)
        db.call("close_pass", pass_id=opened)

    assert table.log(row) == [("draft", "cancel", "void")]
    other = table.add()
    with db.transaction():
        db.value(call)
    with refused("OS424"):  # a pass is worth nothing after its transaction
        db.rows("update billing.invoice set state = 'void' where id = %s", other)


def test_passes_that_were_left_open_are_pruned(admin: Session, db: Session, table: Table) -> None:
    with db.transaction():
        db.value("select ostinato.open_pass('invoice', 'billing.invoice', 'cancel', 'eve', null, null, null, null)")
    assert admin.value("select count(*) from ostinato_data.transition_pass") == 1

    db.call("upkeep_logs", retention_days=14)

    assert admin.get("prune_passes") == 0
    assert admin.value("select count(*) from ostinato_data.transition_pass") == 0


def test_the_trigger_function_is_of_no_use_on_another_table(admin: Session, sessions: Sessions, table: Table) -> None:
    owner = sessions.open("owner")
    guard = admin.value(
        "select p.proname from pg_trigger t join pg_proc p on p.oid = t.tgfoid"
        " where t.tgrelid = 'billing.invoice'::regclass and t.tgname = 'invoice_guard'"
    )
    owner.rows("create table billing.fake (like billing.invoice)")
    owner.conn.execute(
        sql.SQL(
            "create trigger fake after update on billing.fake for each row execute function ostinato_data.{}()"
        ).format(sql.Identifier(guard))
    )
    owner.rows("insert into billing.fake values (1, 't1', 'draft')")

    with refused("OS424"), owner.transaction():
        owner.call(
            "open_pass",
            machine="invoice",
            entity=ENTITY,
            event="cancel",
            by="eve",
            why=None,
            correlation_id=None,
            job_id=None,
            attempt=None,
        )
        owner.rows("update billing.fake set state = 'void'")

    assert admin.value("select count(*) from ostinato_data.transition") == 0


@pytest.mark.parametrize(
    "statement",
    [
        "select ostinato_internal.note_transition('invoice', 'billing.invoice', 0, '1', 't1', 'a', 'b')",
        "select ostinato.install_machine('{}')",
        "select ostinato.attach_machine('invoice', 'billing.invoice')",
        "select ostinato_internal.make_guard('invoice', 'billing.invoice', 'id', 'state', null, 'postgres')",
        "select ostinato_internal.drop_triggers('invoice', 'billing.invoice')",
        "insert into ostinato_data.transition_pass select * from ostinato_data.transition_pass",
        "select * from ostinato_data.transition_pass",
        "insert into ostinato_data.transition select * from ostinato_data.transition",
        "insert into ostinato_data.transition_default select * from ostinato_data.transition",
        "update ostinato_data.transition set why = 'another story'",
        "delete from ostinato_data.transition",
        "delete from ostinato_data.transition_default",
        "truncate ostinato_data.transition",
        "update ostinato_data.machine_transition set to_state = 'paid'",
        "insert into ostinato_data.machine_transition values ('invoice', 'x', 'draft', 'paid', '')",
        "delete from ostinato_data.machine_table",
        "alter table billing.invoice disable trigger all",
    ],
)
def test_nobody_who_works_writes_the_log_the_passes_or_the_machines(
    db: Session, sessions: Sessions, table: Table, statement: str
) -> None:
    for session in (db, sessions.tenant("t1")):
        with refused("42501"):
            session.rows(statement)


def test_not_even_the_owner_changes_the_log(sessions: Sessions, table: Table) -> None:
    owner = sessions.open("owner")

    for statement in ("update ostinato_data.transition set why = ''", "delete from %s", "truncate %s"):
        with refused("42501"):
            owner.rows(statement.replace("%s", "ostinato_data.transition"))


def test_a_transition_inside_a_transition_is_logged_for_itself(admin: Session, db: Session, table: Table) -> None:
    parent, child = table.add(), table.add()
    admin.rows(
        "create function billing.follow() returns trigger language plpgsql as $$ begin"
        " perform ostinato.transition('invoice', 'billing.invoice', i.id::text, 'send', 'follow',"
        f" changes => '{json.dumps(SENT)}')"
        " from billing.invoice i where i.state = 'draft' and i.id <> new.id; return null; end $$"
    )
    admin.rows(
        "create trigger follow after update of state on billing.invoice"
        " for each row when (new.state = 'void') execute function billing.follow()"
    )

    table.happen(db, parent, "cancel", by="ana")

    assert (table.log(parent), table.log(child)) == ([("draft", "cancel", "void")], [("draft", "send", "sent")])
    actors = db.rows("select actor from ostinato_data.transition order by entity_id")
    assert [row["actor"] for row in actors] == ["ana", "follow"]


def test_an_update_that_something_swallows_is_an_error_and_no_line_in_the_log(
    admin: Session, db: Session, table: Table
) -> None:
    row = table.add()
    admin.rows("create function billing.swallow() returns trigger language plpgsql as $$ begin return null; end $$")
    admin.rows(
        "create trigger swallow before update on billing.invoice for each row execute function billing.swallow()"
    )

    with refused("OS409", "1 of 1 rows of billing.invoice were not changed"):
        table.happen(db, row, "cancel")

    assert table.log(row) == []


# Two at once, and too late.


def test_the_second_of_two_at_once_finds_what_the_first_left(
    admin: Session, db: Session, other: Session, table: Table
) -> None:
    row = table.add()

    with db.transaction():
        table.happen(db, row, "cancel", by="first")
        waiting = other.later("transition", machine="invoice", entity=ENTITY, id=row, event="send", by="second")
        until_blocked(admin, other, db)

    with refused("OS424", "is void: send is not possible"):
        waiting.result()
    assert table.log(row) == [("draft", "cancel", "void")]


def test_a_worker_that_lost_its_job_cannot_transition(db: Session, clock: Clock, table: Table) -> None:
    row = table.add()
    worker = db.worker()
    db.enqueue()
    held = db.claim_one(worker)
    token = {"job_id": held.id, "attempt": held.attempt}
    table.happen(db, row, "send", changes=SENT, **token)
    db.release(held)

    with refused("OS410", "is not held any more"):
        table.happen(db, row, "cancel", **token)

    assert table.state(row) == "sent"
    (line,) = db.call("list_transitions", entity=ENTITY, entity_id=row)
    assert (line["job_id"], line["attempt"]) == (held.id, held.attempt)


def test_a_job_cannot_be_lost_between_the_fence_and_the_commit(
    admin: Session, db: Session, other: Session, table: Table
) -> None:
    row = table.add()
    worker = db.worker()
    db.enqueue()
    held = db.claim_one(worker)

    with db.transaction():
        table.happen(db, row, "cancel", job_id=held.id, attempt=held.attempt)
        releasing = other.later("release_jobs", claim_ids=[held.claim_id], job_ids=[held.id], attempts=[held.attempt])
        until_blocked(admin, other, db)

    assert releasing.result() == []
    assert table.state(row) == "void"


def test_who_lost_the_lease_cannot_transition(db: Session, clock: Clock, table: Table) -> None:
    row = table.add()
    (lease,) = db.call("acquire_lease", name="invoices", holder="me", ttl_seconds=60)
    table.happen(db, row, "send", changes=SENT, lease="invoices", token=lease["token"])
    db.call("release_lease", name="invoices", token=lease["token"])

    with refused("OS410"):
        table.happen(db, row, "cancel", lease="invoices", token=lease["token"])

    assert table.state(row) == "sent"


# Invariants.


def test_what_holds_in_a_state_is_asked_of_the_transition_and_of_every_write_after(db: Session, table: Table) -> None:
    row = table.add()

    with refused("OS425", f"{ENTITY} {row} in state sent needs: sent_at is filled"):
        table.happen(db, row, "send")
    with refused("OS425"):
        table.happen(db, row, "send", changes={"sent_at": ""})
    table.happen(db, row, "send", changes=SENT)
    with refused("OS425", "sent_at is filled"):
        db.rows("update billing.invoice set sent_at = null")
    table.happen(db, row, "cancel")
    db.rows("update billing.invoice set sent_at = null")

    assert table.log(row) == [("draft", "send", "sent"), ("sent", "cancel", "void")]


RICH = Machine(
    "rich",
    states=("new", "good", "bad"),
    initial="new",
    terminal=("good", "bad"),
    transitions=(Transition("new", "pass", "good"), Transition("new", "fail", "bad")),
    invariants=(
        Invariant("good", (equals("failed", 0), equals("known", value=True), empty("error"))),
        Invariant("bad", (filled("error"),)),
        Invariant("bad", (above("failed", 0), equals("known", value=False)), any=True),
    ),
)


@pytest.mark.parametrize(
    ("event", "changes", "fits"),
    [
        ("pass", {"failed": 0, "known": True}, True),
        ("pass", {"failed": 1, "known": True}, False),
        ("pass", {"failed": 0}, False),
        ("pass", {"known": True}, False),
        ("pass", {"failed": 0, "known": True, "error": "x"}, False),
        ("fail", {"failed": 1, "error": "x"}, True),
        ("fail", {"known": False, "error": "x"}, True),
        ("fail", {"failed": 10, "known": True, "error": "x"}, True),
        ("fail", {"failed": 0, "known": True, "error": "x"}, False),
        ("fail", {"error": "x"}, False),
        ("fail", {"failed": 1}, False),
    ],
)
def test_numbers_and_choices_are_compared_as_their_columns_are(
    admin: Session,
    db: Session,
    event: str,
    changes: dict[str, object],
    fits: bool,  # noqa: FBT001
) -> None:
    with table_of(admin, RICH, attach=False) as table:
        admin.rows("alter table billing.invoice alter failed type integer using null")
        admin.rows("alter table billing.invoice alter known type boolean using null")
        admin.get("install_machine", definition=RICH.definition())
        attach_to(admin, RICH)
        row = table.add()

        if fits:
            table.happen(db, row, event, changes=changes)
        else:
            with refused("OS425"):
                table.happen(db, row, event, changes=changes)

        assert (table.state(row) != "new") is fits


# Tenants.


def test_a_tenant_moves_its_own_rows_and_reads_its_own_log(db: Session, sessions: Sessions, table: Table) -> None:
    mine, theirs = sessions.tenant("t1"), sessions.tenant("t2")
    own, foreign = table.add(tenant="t1"), table.add(tenant="t2")

    table.happen(mine, own, "cancel")
    table.happen(theirs, foreign, "cancel")

    with refused("OS404", f"there is no {ENTITY} {foreign}"):
        table.happen(mine, foreign, "cancel")
    with refused("OS404"):
        table.happen_all(mine, [own, foreign], "cancel")
    assert table.happen_all(mine, [foreign], "cancel", skip=True) == []
    for session, whose in ((mine, "t1"), (theirs, "t2")):
        lines = session.call("list_transitions", entity=ENTITY)
        assert [line["tenant_id"] for line in lines] == [whose]
    assert len(db.call("list_transitions", entity=ENTITY)) == 2
    assert len(db.call("list_transitions", entity=ENTITY, tenant_id="t2")) == 1


def test_two_tenants_may_have_the_same_id(admin: Session, db: Session, table: Table) -> None:
    admin.rows("alter table billing.invoice drop constraint invoice_pkey")
    admin.rows("alter table billing.invoice add primary key (tenant_id, id)")
    for tenant in ("t1", "t2"):
        db.rows("insert into billing.invoice (id, tenant_id) overriding system value values (7, %s)", tenant)

    with refused("OS409", "say whose"):
        table.happen(db, "7", "cancel")
    table.happen(db, "7", "cancel", tenant_id="t2")

    states = db.rows("select state from billing.invoice order by tenant_id")
    assert [row["state"] for row in states] == ["draft", "void"]


def test_a_table_without_tenants_has_no_tenant_to_name(admin: Session, db: Session) -> None:
    with table_of(admin) as table:
        attach_to(admin, EXAMPLE, tenant_column=None)
        row = table.add(tenant="t1")

        with refused("OS400", "has no column for a tenant"):
            table.happen(db, row, "cancel", tenant_id="t1")
        table.happen(db, row, "cancel")

        (line,) = db.call("list_transitions", entity=ENTITY)
        assert line["tenant_id"] == "default"


# Installing and attaching.


def test_a_machine_that_changed_is_installed_again_and_its_tables_follow(
    admin: Session, db: Session, table: Table
) -> None:
    assert admin.get("install_machine", definition=EXAMPLE.definition()) is False
    row = table.add()
    changed = replace(
        EXAMPLE,
        states=(*EXAMPLE.states, "lost"),
        initial="draft",
        transitions=(*EXAMPLE.transitions, Transition("sent", "lose", "lost")),
        terminal=(*EXAMPLE.terminal, "lost"),
        invariants=(),
    )

    assert admin.get("install_machine", definition=changed.definition()) is True

    table.happen(db, row, "send")
    assert table.happen(db, row, "lose") == "lost"
    with refused("OS424"):
        db.rows("update billing.invoice set state = 'sent'")


def test_a_machine_cannot_lose_a_state_that_rows_are_in(admin: Session, db: Session, table: Table) -> None:
    row = table.add()
    table.happen(db, row, "cancel")
    smaller = Machine(
        "invoice",
        states=("draft", "sent"),
        initial="draft",
        terminal=("sent",),
        transitions=(Transition("draft", "send", "sent"),),
    )

    with refused("OS409", "1 rows of billing.invoice", "its state is one of the machine's"):
        admin.get("install_machine", definition=smaller.definition())

    assert table.happen(db, table.add(), "cancel") == "void"


def test_a_table_whose_rows_do_not_fit_is_not_attached(admin: Session, db: Session) -> None:
    with table_of(admin, attach=False) as table:
        admin.get("install_machine", definition=EXAMPLE.definition())
        db.rows("insert into billing.invoice (tenant_id, state) values ('t1', 'sent')")
        with refused("OS409", "it is not true that sent_at is filled"):
            attach_to(admin, EXAMPLE)
        db.rows("update billing.invoice set sent_at = 'x'")

        attach_to(admin, EXAMPLE)

        assert table.happen(db, "1", "cancel") == "void"


def test_attaching_names_a_table_and_columns_that_exist(admin: Session, table: Table) -> None:
    for params in ({"entity": "billing.bill"}, {"entity": "invoice"}, {"machine": "order"}):
        with refused("OS404", "there is no machine"):
            admin.call("attach_machine", **({"machine": "invoice", "entity": ENTITY} | params))
    for column in ("id_column", "state_column", "tenant_column"):
        with refused("OS400", "has no column 'colour'"):
            attach_to(admin, EXAMPLE, **{column: "colour"})
    unknown = replace(EXAMPLE, invariants=(Invariant("sent", (filled("colour"),)),))
    with refused("OS400", "has no column 'colour'"):
        admin.get("install_machine", definition=unknown.definition())
    assert admin.get("column_type", entity=ENTITY, name="id") == "bigint"


def test_a_definition_that_makes_no_sense_is_refused_whoever_sends_it(admin: Session, db: Session) -> None:
    given = json.loads(EXAMPLE.definition())
    for changes, fault in (
        ({"name": "No"}, "its name must be"),
        ({"states": []}, "it has no states"),
        ({"states": [*given["states"], "draft"]}, "'draft' is listed twice"),
        ({"states": [*given["states"], "lost"]}, "'lost' cannot be reached"),
        ({"states": [*given["states"], "a b"]}, "'a b' cannot be the name"),
        ({"initial": "ajar"}, "initial names 'ajar'"),
        ({"terminal": []}, "nothing leads out of state 'paid'"),
        ({"terminal": ["paid", "void", "sent"]}, "'sent' is terminal"),
        ({"transitions": [*given["transitions"], given["transitions"][0]]}, "is listed twice for"),
        (
            {"invariants": [{"states": ["sent"], "checks": [{"column": "x", "is": "like"}]}]},
            "an invariant checks 'x' with 'like'",
        ),
        ({"invariants": [{"states": ["burnt"], "checks": []}]}, "an invariant names 'burnt'"),
    ):
        with refused("OS400", fault):
            admin.get("install_machine", definition=json.dumps(given | changes))
        assert fault in " ".join(
            row["machine_faults"] for row in admin.call("machine_faults", definition=json.dumps(given | changes))
        )
    assert admin.value("select count(*) from ostinato_data.machine") == 0


def test_states_may_be_an_enumeration(admin: Session, db: Session) -> None:
    with table_of(admin, state_type="billing.state") as table:
        row = table.add()

        assert table.happen(db, row, "send", changes=SENT) == "sent"

        with refused("OS424"):
            db.rows("update billing.invoice set state = 'paid'")
        assert table.log(row) == [("draft", "send", "sent")]


def test_ids_may_be_anything_and_tables_may_be_partitioned_and_oddly_named(admin: Session, db: Session) -> None:
    with table_of(admin, attach=False):
        admin.rows(
            'create table billing."Odd; ""table" ("the id" uuid primary key, "the state" text)'
            ' partition by hash ("the id")'
        )
        admin.rows(
            'create table billing.odd_0 partition of billing."Odd; ""table" for values with (modulus 1, remainder 0)'
        )
        admin.rows('grant select, insert, update on billing."Odd; ""table" to ostinato_worker')
        admin.get("install_machine", definition=replace(EXAMPLE, invariants=()).definition())
        named = {
            "machine": "invoice",
            "entity": 'billing."Odd; ""table"',
            "id_column": "the id",
            "state_column": "the state",
        }
        admin.call("attach_machine", **named)
        admin.call("attach_machine", **named)
        row = "00000000-0000-0000-0000-00000000000A"
        db.rows('insert into billing."Odd; ""table" values (%s, %s)', row, "draft")

        for id_ in (row, row.lower()):
            assert db.get("transition", machine="invoice", entity=named["entity"], id=id_, event="send") == "sent"

        for target in ('billing."Odd; ""table"', "billing.odd_0"):
            with refused("OS424"):
                admin.rows(f"""update {target} set "the state" = 'paid'""")  # noqa: S608
        with refused("OS424"):
            admin.rows("insert into billing.odd_0 values (gen_random_uuid(), 'paid')")
        lines = db.call("list_transitions", entity=named["entity"], entity_id=row.lower())
        assert [line["to_state"] for line in lines] == ["sent", "sent"]


def test_an_id_of_fixed_length_is_not_cut(admin: Session, db: Session) -> None:
    with table_of(admin, attach=False) as table:
        admin.rows("alter table billing.invoice alter id drop identity")
        admin.rows("alter table billing.invoice alter id type char(9)")
        admin.get("install_machine", definition=EXAMPLE.definition())
        attach_to(admin, EXAMPLE)
        admin.rows("insert into billing.invoice (id, tenant_id) values ('552032534', 't1')")

        for other in ("5", "5520325349"):
            with refused("OS404"):
                table.happen(db, other, "cancel")
        assert table.happen(db, "552032534", "cancel") == "void"


def test_two_machines_may_hold_two_columns_of_one_table(admin: Session, db: Session, table: Table) -> None:
    flag = Machine(
        "flag",
        states=("up", "down"),
        initial="up",
        transitions=(Transition("up", "lower", "down"), Transition("down", "raise", "up")),
    )
    admin.rows("alter table billing.invoice add flag text not null default 'up'")
    admin.get("install_machine", definition=flag.definition())
    admin.call("attach_machine", machine="flag", entity=ENTITY, state_column="flag")
    row = table.add()

    db.call("transition", machine="flag", entity=ENTITY, id=row, event="lower")
    table.happen(db, row, "cancel")

    assert table.log(row) == [("up", "lower", "down"), ("draft", "cancel", "void")]
    with refused("OS424"):
        db.rows("update billing.invoice set flag = 'up'")


# The log.


def test_the_log_is_a_page_newest_first(db: Session, table: Table) -> None:
    row = table.add()
    table.happen(db, row, "send", changes=SENT)
    table.happen(db, row, "cancel")

    newest, oldest = db.call("list_transitions", entity=ENTITY)
    (page,) = db.call("list_transitions", entity=ENTITY, before=newest["id"], most=1)

    assert (newest["event"], oldest["event"]) == ("cancel", "send")
    assert page == oldest


def test_the_log_outlives_jobs_and_is_dropped_week_by_week(
    admin: Session, db: Session, clock: Clock, table: Table
) -> None:
    row = table.add()
    table.happen(db, row, "send", changes=SENT)
    db.call("upkeep_logs", retention_days=14)
    table.happen(db, row, "cancel")
    with refused("42501"):
        week = admin.value("select ostinato_internal.week_name('transition', ostinato.week_of(%s))", START)
        db.rows(f"delete from ostinato_data.{week}")  # noqa: S608

    clock.set(START + timedelta(days=300))
    db.call("upkeep_logs", retention_days=14)
    assert len(table.log(row)) == 2
    clock.set(START + timedelta(days=410))
    dropped = db.call("upkeep_logs", retention_days=14)

    assert "dropped" in {done["action"] for done in dropped if "transition" in done["name"]}
    assert table.log(row) == []


def test_what_may_follow_is_told(db: Session, table: Table) -> None:
    assert db.get("allowed_events", machine="invoice", state="draft") == {"cancel": "void", "send": "sent"}
    assert db.get("allowed_words", machine="invoice", state="void") == "Nothing leads out of void."


def test_a_table_that_stopped_obeying_is_found(admin: Session, db: Session, table: Table) -> None:
    assert db.call("machine_gaps") == []

    admin.rows("alter table billing.invoice disable trigger invoice_guard")
    admin.rows("drop trigger invoice_rule_1 on billing.invoice")

    gaps = [(gap["entity"], gap["problem"]) for gap in db.call("machine_gaps")]
    assert gaps == [
        (ENTITY, "its trigger invoice_guard is disabled"),
        (ENTITY, "its trigger invoice_rule_1 is missing"),
    ]
    attach_to(admin, EXAMPLE)
    assert db.call("machine_gaps") == []
    admin.rows("drop table billing.invoice")
    assert {gap["problem"] for gap in db.call("machine_gaps")} == {"the table is gone"}


def test_the_parts_do_what_they_say(admin: Session, db: Session, table: Table) -> None:
    assert db.get("relation_of", entity=ENTITY) == db.value("select %s::regclass::oid", ENTITY)
    assert [db.get("relation_of", entity=name) for name in ("invoice", "billing.bill", "a.b.c")] == [None, None, None]
    columns = "select ostinato_internal.changed_columns(t, '{\"amount\": 1}') from ostinato_data.machine_table t"
    assert db.value(columns) == ", amount = c.amount"
    rule = {"states": ["sent"], "checks": [{"column": "amount", "is": ">", "value": "0'"}]}
    condition = db.get("rule_condition", rule=rule, row_name="t", state_column="state")
    assert condition == "(t.state::text <> all ('{sent}'::text[]) or ((t.amount > '0''')) is true)"
    with refused("OS409", "1 rows of billing.invoice", "amount is filled"):
        table.add()
        db.call("check_rows", entity=ENTITY, condition="t.amount > 0", rule="amount is filled")
    missing = (
        "select ostinato_internal.check_transitions(t, '{7,8}', 'send', false, '{7}', '{draft}', '{sent}')"
        " from ostinato_data.machine_table t"
    )
    with refused("OS404", "there is no billing.invoice 8"):
        db.rows(missing)
    with refused("0A000", "can only be called as trigger"):
        admin.rows("select ostinato_internal.refuse_row()")
