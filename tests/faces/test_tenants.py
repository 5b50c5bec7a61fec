"""`ostinato tenants dump` and `load`: one tenant from an installation into another."""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.migrate import migrate
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.cli.frame.schema import components
from tests.conftest import copy_of_engine
from tests.disk import fill, small_disk
from tests.faces.conftest import EMPTY, Place, Shell

TENANT = "acme"
EMIT = (
    "ostinato.emit_event(%s, %s, %s, tenant_id => %s, correlation_id => 'c', occurred_at => now(), producer => 'test')"
)
APP_ROWS = """
insert into rounds.groups (tenant_id, id, name, is_active, created_at, created_by)
select t, n, 'Third floor', true, now(), 'ann' from unnest(array['acme', 'globex']) with ordinality u (t, n);
"""
HOOK = (
    "ostinato.create_webhook_endpoint('hook', 'https://example.com', tenant_id => %s, secret => %s,"
    " secret_hint => 'aled')"
)
SEALED = "ost1:0a1b2c3d:sealed"


class Other(Place):
    """A second installation, whose hashes have the same key."""

    def fingerprint(self) -> list[tuple[Any, ...]]:
        """Rows of every table, to see whether anything was changed."""
        tables = self.conn.execute(
            "select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where c.relkind = 'r' and n.nspname in ('ostinato_data', 'rounds', 'outbound') order by 1"
        ).fetchall()
        return [(name, self.call(f"count(*) from {name}")) for (name,) in tables]


@pytest.fixture(scope="session")
def _other_urls(shared_server: Server) -> Urls:
    urls = copy_of_engine(shared_server, "faces_other")
    asyncio.run(migrate(urls.admin, components(installed_apps())))
    return urls


@pytest.fixture
def other(place: Place, _other_urls: Urls) -> Iterator[Other]:
    made = Other(_other_urls)
    made.conn.execute(EMPTY)
    for each in (place, made):
        each.conn.execute("truncate rounds.groups cascade")
        each.conn.execute("delete from outbound.secret")
    yield made
    made.conn.close()


@pytest.fixture
def there(other: Other) -> Shell:
    """The other installation's command line."""
    urls = other.urls
    return Shell(
        {"OSTINATO_DATABASE_URL": urls.worker, "OSTINATO_ADMIN_URL": urls.admin, "OSTINATO_API_DATABASE_URL": urls.api}
    )


def furnish(place: Place) -> dict[str, list[int]]:
    """Jobs in every place and events, of two tenants; returns the jobs of the first."""
    jobs: dict[str, list[int]] = {}
    place.conn.execute("truncate rounds.groups cascade")
    for tenant in ("globex", TENANT):
        held = [place.enqueue(tenant_id=tenant, queue="mail") for _ in range(2)]
        worker = place.worker()
        place.claim(worker, "mail")
        dead = place.bury(tenant_id=tenant)
        ready = [place.enqueue(tenant_id=tenant) for _ in range(3)]
        later = place.enqueue(tenant_id=tenant, run_at="2030-01-01T00:00:00Z")
        jobs = {"held": held, "ready": ready, "later": [later], "dead": [dead]}
        place.call(EMIT, "order.paid", '{"n": 1}', "k", tenant)
        place.call(HOOK, tenant, SEALED)
        place.conn.execute("select ostinato.sequence_events(100)")
        place.call(EMIT, "order.sent", '{"n": 2}', "k", tenant)
    place.conn.execute(APP_ROWS.encode())
    return jobs


def states(place: Place, jobs: dict[str, list[int]]) -> dict[str, set[str]]:
    return {name: {place.call("ostinato.job_state(%s)", job) for job in ids} for name, ids in jobs.items()}


def test_a_tenant_is_copied_whole_and_no_other_with_it(
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path
) -> None:
    jobs = furnish(place)
    file = str(tmp_path / "acme.gz")

    written = shell.json("tenants", "dump", TENANT, file)
    assert written["held"] == 2
    loaded = there.json("tenants", "load", file)

    assert loaded["rows"] == written["rows"]
    assert loaded["rows"]["ostinato_data.job"] == 7
    assert loaded["rows"]["rounds.groups"] == 1
    assert states(other, jobs) == {"held": {"ready"}, "ready": {"ready"}, "later": {"scheduled"}, "dead": {"dead"}}
    assert other.call("secret from ostinato_data.webhook_secret") == SEALED
    for name in ("job", "event", "ready", "dead_letter", "webhook_endpoint"):
        assert other.call(f"array_agg(distinct tenant_id) from ostinato_data.{name}") == [TENANT]


def test_what_is_loaded_goes_on_there_with_events_in_their_order_and_new_ids(
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path
) -> None:
    furnish(place)
    file = str(tmp_path / "acme.gz")
    shell.run("tenants", "dump", TENANT, file)
    place.conn.execute("select ostinato.sequence_events(100)")
    there.run("tenants", "load", file)
    here = other.call("max(id) from ostinato_data.job")

    assert other.call("count(*) from generate_series(1, 20) where ostinato.enqueue_job('mail.send') > 0") == 20
    assert other.call("min(id) from ostinato_data.job where tenant_id = 'default'") > here
    other.conn.execute("select ostinato.sequence_events(100)")
    order = other.conn.execute("select type from ostinato_data.event_log order by position").fetchall()
    assert order == [("order.paid",), ("order.sent",)]


def test_nothing_is_loaded_over_rows_or_twice(
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path
) -> None:
    furnish(place)
    file = str(tmp_path / "acme.gz")
    shell.run("tenants", "dump", TENANT, file)

    assert "nothing is loaded over them" in shell.fails("tenants", "load", file)
    there.run("tenants", "load", file)
    before = other.fingerprint()
    assert "nothing is loaded over them" in there.fails("tenants", "load", file)
    assert other.fingerprint() == before
    assert "is there already" in shell.fails("tenants", "dump", TENANT, file)
    assert "nothing of the tenant nobody" in shell.fails("tenants", "dump", "nobody", str(tmp_path / "n.gz"))
    assert not list(tmp_path.glob("*n.gz*"))


def test_a_file_that_is_damaged_or_of_somebody_else_changes_nothing(
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path
) -> None:
    furnish(place)
    file = tmp_path / "acme.gz"
    shell.run("tenants", "dump", TENANT, str(file))
    whole = gzip.decompress(file.read_bytes())
    lines = whole.split(b"\n")
    header = json.loads(lines[0])
    before = other.fingerprint()

    for bad, said in (
        (whole.replace(b"Third floor", b"Third flood"), "its checksum is another"),
        (whole[: len(whole) // 2], "the file is"),
        (whole.replace(b"\tacme\t", b"\tglobex\t"), "rows of another tenant"),
        (b"\n".join([json.dumps(header | {"versions": {}}).encode(), *lines[1:]]), "another version of the schema"),
        (b"\n".join([json.dumps(header | {"secrets": {}}).encode(), *lines[1:]]), "with another secret"),
        (b"hello\n", "no file of a tenant"),
    ):
        file.write_bytes(gzip.compress(bad))
        assert said in there.fails("tenants", "load", str(file))
    file.write_bytes(b"no gzip")
    assert "cannot be read" in there.fails("tenants", "load", str(file))

    assert other.fingerprint() == before


def forged(file: Path, table: str, change: Callable[[dict[str, str]], list[dict[str, str]]]) -> None:
    """Change the rows of a table in a file, with a checksum that is right again."""
    *lines, _ = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    made: list[bytes] = []
    columns: list[str] | None = None
    for line in lines:
        if columns is not None and line != b"\\.\n":
            row = dict(zip(columns, line.decode().rstrip("\n").split("\t"), strict=True))
            made += ["\t".join(each[name] for name in columns).encode() + b"\n" for each in change(row)]
            continue
        said = json.loads(line) if line.startswith(b"{") else {}
        columns = said["columns"] if said.get("table") == table else None
        made.append(line)
    whole = b"".join(made)
    end = json.dumps({"end": 0, "sha256": hashlib.sha256(whole).hexdigest()}).encode() + b"\n"
    file.write_bytes(gzip.compress(whole + end))


@pytest.mark.parametrize(
    ("table", "column"),
    [("dead_letter", "job_id"), ("outcome", "job_id"), ("ready", "job_id"), ("webhook_secret", "endpoint_id")],
)
def test_a_file_that_was_tampered_with_reaches_no_other_tenant(  # noqa: PLR0917 - fixtures
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path, table: str, column: str
) -> None:
    furnish(place)
    file = tmp_path / "acme.gz"
    shell.run("tenants", "dump", TENANT, str(file))
    other.call("setval('ostinato_data.job_id_seq', %s)", place.call("nextval('ostinato_data.job_id_seq')") + 1000)
    job = other.enqueue(tenant_id="globex")
    other.call(HOOK, "globex", SEALED)
    theirs = job if column == "job_id" else other.call("id from ostinato_data.webhook_endpoint")
    before = other.fingerprint()

    forged(file, f"ostinato_data.{table}", lambda row: [{**row, column: str(theirs)}])

    assert f"rows in ostinato_data.{table} name what is not of acme" in there.fails("tenants", "load", str(file))
    assert other.fingerprint() == before


def test_the_operators_of_one_installation_get_no_key_of_another(
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path
) -> None:
    furnish(place)
    for number, roles in enumerate(("{installation}", "{ops}")):
        place.call("ostinato.create_api_key(%s, sha256('x'), %s, 'ann', %s)", 100 + number, TENANT, roles)
    file = str(tmp_path / "acme.gz")
    shell.run("tenants", "dump", TENANT, file)

    there.run("tenants", "load", file)

    assert other.call("array_agg(roles::text) from ostinato_data.api_key") == ["{ops}"]


def test_a_file_is_written_by_nobodys_hand_but_ours(shell: Shell, place: Place, tmp_path: Path) -> None:
    furnish(place)
    theirs = tmp_path / "theirs"
    theirs.touch(mode=0o644)
    (tmp_path / ".acme.gz.new").symlink_to(theirs)

    shell.run("tenants", "dump", TENANT, str(tmp_path / "acme.gz"))

    assert theirs.read_bytes() == b""
    assert (tmp_path / "acme.gz").stat().st_mode & 0o777 == 0o600


def test_a_place_that_takes_no_file_is_named_and_keeps_no_part_of_it(
    shell: Shell, place: Place, tmp_path: Path
) -> None:
    furnish(place)

    said = shell.fails("tenants", "dump", TENANT, str(tmp_path / "nowhere" / "acme.gz"))
    assert "No such file or directory" in said
    assert "Check the path" in said
    with small_disk(1) as disk:
        fill(disk)
        said = shell.fails("tenants", "dump", TENANT, str(disk / "acme.gz"))
        assert "the disk is full: No space left on device" in said
        assert "Make room on it" in said
        assert [path.name for path in disk.iterdir()] == ["filler"]


def test_who_moves_a_tenant_waits_until_nobody_works_for_it(shell: Shell, place: Place, tmp_path: Path) -> None:
    furnish(place)

    assert "workers hold 2 jobs of acme" in shell.fails("tenants", "dump", TENANT, str(tmp_path / "f"), "--quiet-only")


def test_the_same_id_drawn_on_both_sides_is_a_conflict_and_loads_nothing(
    shell: Shell, place: Place, there: Shell, other: Other, tmp_path: Path
) -> None:
    furnish(place)
    file = str(tmp_path / "acme.gz")
    shell.run("tenants", "dump", TENANT, file)
    taken = place.call("min(id) from ostinato_data.job where tenant_id = 'acme'")
    other.conn.execute(
        "insert into ostinato_data.job (id, created_at, run_at, priority, max_attempts, kind, queue, tenant_id, args)"
        " values (%s, now(), now(), 0, 1, 'mail.send', 'default', 'globex', '{}')",
        [taken],
    )
    before = other.fingerprint()

    assert "has a row with the same key" in there.fails("tenants", "load", file)
    assert other.fingerprint() == before
