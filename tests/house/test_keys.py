"""No key leads from one tenant to another: of every table, the engine's and the applications'.

A unique key is checked without row-level security: one that does not begin with the tenant tells
whoever may choose its values what another tenant has, or lets him take it first. So does a foreign
key. The rule and the exceptions are in docs/security.md, "Keys and tenants".
"""

# ruff: noqa: S608  # questions to the catalogue, put together from parts

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from ostinato._core.db.bundle import Component
from ostinato._core.db.embedded import Server
from ostinato._core.db.migrate import migrate
from ostinato._core.engine.schema import ENGINE
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.named import named
from tests.conftest import copy_of_engine

Names = set[str]

# Unique keys of tables with tenants that begin with something else, each with its reason.
OTHER_KEYS = {
    "ostinato_data.alert_pkey": "the name of an alert is the application's",
    "ostinato_data.alert_firing_open": "as alert_pkey; the label is what its source tells",
    "ostinato_data.subscription_pkey": "the name of a subscription is the application's",
    "ostinato_data.schedule_due_pkey": "its foreign key lets a tenant name schedules of its own only",
    "ostinato_data.session_hash_key": "the hash of a text that the console draws; a tenant has no rights on it",
    # Which tenant a sender of a provider belongs to is found by it when a callback comes in.
    "outbound.ownership_pkey": "tenants cannot write it; only what Meta, DNS or the administrator proves is in it",
    "outbound.sender_hook": "drawn by the database, 122 random bits",
}
# Foreign keys of tables with tenants that do not carry the tenant, each with its reason.
OTHER_FOREIGN_KEYS = {
    "ostinato_data.webhook_delivery_message_id_fkey": "written by the engine alone, both rows by one statement",
    "enrichment.request_company_siren_fkey": "companies are facts of public registers, known to all tenants",
    "enrichment.refresh_company_siren_fkey": "as of request",
    "rounds.failures_job_fkey": "the three jobs, the same for everybody",
}
# Tables without a tenant that tenants read, each with its reason; none of them may be written.
SHARED = {
    "enrichment.company": "by the policy of request: the companies that one's requests speak of",
    "enrichment.company_document": "as company",
    "enrichment.establishment": "as company",
    "enrichment.company_field_provenance": "as company",
    "enrichment.company_source_retrieval": "as company",
    "enrichment.source": "which registers are asked, and how they are; no credentials",
    "ostinato_data.cancel_request": "by the policy of job",
    "ostinato_data.deferral": "by the policy of job",
    "ostinato_data.delivery": "by the policy of job",
    "ostinato_data.event_type": "which events there are",
    "ostinato_data.job_progress": "by the policy of job",
    "ostinato_data.kind": "which kinds of jobs there are",
    "ostinato_data.machine": "which states there are",
    "ostinato_data.machine_table": "which tables obey a machine",
    "ostinato_data.machine_transition": "what leads from one state to the next",
    "ostinato_data.outcome": "by the policy of job",
    "ostinato_data.quarantine": "by the policy of job",
    "ostinato_data.queue": "which queues are configured, with their limits",
    "ostinato_data.step": "by the policy of job",
    "ostinato_data.test_clock": "the time, in a database made for tests",
    "ostinato_data.tick": "how long nothing expires",
    "ostinato_data.worker": "who works",
}

TABLES = """
    select c.oid, n.nspname || '.' || c.relname as name, a.attnum as tenant
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    left join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition
      and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
"""
OPEN_TABLES = f"""
    select t.name from ({TABLES}) t join pg_class c on c.oid = t.oid
    where not c.relrowsecurity or not c.relforcerowsecurity
       or not exists (select from pg_policy p where p.polrelid = c.oid)
"""
# An id that the database draws and no tenant may write tells nothing, and cannot be taken first.
LOOSE_KEYS = f"""
    select n.nspname || '.' || i.relname as name from ({TABLES}) t
    join pg_index x on x.indrelid = t.oid and x.indisunique
    join pg_class i on i.oid = x.indexrelid join pg_namespace n on n.oid = i.relnamespace
    left join pg_attribute a on a.attrelid = t.oid and a.attnum = x.indkey[0]
    where t.tenant is not null and x.indkey[0] <> t.tenant
      and not coalesce(a.atttypid = 'bigint'::regtype and a.attname ~ '(^|_)(id|seq)$'
                       and not has_column_privilege('ostinato_tenant', t.oid, a.attnum, 'insert')
                       and not has_column_privilege('ostinato_tenant', t.oid, a.attnum, 'update'), false)
"""
LOOSE_FOREIGN_KEYS = f"""
    select f.connamespace::regnamespace::text || '.' || f.conname as name from pg_constraint f
    join ({TABLES}) t on t.oid = f.conrelid join ({TABLES}) o on o.oid = f.confrelid
    where f.contype = 'f' and t.tenant is not null and not exists (
        select from unnest(f.conkey, f.confkey) k (mine, theirs) where (k.mine, k.theirs) = (t.tenant, o.tenant))
"""
SEEN_TABLES = f"""
    select t.name from ({TABLES}) t
    where t.tenant is null and has_any_column_privilege('ostinato_tenant', t.oid, 'select')
"""
WRITTEN_TABLES = f"""
    select t.name from ({TABLES}) t where t.tenant is null
      and (has_any_column_privilege('ostinato_tenant', t.oid, 'insert, update')
           or has_table_privilege('ostinato_tenant', t.oid, 'delete, truncate, trigger'))
"""
# What runs as its owner finds nothing in a schema that its caller chose, and is called by nobody that is not named.
LOOSE_DEFINERS = """
    select p.oid::regprocedure::text from pg_proc p join pg_roles r on r.oid = p.proowner
    where p.prosecdef and p.pronamespace::regnamespace::text !~ '^(pg_|information_schema)' and (
        r.rolsuper or r.rolbypassrls
        or not exists (select from unnest(p.proconfig) c where c ~ '^search_path=.*, pg_temp$')
        or exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0))
"""
# Rows of tenants that tenants are let in to are shown, and written, by the tenant that the transaction names: so says
# each policy of theirs, of the API and of everybody (0), because one that lets in is enough.
OWN_TENANT = "NULLIF(current_setting(''app.tenant_id''::text, true), ''''::text))"
UNDIVIDED_TABLES = f"""
    select t.name from ({TABLES}) t
    where t.tenant is not null and has_any_column_privilege('ostinato_tenant', t.oid, 'select, insert, update')
      and not coalesce((
          select bool_and(starts_with(ltrim(said, '('), 'tenant_id = {OWN_TENANT}') and said not like '% OR %')
          from pg_policy p, unnest(array[
              pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)]) said
          where p.polrelid = t.oid and said is not null
            and p.polroles && array[0, 'ostinato_tenant'::regrole, 'ostinato_api'::regrole]::oid[]), false)
"""


@pytest.fixture(scope="module")
def catalogue(shared_server: Server) -> Iterator[psycopg.Connection]:
    """The database with the engine and all applications, as a superuser sees it."""
    urls = copy_of_engine(shared_server, "all_keys")
    components = [named(app.sql, Component) for app in installed_apps() if app.sql]
    asyncio.run(migrate(urls.admin, [ENGINE, *components]))
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        yield conn
    shared_server.drop_database("all_keys")


def names(conn: psycopg.Connection, question: str) -> Names:
    return {row[0] for row in conn.execute(question.encode()).fetchall()}


def test_all_five_applications_are_looked_at(catalogue: psycopg.Connection) -> None:
    schemas = {name.partition(".")[0] for name in names(catalogue, f"select t.name from ({TABLES}) t")}

    assert schemas >= {"ostinato_data", "enrichment", "vault_secure", "outbound", "watchfolder", "rounds"}


def test_every_table_is_closed_by_forced_row_level_security(catalogue: psycopg.Connection) -> None:
    assert names(catalogue, OPEN_TABLES) == set()


def test_every_function_that_runs_as_its_owner_is_pinned_and_open_to_nobody_by_default(
    catalogue: psycopg.Connection,
) -> None:
    assert names(catalogue, LOOSE_DEFINERS) == set()


def test_the_tenant_is_the_first_column_of_every_key_that_a_tenant_may_choose(catalogue: psycopg.Connection) -> None:
    found = names(catalogue, LOOSE_KEYS)

    assert found - OTHER_KEYS.keys() == set()
    assert OTHER_KEYS.keys() - found == set(), "no longer needed"


def test_every_foreign_key_of_a_tenants_table_carries_the_tenant(catalogue: psycopg.Connection) -> None:
    assert names(catalogue, LOOSE_FOREIGN_KEYS) == set(OTHER_FOREIGN_KEYS)


def test_tables_without_tenants_that_tenants_see_are_listed_and_not_written(catalogue: psycopg.Connection) -> None:
    assert names(catalogue, SEEN_TABLES) == set(SHARED)
    assert names(catalogue, WRITTEN_TABLES) == set()


def test_tables_with_tenants_show_each_its_own_rows(catalogue: psycopg.Connection) -> None:
    assert names(catalogue, UNDIVIDED_TABLES) == set()


@pytest.mark.parametrize(
    ("question", "table", "found"),
    [
        (OPEN_TABLES, "create table rounds.bad (tenant_id text, id bigint)", "rounds.bad"),
        (LOOSE_KEYS, "create table rounds.bad (tenant_id text, name text unique)", "rounds.bad_name_key"),
        (
            LOOSE_KEYS,
            (
                "create table rounds.bad (tenant_id text, id bigint primary key);"
                " grant insert on rounds.bad to ostinato_tenant"
            ),
            "rounds.bad_pkey",
        ),
        (
            LOOSE_KEYS,
            (
                "create table rounds.bad (tenant_id text, name text);"
                " create unique index bad_lower on rounds.bad (lower(name), tenant_id)"
            ),
            "rounds.bad_lower",
        ),
        (
            LOOSE_FOREIGN_KEYS,
            "create table rounds.bad (tenant_id text, job bigint references ostinato_data.schedule (id))",
            "rounds.bad_job_fkey",
        ),
        (
            WRITTEN_TABLES,
            "create table rounds.bad (id bigint); grant insert on rounds.bad to ostinato_tenant",
            "rounds.bad",
        ),
        (
            UNDIVIDED_TABLES,
            (
                "create table rounds.bad (tenant_id text); grant select on rounds.bad to ostinato_tenant;"
                " create policy all_of_it on rounds.bad to ostinato_tenant using (true)"
            ),
            "rounds.bad",
        ),
        (UNDIVIDED_TABLES, "create policy leak on rounds.comments using (true)", "rounds.comments"),
        (UNDIVIDED_TABLES, "create policy leak on rounds.comments to ostinato_api using (true)", "rounds.comments"),
        (
            UNDIVIDED_TABLES,
            "create policy leak on rounds.comments for insert to ostinato_tenant with check (true)",
            "rounds.comments",
        ),
        (
            UNDIVIDED_TABLES,
            (
                "create policy leak on rounds.comments to ostinato_tenant"
                " using (tenant_id = nullif(current_setting('app.tenant_id', true), '') or tenant_id <> '')"
            ),
            "rounds.comments",
        ),
    ],
    ids=[
        *("open", "name first", "id that tenants write", "expression", "foreign key", "written", "undivided"),
        *("public", "api", "writing", "or"),
    ],
)
def test_a_new_table_that_breaks_the_rule_is_named(
    catalogue: psycopg.Connection, question: str, table: str, found: str
) -> None:
    with catalogue.transaction(force_rollback=True):
        catalogue.execute(table.encode())

        assert found in names(catalogue, question)
