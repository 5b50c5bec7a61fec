"""Transactions of handlers in threads: a commit of which nothing is known is never "ok"."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from ostinato._core.base.errors import CommitUnknown
from ostinato._core.db.embedded import Server, Urls
from ostinato._core.db.guard import ThreadGuard
from ostinato._core.runtime.database import Database, thread_transaction
from tests.db.standby import waiting_for_a_standby, waits_for_a_standby
from tests.waiting import until


@contextmanager
def writing(urls: Urls, seconds: float = 30) -> Iterator[tuple[int, threading.Event, Future[None]]]:
    """A thread that has written and waits to be told to commit; its backend and what came of it."""
    with psycopg.connect(urls.admin, autocommit=True) as admin:
        admin.execute("create table note (n int)")
        admin.execute("grant insert on note to ostinato_worker")
    database = Database(urls.worker, urls.admin, listen_url=None)
    backend: Future[int] = Future()
    commits = threading.Event()

    def write() -> None:
        with thread_transaction(database, seconds) as conn:
            conn.execute("insert into note values (1)")
            backend.set_result(conn.info.backend_pid)
            commits.wait()

    with ThreadPoolExecutor(1) as threads:
        written = threads.submit(write)
        try:
            yield backend.result(), commits, written
        finally:
            commits.set()


def test_a_cancelled_wait_for_a_standby_is_unknown(urls: Urls) -> None:
    with writing(urls) as (pid, commits, written), waiting_for_a_standby(urls) as admin:
        commits.set()
        until(lambda: waits_for_a_standby(admin, pid))
        admin.execute("select pg_cancel_backend(%s)", [pid])

        with pytest.raises(CommitUnknown, match="standby"):
            written.result()


def test_a_commit_that_gets_no_answer_is_unknown_after_its_time(urls: Urls) -> None:
    with writing(urls, seconds=0.5) as (_, commits, written), waiting_for_a_standby(urls):
        commits.set()

        with pytest.raises(CommitUnknown, match=r"no answer within 0\.5 s"):
            written.result()


def test_a_timer_that_goes_off_late_cuts_nothing(urls: Urls) -> None:
    """It had begun to run when its call ended."""
    with psycopg.connect(urls.admin) as conn:
        with ThreadGuard(conn, 3600) as guard:
            conn.execute("select 1")

        guard._expire()

        assert not guard.expired
        assert conn.execute("select 7").fetchone() == (7,)


def test_a_commit_is_a_commit(server: Server, urls: Urls) -> None:
    with writing(urls) as (_, commits, written):
        commits.set()
        written.result()

    with psycopg.connect(urls.admin) as admin:
        assert admin.execute("select n from note").fetchall() == [(1,)]
