"""`ostinato torture`, in short: everything at random from a seed, and every promise counted."""

import json
import random
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from ostinato import Client
from ostinato._core.base.settings import Settings
from ostinato._core.db.sqlfile import statement
from ostinato._core.engine import outbox
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.testing import KEY
from ostinato.lab.torture import app as torture_app
from ostinato.lab.torture import events as torture_events
from ostinato.lab.torture import network, promises
from ostinato.lab.torture.receiver import Message, Receiver
from tests.faults.site import Site, say
from tests.needs import needs

ROOT = Path(__file__).parents[2]

SEED = 20260115


@pytest.mark.proof
def test_a_short_torture_breaks_no_promise() -> None:
    say(f"seed {SEED}")
    argv = [sys.executable, "-m", "ostinato", "torture", "--json"]
    ended = subprocess.run(
        [*argv, "--minutes=0.2", f"--seed={SEED}", "--workers=3"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    say(ended.stdout + ended.stderr)
    report = json.loads(ended.stdout)

    assert (ended.returncode, report["holds"], report["seed"]) == (0, True, SEED)
    found = {count["name"]: count["value"] for count in report["counts"]}
    # How much happens in that time is up to the machine; that something did is not.
    assert found["jobs acknowledged"] >= found["jobs done"] > 0
    assert found["effects in transactions"] > 0
    assert sum(report["harm"].values()) > 0
    assert found["events emitted"] > 0
    assert found["webhooks received"] >= found["events emitted"]


@pytest.mark.proof
@needs("hosts", here=network.missing() is None, reason=f"no hosts here: {network.missing()}")
def test_a_short_torture_of_several_hosts_breaks_no_promise_and_fails_over() -> None:
    argv = [sys.executable, "-m", "ostinato", "torture", "--json", "--hosts=3", "--workers=3", "--minutes=0.15"]
    ended = subprocess.run([*argv, f"--seed={SEED}"], capture_output=True, text=True, cwd=ROOT, check=False)
    say(ended.stdout + ended.stderr)
    report = json.loads(ended.stdout)

    assert (ended.returncode, report["holds"], report["hosts"]) == (0, True, 3)
    assert report["harm"]["failed over"] >= 1
    found = {count["name"]: count["value"] for count in report["counts"]}
    assert found["jobs done"] > 0
    assert found["slots of schedules"] > 0


async def test_every_broken_promise_about_events_is_counted(site: Site) -> None:
    """With subscribers and a receiver that remember it all wrong."""
    database = Database(site.urls.worker, site.urls.admin, None)
    with Receiver(random.Random(SEED)) as receiver:
        async with (
            Client(database, Settings(secret_key=KEY)) as client,
            await psycopg.AsyncConnection.connect(site.urls.admin, autocommit=True) as conn,
        ):
            for file in ("torture.sql", "events.sql"):
                await conn.execute(statement("ostinato.lab.torture", f"sql/{file}", "create_tables"))
            emitter = torture_events.Emitter(client, random.Random(SEED))
            first, second, third, fourth = await torture_app.emit(conn, ["k", "k", "k", None])
            await outbox.sequence(conn)
            emitter.acknowledged = {first, second, third, fourth, 1}  # 1 was never there
            relayed, made = torture_app.SUBSCRIPTIONS
            right = [(made, event_id) for event_id in (first, second, third, fourth)]
            wrong = [(relayed, event_id) for event_id in (second, first, first, third, 2)]
            for name, event_id in right + wrong:
                key = None if event_id == fourth else "k"
                values = [name, event_id, key]
                await conn.execute(statement("ostinato.lab.torture", "sql/events.sql", "book"), values)
            receiver.messages = [
                Message(f"{second}", b"{}", signed=True, taken=True),
                Message(f"{first}", b"{}", signed=True, taken=False),
                Message(f"{second}", b"[]", signed=False, taken=True),
                Message(f"{third}", b"{}", signed=True, taken=True),
                Message("2", b"{}", signed=True, taken=True),
            ]
            counts = await torture_events.counts(conn, emitter, receiver)
            stories = await torture_events.evidence(conn, receiver)

    assert {count.name: count.value for count in counts if not count.holds} == {
        "events lost": 2,  # the acknowledged one, and the fourth for a subscriber
        "events out of order": 2,
        "effects of events duplicated": 1,
        "events that were never committed": 1,
        "webhooks lost": 2,
        "webhooks out of order": 1,
        "webhooks unsigned": 1,
        "webhooks of events that were never committed": 1,
        "webhooks with other bytes under one id": 1,
        "webhooks received more often than attempted": 3,
    }
    assert [story.split()[1] for story in stories] == [f"{first}", f"{fourth}"]


async def test_every_broken_promise_of_leases_limits_and_schedules_is_counted(site: Site) -> None:
    """Tokens that go back, a job that began beside another, slots that were missed, or served by two."""
    jobs = site.enqueue("effect", 8)
    for job_id in jobs[:7]:  # the last one never ended
        site.rows(
            "insert into ostinato_data.outcome (job_id, attempt, outcome, finished_at) values (%s, 1, 'done', now())",
            job_id,
        )
    one, two, three, four, five, six, seven, undone = jobs
    async with await psycopg.AsyncConnection.connect(site.urls.admin, autocommit=True) as conn:
        for file in ("torture.sql", "promises.sql"):
            await conn.execute(statement("ostinato.lab.torture", f"sql/{file}", "create_tables"))
        for what, key, number, job_id in [
            ("lease", "till", 1, one),
            ("lease", "till", 3, two),
            ("lease", "till", 2, three),  # late
            ("lease", "till", 4, undone),  # of nobody
            ("begin", "a", 0, four),
            ("begin", "b", 0, five),  # of another key: it may
            ("begin", "a", 0, six),  # beside the first
            ("end", "a", 0, four),
            ("end", "b", 0, five),
            ("end", "a", 0, six),
            ("begin", "a", 0, undone),  # which was cut off, and counts for nothing
            ("slot", "0", 0, one),
            ("slot", "1", 0, two),
            ("slot", "1", 0, seven),
            ("slot", "2", 0, undone),
        ]:
            values = [what, key, number, job_id, 1]
            await conn.execute(statement("ostinato.lab.torture", "sql/promises.sql", "write"), values)
        found = await promises.counts(conn, ["0", "1", "2", "3"])
        assert await promises.left(conn, ["0", "1", "2", "3"]) == 1

    assert {count.name: count.value for count in found if not count.holds} == {
        "writes under a lease that somebody else had": 2,
        "jobs of a limited key beside each other": 1,
        "slots of schedules missed or served twice": 3,
    }


def test_a_broken_promise_is_an_exit_code() -> None:
    """With an engine that forgets jobs: the count is not only for show."""
    program = (
        "from ostinato._faces.cli.main import main\n"
        "from ostinato.lab.torture import checks, run as torture_run\n"
        "async def run(seed, minutes, workers, say):\n"
        "    report = torture_run.Report(seed, minutes, workers)\n"
        "    report.counts = [checks.Count('jobs lost', 1, 0)]\n"
        "    return report\n"
        "torture_run.run = run\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "torture", "--seed=1"], capture_output=True, text=True, cwd=ROOT, check=False
    )

    assert ended.returncode == 1
    assert "BROKEN" in ended.stdout
    assert "seed 1" in ended.stdout
