"""Secrets at rest: sealed arguments, webhook secrets and columns, and the rotation of their key."""

import json
from typing import Annotated, Any

import psycopg
import pytest
from pydantic import SecretStr
from structlog.typing import EventDict

from ostinato import App, Client, Context, InvalidInput
from ostinato._core.base.safeurl import parse_allowed
from ostinato._core.base.settings import Settings
from ostinato._core.base.vault import Vault
from ostinato._core.base.webhooks import verify
from ostinato._core.engine import inspect, secrets, webhooks, workers
from ostinato._core.runtime import sealing
from ostinato._core.runtime.services import webhooks as deliveries
from ostinato._core.runtime.worker import enrol
from ostinato.errors import SecretKeyMissing
from ostinato.secrets import SealedColumn, Secret, is_sealed, key_id_of, new_key
from ostinato.testing import Engine
from tests.runtime.receiver import Receiver

PIN = "hunter2-hunter2"
HERE = "127.0.0.1:*"
TOKEN = SealedColumn("shop.account", "token", bound_to=("tenant_id", "name"))
SECRETS = (TOKEN,)
Pin = Annotated[str, Secret()]


@pytest.fixture
def app() -> App:
    return App("shop", secrets=f"{__name__}:SECRETS")


@pytest.fixture
async def accounts(engine: Engine) -> psycopg.AsyncConnection[Any]:
    """A table of an application with a column that it seals."""
    await engine.admin.execute(
        "create schema shop; create table shop.account (tenant_id text, name text, token text);"
        "grant usage on schema shop to ostinato_worker; grant all on shop.account to ostinato_worker"
    )
    return engine.admin


async def stored(engine: Engine) -> dict[str, Any]:
    cursor = await engine.admin.execute("select args from ostinato_data.job order by id desc limit 1")
    (row,) = await cursor.fetchall()
    found: dict[str, Any] = row[0]
    return found


async def everything(engine: Engine) -> str:
    """Each row of each table of the engine, as a dump of the database would have it."""
    tables = await engine.admin.execute(
        "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('ostinato_data', 'shop')"
    )
    texts = []
    for (name,) in await tables.fetchall():
        rows = await engine.admin.execute(f"select t::text from {name} t")  # noqa: S608 - a name of the catalogue
        texts += [str(row[0]) for row in await rows.fetchall()]
    return "\n".join(texts)


async def register(engine: Engine, app: App) -> None:
    async with engine.client.connection() as conn:
        await workers.register_kinds(conn, [enrol._row(kind.name, kind) for kind in app.kinds.values()])


# Arguments.


async def test_a_secret_argument_is_sealed_in_the_job_and_opened_for_the_handler(engine: Engine, app: App) -> None:
    got: list[object] = []

    @app.job()
    async def pay(ctx: Context, amount: int, pin: Pin, card: SecretStr | None = None) -> None:
        got.extend((amount, pin, card and card.get_secret_value()))

    await pay.enqueue(engine.client, amount=7, pin=PIN, card=SecretStr("4111-ostinato"))
    args = await stored(engine)
    dump = await everything(engine)
    report = await engine.run_until_idle(app)

    assert report.done == 1
    assert got == [7, PIN, "4111-ostinato"]
    assert args["amount"] == 7
    assert is_sealed(args["pin"])
    assert is_sealed(args["card"])
    assert PIN not in dump
    assert "4111" not in dump


async def test_many_jobs_of_a_tenant_are_sealed_for_it(engine: Engine, app: App) -> None:
    got: list[str] = []

    @app.job(open=True)
    async def pay(ctx: Context, pin: Pin) -> None:
        got.append(f"{ctx.job.tenant_id} {pin}")

    await register(engine, app)
    await pay.options(tenant="acme").enqueue_many(engine.client, [{"pin": PIN}, {"pin": "other"}])
    await pay.enqueue(engine.client.for_tenant("bolt"), pin=PIN)
    await engine.run_until_idle(app)

    assert sorted(got) == [f"acme {PIN}", "acme other", f"bolt {PIN}"]


async def test_a_sealed_argument_of_one_tenant_does_not_open_for_another(engine: Engine, app: App) -> None:
    ran: list[str] = []

    @app.job()
    async def pay(ctx: Context, pin: Pin) -> None:
        ran.append(pin)

    await pay.options(tenant="acme").enqueue(engine.client, pin=PIN)
    sealed = json.dumps(await stored(engine))
    await engine.run_until_idle(app)
    await engine.admin.execute(
        "select ostinato.enqueue_job('shop.pay', %s::json, tenant_id => 'bolt', max_attempts => 1)", [sealed]
    )
    report = await engine.run_until_idle(app)

    assert (ran, report.failed) == ([PIN], 1)


async def test_people_see_no_secret_argument(engine: Engine, app: App) -> None:
    @app.job()
    async def pay(ctx: Context, amount: int, pin: Pin) -> None: ...

    await register(engine, app)
    job = await pay.enqueue(engine.client, amount=7, pin=PIN)
    await engine.admin.execute("update ostinato_data.kind set secret_args = '{}'")  # as before a worker knew it
    async with engine.client.connection() as conn:
        sealed = await inspect.show_job(conn, job)
        await workers.register_kinds(conn, [enrol._row(kind.name, kind) for kind in app.kinds.values()])
        await engine.admin.execute('update ostinato_data.job set args = \'{"amount": 7, "pin": "clear"}\'')
        clear = await inspect.show_job(conn, job)

    assert sealed.args == clear.args == {"amount": 7, "pin": "•••"}


async def test_an_error_that_quotes_a_secret_argument_is_kept_without_it(
    engine: Engine, app: App, logs: list[EventDict]
) -> None:
    @app.job()
    async def pay(ctx: Context, pin: Pin) -> None:
        raise RuntimeError(f"the bank refused {pin}")

    await pay.options(max_attempts=1).enqueue(engine.client, pin=PIN)
    await engine.run_until_idle(app)
    dump = await everything(engine)

    assert "the bank refused •••" in dump
    assert PIN not in dump
    assert PIN not in str(logs)


async def test_plain_sql_cannot_store_a_secret_argument_in_the_clear(engine: Engine, app: App) -> None:
    @app.job()
    async def pay(ctx: Context, pin: Pin) -> None: ...

    await register(engine, app)

    for call in (
        "enqueue_job('shop.pay', '{\"pin\": \"x\"}')",
        "enqueue_jobs('{shop.pay}', array['{\"pin\": \"x\"}'])",
    ):
        with pytest.raises(psycopg.Error, match="pin") as caught:
            await engine.admin.execute(f"select ostinato.{call}")
        assert caught.value.sqlstate == "OS400"


async def test_a_client_that_knows_only_the_name_of_a_kind_seals_too(engine: Engine, app: App) -> None:
    got: list[str] = []

    @app.job(open=True)
    async def pay(ctx: Context, pin: Pin) -> None:
        got.append(pin)

    await register(engine, app)
    await engine.client.enqueue("shop.pay", {"pin": PIN})
    await engine.client.for_tenant("acme").enqueue("shop.pay", {"pin": PIN})
    dump = await everything(engine)
    await engine.run_until_idle(app)

    assert got == [PIN, PIN]
    assert PIN not in dump


async def test_without_a_key_a_secret_argument_is_refused(engine: Engine, app: App, tmp_path: Any) -> None:  # noqa: ANN401
    @app.job()
    async def pay(ctx: Context, pin: Pin) -> None: ...

    async with Client(engine.database, Settings(data_dir=str(tmp_path))) as client:
        with pytest.raises(SecretKeyMissing, match="ostinato secrets new-key"):
            await pay.enqueue(client, pin=PIN)

    assert PIN not in await everything(engine)


async def test_a_secret_argument_must_be_text_and_a_schedule_keeps_none(engine: Engine, app: App) -> None:
    with pytest.raises(InvalidInput, match="pin"):

        @app.job()
        async def count(ctx: Context, pin: Annotated[int, Secret()]) -> None: ...

    @app.job()
    async def pay(ctx: Context, pin: Annotated[str | None, Secret()] = None) -> None: ...

    app.schedule(pay, cron="0 8 * * *")
    with pytest.raises(InvalidInput, match="keeps no secrets"):
        app.schedule(pay, {"pin": PIN}, cron="0 8 * * *", name="other")
    await register(engine, app)
    with pytest.raises(psycopg.Error, match="keeps no secrets"):
        await engine.admin.execute("select ostinato.upsert_schedule('x', 'shop.pay', '{\"pin\": \"x\"}', '0 8 * * *')")


# Webhooks.


async def test_a_webhook_secret_is_sealed_at_rest_and_signs(engine: Engine) -> None:
    paid = App("till").event("order.paid")
    with Receiver() as receiver:
        async with engine.client.connection() as conn:
            made = await webhooks.create_endpoint(conn, "orders", receiver.url, allowed=parse_allowed(HERE))
            new = await webhooks.rotate(conn, "orders")
            shown = await webhooks.show_endpoint(conn, "orders")
        dump = await everything(engine)
        await paid.emit(engine.client, {"n": 1}, tenant="default", correlation_id="c")
        await engine.run_until_idle(deliveries.app(Settings(webhooks_allow_private=HERE)))
        (request,) = receiver.requests

    now = float(request.headers["webhook-timestamp"])
    for secret in (made.secret, new):
        assert secret.removeprefix("whsec_") not in dump
        assert verify(request.headers, request.body, [secret], now=now)
    assert shown.secret_hints == [new.rstrip("=")[-4:], made.secret.rstrip("=")[-4:]]


async def test_a_worker_without_the_key_waits_and_uses_up_no_attempt(engine: Engine, logs: list[EventDict]) -> None:
    paid = App("till").event("order.paid")
    with Receiver() as receiver:
        async with engine.client.connection() as conn:
            await webhooks.create_endpoint(conn, "orders", receiver.url, allowed=parse_allowed(HERE))
        await paid.emit(engine.client, {"n": 1}, tenant="default", correlation_id="c")
        async with Client(engine.database, Settings(secret_key=new_key())) as other:
            poor = Engine(engine.database, other, engine.admin)
            first = await poor.run_until_idle(deliveries.app(Settings(webhooks_allow_private=HERE)), move_clock=False)
        second = await engine.run_until_idle(deliveries.app(Settings(webhooks_allow_private=HERE)))

    assert (first.snoozed, first.failed, len(receiver.requests)) == (1, 0, 1)
    assert second.done == 1
    assert "webhook_not_signed" in {line["event"] for line in logs}


# The rotation.


async def rotated(engine: Engine, vault: Vault, app: App) -> dict[str, tuple[int, int]]:
    async with engine.client.connection() as conn:
        done = await sealing.rotate(conn, vault, [app])
    return {each.place: (each.sealed, each.refused) for each in done}


async def test_a_rotation_seals_everything_with_the_newest_key_and_what_was_clear(
    engine: Engine, app: App, accounts: psycopg.AsyncConnection[Any]
) -> None:
    got: list[str] = []

    @app.job()
    async def pay(ctx: Context, pin: Pin) -> None:
        got.append(pin)

    await register(engine, app)
    old, new = str(engine.settings.secret_key), new_key()
    both = Settings(secret_key=f"{new} {old}").vault
    await pay.enqueue(engine.client, pin=PIN)
    async with engine.client.connection() as conn:
        await webhooks.create_endpoint(conn, "orders", "https://example.test/")
        await webhooks.create_endpoint(conn, "bills", "https://example.test/", headers={"X-Key": "hunter2"})
        await webhooks.create_endpoint(conn, "parts", "https://example.test/", headers={"X-Key": "hunter2"})
    await accounts.execute(  # as the migration leaves what was there before
        "update ostinato_data.webhook_endpoint set header_values = %s where name = 'parts'", ['{"X-Key": "hunter2"}']
    )
    await accounts.execute(
        "update ostinato_data.webhook_secret set secret = 'whsec_' || repeat('A', 32) where id = ("
        "select min(id) from ostinato_data.webhook_secret)"
    )
    await accounts.execute(
        "insert into shop.account select 'acme', n::text, 'clear' || n from generate_series(1, 450) n"
    )

    first, second = await rotated(engine, both, app), await rotated(engine, both, app)
    async with engine.client.connection() as conn:
        standings = {each.place: each for each in await sealing.survey(conn, Settings(secret_key=new).vault, [app])}
    cursor = await accounts.execute("select token from shop.account where name = '7'")
    (token,) = (await cursor.fetchall())[0]
    async with Client(engine.database, Settings(secret_key=new)) as client:
        await Engine(engine.database, client, engine.admin).run_until_idle(app)

    assert first == {
        "ostinato_data.webhook_secret.secret": (3, 0),
        "ostinato_data.webhook_endpoint.header_values": (2, 0),
        "shop.account.token": (450, 0),
        "arguments of jobs": (1, 0),
    }
    assert set(second.values()) == {(0, 0)}
    assert [(each.newest, each.older, each.clear, each.unknown) for each in standings.values()] == [
        (3, 0, 0, 0),
        (2, 0, 0, 0),
        (450, 0, 0, 0),
        (1, 0, 0, 0),
    ]
    assert Settings(secret_key=new).vault.open(token, purpose=TOKEN.purpose("acme", "7")) == "clear7"
    assert got == [PIN]


async def test_a_rotation_leaves_alone_what_does_not_open_and_says_so(
    engine: Engine, app: App, accounts: psycopg.AsyncConnection[Any]
) -> None:
    vault = engine.settings.vault
    lost = Settings(secret_key=new_key()).vault.seal("x", purpose=TOKEN.purpose("acme", "lost"))
    moved = vault.seal("x", purpose=TOKEN.purpose("acme", "other"))
    await accounts.execute(
        "insert into shop.account values ('acme', 'lost', %s), ('acme', 'moved', %s), ('acme', 'clear', 'y')",
        [lost, moved],
    )

    newer = Settings(secret_key=f"{new_key()} {engine.settings.secret_key}").vault
    done = await rotated(engine, newer, app)
    cursor = await accounts.execute("select token from shop.account where name in ('lost', 'moved') order by name")

    assert done["shop.account.token"] == (1, 2)
    assert [row[0] for row in await cursor.fetchall()] == [lost, moved]


async def test_a_row_that_others_change_meanwhile_is_not_overwritten(
    engine: Engine, app: App, accounts: psycopg.AsyncConnection[Any]
) -> None:
    await accounts.execute("insert into shop.account values ('acme', 'a', 'first')")
    async with engine.client.connection() as conn:
        (place,) = await secrets.list_to_seal(conn, TOKEN, "00000000", 10)
        await accounts.execute("update shop.account set token = 'second'")
        changed = await secrets.reseal(conn, TOKEN, [(place, "ost1:00000000:AAAA")])

    cursor = await accounts.execute("select token from shop.account")
    assert (changed, await cursor.fetchall()) == (0, [("second",)])


async def test_a_rotation_that_ends_in_the_middle_is_finished_by_the_next(
    engine: Engine, app: App, accounts: psycopg.AsyncConnection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    await accounts.execute("insert into shop.account select 'acme', n::text, 'c' from generate_series(1, 9) n")
    monkeypatch.setattr(sealing, "SET", 2)
    reseal, calls = secrets.reseal, []

    async def killed(*given: Any) -> int:  # noqa: ANN401
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return await reseal(*given)

    monkeypatch.setattr(secrets, "reseal", killed)
    with pytest.raises(KeyboardInterrupt):
        await rotated(engine, engine.settings.vault, app)
    monkeypatch.setattr(secrets, "reseal", reseal)
    done = await rotated(engine, engine.settings.vault, app)

    assert done["shop.account.token"] == (5, 0)
    cursor = await accounts.execute("select token from shop.account")
    assert {key_id_of(row[0]) for row in await cursor.fetchall()} == set(engine.settings.vault.key_ids)


async def test_a_rotation_without_a_key_says_what_makes_one(engine: Engine, app: App) -> None:
    with pytest.raises(SecretKeyMissing):
        await rotated(engine, Vault(), app)


@pytest.mark.parametrize(
    "call",
    [
        "count_sealed('ostinato_data.webhook_secret', 'secret')",
        "list_to_seal('ostinato_data.webhook_secret', 'secret', '{id}', '', 1)",
        "reseal('ostinato_data.webhook_secret', 'secret', '{}', '{}', '{}')",
        "reseal_args('{1}', '{a}', '{b}')",
    ],
)
async def test_what_rotates_gives_a_tenant_no_right(engine: Engine, call: str) -> None:
    async with engine.client.for_tenant("acme").transaction() as conn:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute(f"select ostinato.{call}")
