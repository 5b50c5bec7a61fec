"""These checks turn what `ostinato doctor` found into findings: plain values in and out.

Each finding is ok, a warning (it works, but look at it) or a failure (fix it), and says how.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ostinato._core.base.errors import DatabaseUnavailable, OstinatoError
from ostinato._core.base.redact import redact
from ostinato._core.engine.machines import Gap
from ostinato._core.runtime.observe.checkup import Trouble
from ostinato._core.runtime.sealing import Standing
from ostinato._faces.cli.frame import words

OLDEST, NEWEST = 15, 18
CLOCK_SECONDS = 2.0
LONG_TRANSACTION_SECONDS = 300.0
OLD_XMIN = 1_000_000
OLD_BACKLOG_SECONDS = 300.0
WEEKS_AHEAD = 2
DEFAULT_BYTES = 256 * 2**20
LITTLE_DISK, NO_DISK = 2 * 2**30, 256 * 2**20
BUSY = 0.9
HOARDED = 2**30
ENCRYPTED = ("require", "verify-ca", "verify-full")
UNREACHABLE = "Check that the server runs, the host and port in the URL, and the way there."

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    check: str
    level: Literal["ok", "warn", "fail"]
    message: str
    hint: str | None = None
    values: Row = field(default_factory=dict)


def failed(check: str, error: OstinatoError) -> Finding:
    """Report a check that could not be made."""
    hint = UNREACHABLE if isinstance(error, DatabaseUnavailable) else error.hint
    return Finding(check, "fail", redact(error.message), hint, {"code": error.code})


def program(ostinato: str, python: str, driver: str) -> Finding:
    """Report the versions of Ostinato and Python."""
    text = f"Ostinato {ostinato}, Python {python}, psycopg {driver}"
    return Finding("program", "ok", text, None, {"ostinato": ostinato, "python": python, "psycopg": driver})


def version(server: Row) -> Finding:
    """Check that the server is PostgreSQL 15 to 18, and not a standby."""
    major = server["version_num"] // 10_000
    values = {"version": server["version"]}
    if server["standby"]:
        hint = "Name all hosts in the URL: the primary is found by itself."
        return Finding("database", "fail", "this server is a read-only standby", hint, values)
    text = f"PostgreSQL {server['version']}, database {server['database']}, role {server['role']}"
    if major < OLDEST:
        hint = f"Upgrade PostgreSQL to {OLDEST} or later."
        return Finding("database", "fail", f"{text}: too old", hint, values)
    if major > NEWEST:
        hint = f"Ostinato is tested with {OLDEST} to {NEWEST}."
        return Finding("database", "warn", f"{text}: newer than tested", hint, values)
    return Finding("database", "ok", text, None, values)


def durability(server: Row) -> Finding:
    """Check that a crash of the server loses nothing that was committed."""
    names = ("fsync", "full_page_writes", "synchronous_commit")
    values = {name: server[name] for name in names}
    unsafe = [name for name in names[:2] if server[name] != "on"]
    if unsafe:
        text = f"{' and '.join(unsafe)} is off: a crash can corrupt the database"
        hint = "; ".join(f"alter system set {name} = on" for name in unsafe)
        return Finding("durability", "fail", text, f"{hint}; then restart the server.", values)
    if server["synchronous_commit"] == "off":
        text = "synchronous_commit is off: a crash loses the last commits, jobs included"
        hint = "Run: alter role ostinato_worker set synchronous_commit = on"
        return Finding("durability", "fail", text, hint, values)
    text = f"fsync on, synchronous_commit {server['synchronous_commit']}"
    return Finding("durability", "ok", text, None, values)


def replication(found: Row) -> Finding:
    """Check that commits do not wait for a missing standby, and that a failover loses none of them."""
    names, standbys = found["waits_for"], found["standbys"]
    values = {name: found[name] for name in ("waits_for", "standbys", "waiting")}
    if found["waiting"]:
        text = f"{words.counted(found['waiting'], 'commit')} wait for a standby ({names}) that does not answer"
        hint = (
            "Start that standby. After a failover, if there is none any more: alter system reset"
            " synchronous_standby_names; select pg_reload_conf()"
        )
        return Finding("replication", "fail", text, hint, values)
    if standbys and not names:
        text = f"{words.counted(standbys, 'standby')}, and commits wait for none: a failover may lose the last"
        hint = "To lose none: alter system set synchronous_standby_names = 'ANY 1 (*)'; select pg_reload_conf()"
        return Finding("replication", "warn", text, hint, values)
    text = f"commits wait for {names}" if names else "no standby: a lost disk is restored from a backup"
    return Finding("replication", "ok", text, None, values)


def slots(found: list[Row], cap: str) -> Finding:
    """Check that no replication slot keeps the log for a reader that is gone."""
    lost = [row["slot"] for row in found if row["status"] == "lost"]
    if lost:
        hint = f"Make the copy anew from a base backup, then: select pg_drop_replication_slot('{lost[0]}')"
        text = f"{', '.join(lost)} lost the log that it needs: its copy cannot go on"
        return Finding("slots", "fail", text, hint, {"slots": lost})
    hoarding = [row for row in found if (row["bytes"] or 0) > HOARDED]
    if hoarding:
        first = hoarding[0]
        bound = "without a bound" if cap == "-1" else f"up to {cap}"
        text = f"{first['slot']} has no reader and keeps {first['bytes'] >> 20:,} MB of the log, {bound}"
        hint = (
            f"Start its reader, or: select pg_drop_replication_slot('{first['slot']}'). A bound:"
            " alter system set max_slot_wal_keep_size = '16GB'"
        )
        return Finding("slots", "warn", text, hint, {"slots": hoarding, "cap": cap})
    return Finding("slots", "ok", "none keeps much of the log", None, {"cap": cap})


def roles(found: list[Row], connected: str) -> Finding:
    """Check that the roles are neither superusers nor exempt from row-level security."""
    there = {row["name"]: row for row in found}
    missing = [r for r in ("ostinato_owner", "ostinato_worker", "ostinato_tenant", "ostinato_api") if r not in there]
    if missing:
        hint = "Run `ostinato db migrate` as an administrator."
        return Finding("roles", "fail", f"missing: {', '.join(missing)}", hint, {"missing": missing})
    strong = [name for name, row in there.items() if row["superuser"] or row["bypasses_rls"]]
    if strong:
        text = f"{', '.join(strong)} bypasses row-level security: tenants are not kept apart"
        hint = f"Run: alter role … nosuperuser nobypassrls; for {', '.join(strong)}."
        if connected in strong and not connected.startswith("ostinato_"):
            hint = f"Workers connect as {connected}: use a URL with ostinato_worker instead."
        return Finding("roles", "fail", text, hint, {"too_strong": strong})
    text = f"connected as {connected}; no role is a superuser or bypasses row-level security"
    return Finding("roles", "ok", text)


def api_login(role: str, is_worker: bool) -> Finding:  # noqa: FBT001 - a fact, not a mode
    """Check that the API logs in as a role that sees no tenant but the one it acts for."""
    if is_worker:
        text = f"the API logs in as {role}, which sees every tenant"
        hint = (
            "Run: alter role ostinato_api password '…'; then set OSTINATO_API_DATABASE_URL to a URL of that role"
            " for the API."
        )
        return Finding("API login", "warn", text, hint, {"role": role})
    return Finding("API login", "ok", f"{role}, which sees no tenant but the one it acts for", None, {"role": role})


def row_security(open_tables: list[str]) -> Finding:
    """Check that row-level security is forced on every table of the engine."""
    if open_tables:
        text = f"not forced on {', '.join(open_tables)}"
        hint = "Run for each: alter table ostinato_data.… enable row level security, force row level security"
        return Finding("row security", "fail", text, hint, {"tables": open_tables})
    return Finding("row security", "ok", "forced on every table")


def machines(gaps: list[Gap]) -> Finding:
    """Check that every table with a machine has the triggers that enforce it."""
    if not gaps:
        return Finding("machines", "ok", "every table obeys its machine")
    text = "; ".join(f"{gap.entity} does not obey {gap.machine}: {gap.problem}" for gap in gaps[:3])
    hint = "Attach the machine again, as the application's migration does: machines.attach()."
    return Finding("machines", "fail", text, hint, {"gaps": [gap._asdict() for gap in gaps]})


def schema(*, up_to_date: bool, pending: int, troubles: list[str]) -> Finding:
    """Check that the schema is that of this release."""
    hint = "ostinato db migrate"
    if troubles:
        return Finding("schema", "fail", "; ".join(troubles), "See `ostinato db status`.")
    if not up_to_date:
        text = f"{words.counted(pending, 'migration')} pending" if pending else "functions outdated"
        return Finding("schema", "warn", text, hint, {"pending": pending})
    return Finding("schema", "ok", "up to date")


def contract(mine: int, served: tuple[int, int] | None) -> Finding:
    """Check that the contract of this code is one that the schema serves."""
    if served is None:
        hint = "ostinato db migrate"
        return Finding("contract", "fail", "the database has no Ostinato schema", hint)
    current, oldest = served
    values = {"code": mine, "current": current, "oldest": oldest}
    text = f"this code speaks {mine}, the database serves {oldest} to {current}"
    if mine < oldest:
        return Finding("contract", "fail", text, "Upgrade Ostinato on this machine.", values)
    if mine > current:
        return Finding("contract", "fail", text, "ostinato db migrate", values)
    return Finding("contract", "ok", text, None, values)


def clock(difference: float) -> Finding:
    """Compare the clocks of the database and of this machine."""
    values = {"seconds": round(difference, 3)}
    text = f"the database is {abs(difference):.1f} s {'ahead of' if difference > 0 else 'behind'}"
    if abs(difference) > CLOCK_SECONDS:
        hint = "Jobs follow the database's clock and are safe; set up NTP on both machines."
        return Finding("clock", "warn", f"{text} this machine", hint, values)
    return Finding("clock", "ok", f"{abs(difference):.3f} s apart", None, values)


def zones(here: str | None, *, missing_there: int) -> Finding:
    """Check that the database and Python know the time zones."""
    if missing_there:
        hint = "Reinstall the server's time zone data (tzdata)."
        return Finding("time zones", "fail", "the database has no time zone data", hint)
    if here is None:
        hint = "Install it: `pip install tzdata`, or the system's tzdata."
        return Finding("time zones", "warn", "this machine has no time zone data", hint)
    text = f"known in the database and here: {here}"
    return Finding("time zones", "ok", text, None, {"here": here})


def application(app: str, troubles: Sequence[Trouble]) -> list[Finding]:
    """Report what an application lacks on this machine; only its users have to fix it."""
    if not troubles:
        return [Finding(app, "ok", "has what it needs on this machine")]
    return [Finding(app, "warn", each.problem, each.hint) for each in troubles]


def absent(app: str, error: OstinatoError) -> Finding:
    """Report an application that is not installed: nothing is wrong, and the hint installs it."""
    return Finding(app, "ok", error.message.removeprefix(f"{app} is "), error.hint)


def pooling(*, set_pooled: bool, seen_pooled: bool, listens: bool) -> Finding:
    """Check that the settings name a pooler that is in between."""
    if seen_pooled and not set_pooled:
        text = "a pooler stands between, but the settings do not say so"
        hint = "Set OSTINATO_POOLED=true, and OSTINATO_LISTEN_URL to a direct URL if there is one."
        return Finding("connection", "fail", text, hint)
    if set_pooled and not seen_pooled:
        hint = "Leave OSTINATO_POOLED out: prepared statements and the doorbell work directly."
        return Finding("connection", "warn", "pooled is set, but no pooler is in between", hint)
    if not listens:
        hint = "Set OSTINATO_LISTEN_URL to a direct URL, and jobs start at once."
        return Finding("connection", "warn", "pooled, polling only", hint)
    return Finding("connection", "ok", "pooled, with a direct doorbell" if set_pooled else "direct")


def encryption(links: Sequence[tuple[str, str, str]]) -> Finding:
    """Check that connections to other machines require TLS: (setting, host, sslmode) of each."""
    remote = [each for each in links if not _is_here(each[1])]
    if not remote:
        return Finding("encryption", "ok", "the database is on this machine")
    for name, host, mode in remote:
        if mode not in ENCRYPTED:
            told = f"{name} does not require TLS to {host} (sslmode {mode}): libpq falls back to none"
            hint = (
                f"Add sslmode=verify-full and sslrootcert=system, or your own CA, to {name}:"
                " postgresql://user@host/name?sslmode=verify-full&sslrootcert=system"
            )
            return Finding("encryption", "warn", told, hint, {"host": host, "sslmode": mode})
    modes = sorted({mode for _, _, mode in remote})
    return Finding("encryption", "ok", f"TLS is required ({', '.join(modes)})")


def _is_here(host: str) -> bool:
    return not host or host.startswith(("/", "@", "127.")) or host in {"localhost", "::1"}


def connections(used: int, most: int) -> Finding:
    """Check that the server has connections left."""
    values = {"used": used, "most": most}
    text = f"{used} of {most} in use"
    if used > BUSY * most:
        hint = "Raise max_connections, run fewer workers, or put a pooler in between."
        return Finding("connections", "warn", text, hint, values)
    return Finding("connections", "ok", text, None, values)


def workers(alive: int, expired: int) -> Finding:
    """Check that a worker is alive."""
    values = {"alive": alive, "silent": expired}
    if alive == 0:
        hint = "ostinato worker --app package.module:app"
        return Finding("workers", "warn", "none is running", hint, values)
    if expired:
        text = f"{alive} alive, {expired} silent: their jobs are being taken back"
        return Finding("workers", "warn", text, "ostinato workers", values)
    return Finding("workers", "ok", f"{alive} alive", None, values)


def backlog(ready: int, oldest_seconds: float | None) -> Finding:
    """Check that ready jobs do not wait for long."""
    values = {"ready": ready, "oldest_seconds": oldest_seconds}
    text = f"{words.counted(ready, 'job')} ready"
    if oldest_seconds is not None:
        text = f"{text}, the oldest for {words.span(oldest_seconds)}"
        if oldest_seconds > OLD_BACKLOG_SECONDS:
            hint = "ostinato queues list; then ostinato why JOB"
            return Finding("backlog", "warn", text, hint, values)
    return Finding("backlog", "ok", text, None, values)


def dead_letters(count: int) -> Finding:
    """Check that there are no dead letters."""
    if count:
        text = f"{words.counted(count, 'job')} gave up"
        return Finding("dead letters", "warn", text, "ostinato jobs dead", {"count": count})
    return Finding("dead letters", "ok", "none", None, {"count": 0})


def quarantine(rows: list[Row]) -> Finding:
    """Check that no place was set aside because its job is missing or cannot be read."""
    if not rows:
        return Finding("quarantine", "ok", "empty")
    named = ", ".join(f"job {row['job_id']} ({row['damage']})" for row in rows[:3])
    told = f"{words.counted(len(rows), 'job')} set aside: {named}"
    hint = "Repair the rows from a backup, then: select ostinato.restore_job(JOB)"
    return Finding("quarantine", "fail", told, hint, {"jobs": [row["job_id"] for row in rows]})


def faults(rows: list[Row]) -> Finding:
    """Check that every part of the workers' polls works."""
    if not rows:
        return Finding("polls", "ok", "no part failed in the last 5 minutes")
    told = "; ".join(f"{row['part']} failed: {row['message']} ({row['state']})" for row in rows)
    hint = "The other parts go on. Look at the server's log, and at `ostinato workers`."
    return Finding("polls", "fail", told, hint, {"parts": [row["part"] for row in rows]})


def kinds(rows: list[Row]) -> Finding:
    """Check that every kind that waits has a worker that runs it."""
    if not rows:
        return Finding("kinds", "ok", "every kind that waits has a worker")
    named = ", ".join(f"{row['kind']} in queue {row['queue']} ({row['jobs']})" for row in rows[:5])
    hint = "Start a worker whose app declares them, give them an alias, or rename them: ostinato jobs rekind"
    return Finding("kinds", "warn", f"nobody runs {named}", hint, {"kinds": rows})


def secrets(keys: Sequence[str], standings: Sequence[Standing]) -> Finding:
    """Check that stored secrets are sealed, and that a configured key opens each."""
    unknown, clear = (sum(getattr(each, name) for each in standings) for name in ("unknown", "clear"))
    total = sum(each.total for each in standings)
    values = {"keys": list(keys), "unknown": unknown, "clear": clear, "total": total}
    if unknown:
        missing = sorted({key for each in standings for key in each.keys} - set(keys))
        text = f"no configured key opens {words.counted(unknown, 'stored secret')}: {', '.join(missing)} missing"
        hint = "Put the key back into OSTINATO_SECRET_KEY or the key file, behind the newest one."
        return Finding("secrets", "fail", text, hint, values)
    if clear:
        text = f"{words.counted(clear, 'stored secret')} not sealed"
        hint = "ostinato secrets rotate" if keys else "ostinato secrets new-key, then: ostinato secrets rotate"
        return Finding("secrets", "warn", text, hint, values)
    if not keys:
        text = "no key: webhooks and secret arguments are refused until `ostinato secrets new-key`"
        return Finding("secrets", "ok", text, None, values)
    return Finding("secrets", "ok", f"{words.counted(total, 'stored secret')}, newest key {keys[0]}", None, values)


def partitions(weeks: int, default_bytes: int, retention_days: int) -> Finding:
    """Check that the coming weeks have their partitions."""
    values = {"weeks": weeks, "default_bytes": default_bytes}
    text = f"{words.counted(weeks, 'week')} ahead"
    if weeks < WEEKS_AHEAD:
        hint = f"A running worker makes them; or call ostinato.upkeep_partitions({retention_days})"
        return Finding("partitions", "warn", text, hint, values)
    if default_bytes > DEFAULT_BYTES:
        text = f"{text}; the default partition holds {default_bytes >> 20} MB"
        hint = f"Call ostinato.upkeep_partitions({retention_days}, thorough => true) in a quiet hour"
        return Finding("partitions", "warn", text, hint, values)
    return Finding("partitions", "ok", text, None, values)


def transactions(oldest: Row | None, xmin_age: int) -> Finding:
    """Check that no transaction is open for so long that dead rows pile up behind it."""
    values = {"oldest": oldest, "xmin_age": xmin_age}
    if oldest is not None and oldest["seconds"] > LONG_TRANSACTION_SECONDS:
        who = f"{oldest['role']}, {oldest['application'] or 'unnamed'}, {oldest['state']}"
        text = f"process {oldest['pid']} ({who}) has one open for {words.span(oldest['seconds'])}"
        hint = f"To end it: select pg_terminate_backend({oldest['pid']})"
        return Finding("transactions", "warn", text, hint, values)
    if xmin_age > OLD_XMIN:
        text = f"something holds back {xmin_age:,} transactions of dead rows"
        hint = "Look at pg_replication_slots and pg_prepared_xacts for what was left behind."
        return Finding("transactions", "warn", text, hint, values)
    return Finding("transactions", "ok", "none is open for long", None, values)


def disk(free: int, folder: str) -> Finding:
    """Check that the data folder has room."""
    values = {"free_bytes": free, "folder": folder}
    text = f"{free / 2**30:.1f} GB free for {folder}"
    if free < LITTLE_DISK:
        hint = "Free some space, or move the data folder to another disk."
        return Finding("disk", "fail" if free < NO_DISK else "warn", text, hint, values)
    return Finding("disk", "ok", text, None, values)
