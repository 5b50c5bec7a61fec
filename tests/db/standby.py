"""Commits that wait for a standby."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg

from ostinato._core.db.embedded import Urls
from tests.waiting import until

WAITS = "select exists (select from pg_stat_activity where wait_event = 'SyncRep' and pid = %s)"
WRITES = "select pg_logical_emit_message(true, 'probe', '')"


@contextmanager
def waiting_for_a_standby(urls: Urls) -> Iterator[psycopg.Connection]:
    """A server whose commits wait for a standby that does not exist.

    Whether they wait is known to the checkpointer first, some time after the setting is changed,
    whatever a session shows of it. So commits are made until one waits; and at the end one more,
    which returns when they wait no longer.
    """
    with psycopg.connect(urls.admin, autocommit=True) as admin, psycopg.connect(urls.admin, autocommit=True) as probe:
        admin.execute("set synchronous_commit = local")
        admin.execute("alter system set synchronous_standby_names = 'nobody'")
        admin.execute("select pg_reload_conf()")
        try:
            _until_a_commit_waits(admin, probe)
            yield admin
        finally:
            admin.execute("alter system reset synchronous_standby_names")
            admin.execute("select pg_reload_conf()")
            probe.execute(WRITES)


def waits_for_a_standby(admin: psycopg.Connection, pid: int) -> bool:
    return admin.execute(WAITS, [pid]).fetchone() == (True,)


def _until_a_commit_waits(admin: psycopg.Connection, probe: psycopg.Connection) -> None:
    seen = threading.Event()
    pid = probe.info.backend_pid

    def commit() -> None:
        while not seen.is_set():
            probe.execute(WRITES)

    with ThreadPoolExecutor(1) as threads:
        committing = threads.submit(commit)
        try:
            until(lambda: committing.done() or waits_for_a_standby(admin, pid))
        finally:
            seen.set()
            admin.execute("select pg_cancel_backend(%s)", [pid])
        committing.result()
