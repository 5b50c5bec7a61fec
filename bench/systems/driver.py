"""The driver that every Python system shares: an action and its arguments in, one JSON line out.

`python -m bench.systems.<system> <action> '<arguments as JSON>'`, with the database in BENCH_DSN.

- prepare: installs the system's schema in a fresh database
- bulk:    enqueues n jobs {"n": i} the system's best way for sets, `batch` to a transaction
- single:  enqueues n jobs one after the other, a commit each
- drain:   one worker; from the start of the first job until the database shows all completed
- work:    one worker that stays: reports start latencies, or counts in a shared file
- produce: enqueues n jobs at a steady rate once a line comes in on stdin

The end of a drain is the same for all: every job has run (counted inside the job) and a query on
the system's own tables finds none that is not completed. The query starts only when all have run,
so that it takes nothing from the drain.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

import psycopg

from bench.systems.probe import DrainProbe, LatencyProbe, OrderProbe, Payload, Probe, SharedProbe

Arguments = dict[str, Any]
Opaque = Any  # an object of a peer, whose types our environment does not have
Observer = Callable[[], bool]
Say = Callable[[Arguments], None]

OBSERVE_EVERY_SECONDS = 0.002

# The steps that each job takes, by name: none unless the scenario asks for them.
STEPS = tuple(f"step-{n}" for n in range(int(os.environ.get("BENCH_STEPS", "0"))))


class Producer(Protocol):
    """An open connection that enqueues."""

    async def bulk(self, payloads: list[Payload]) -> None: ...

    async def one(self, payload: Payload) -> None: ...


class TenantProducer(Producer, Protocol):
    """A producer whose system knows tenants."""

    async def bulk_for(self, payloads: list[Payload], tenants: list[str]) -> None: ...


class System(Protocol):
    """What a module in `bench.systems` offers. `run_worker` never returns."""

    PACKAGE: str

    def prepare(self, dsn: str) -> None: ...

    async def open_producer(self, dsn: str) -> Producer: ...

    def run_worker(self, dsn: str, probe: Probe) -> None: ...

    def open_observer(self, dsn: str, unfinished: str) -> Observer: ...


def postgres_observer(dsn: str, unfinished: str) -> Observer:
    """Tells whether `unfinished`, a query for one boolean, finds nothing left."""
    connection = psycopg.connect(dsn, autocommit=True)

    def nothing_left() -> bool:
        row = connection.execute(cast("psycopg.abc.Query", unfinished)).fetchone()
        return row is not None and not row[0]

    return nothing_left


def payloads(count: int, batch: int) -> Iterator[list[Payload]]:
    for start in range(0, count, batch):
        yield [{"n": n} for n in range(start, min(start + batch, count))]


def tenant_of(n: int, count: int, tenants: int) -> str:
    """The first half of the jobs belongs to one tenant, the rest is dealt to all the others."""
    return "big" if n < count // 2 else f"small-{n % (tenants - 1)}"


async def bulk(system: System, dsn: str, args: Arguments) -> Arguments:
    count, tenants = args["n"], args.get("tenants", 0)
    producer = await system.open_producer(dsn)
    chunks = list(payloads(count, args["batch"]))
    owners = [[tenant_of(job["n"], count, tenants) for job in chunk] for chunk in chunks if tenants]
    started = time.monotonic()
    if tenants:
        for chunk, names in zip(chunks, owners, strict=True):
            await cast("TenantProducer", producer).bulk_for(chunk, names)
    else:
        for chunk in chunks:
            await producer.bulk(chunk)
    return {"n": count, "seconds": time.monotonic() - started}


async def single(system: System, dsn: str, args: Arguments) -> Arguments:
    producer = await system.open_producer(dsn)
    started = time.monotonic()
    for n in range(args["n"]):
        await producer.one({"n": n})
    return {"n": args["n"], "seconds": time.monotonic() - started}


async def produce(system: System, dsn: str, args: Arguments, say: Say) -> Arguments:
    producer = await system.open_producer(dsn)
    if args.get("knock"):
        await producer.one({"n": -1, "t": time.monotonic_ns()})
    say({"ready": True})
    await asyncio.to_thread(sys.stdin.readline)
    offset, rate = args.get("offset", 0), args["rate"]
    started = time.monotonic()
    for i in range(args["n"]):
        ahead = started + i / rate - time.monotonic()
        if ahead > 0:
            await asyncio.sleep(ahead)
        await producer.one({"n": offset + i, "t": time.monotonic_ns()})
    return {"n": args["n"], "seconds": time.monotonic() - started}


def drain(system: System, dsn: str, args: Arguments, say: Say) -> None:
    small_from = args.get("small_from")
    probe = DrainProbe(args["n"]) if small_from is None else OrderProbe(args["n"], small_from)

    def watch() -> None:
        nothing_left = system.open_observer(dsn, args["unfinished"])
        deadline = time.monotonic() + args["limit"]
        if not probe.all_run.wait(args["limit"]):
            leave(say, {"error": f"{probe.count} of {probe.target} jobs in {args['limit']} s"})
        while not nothing_left():
            if time.monotonic() > deadline:
                leave(say, {"error": f"all jobs ran, but not all completed in {args['limit']} s"})
            time.sleep(OBSERVE_EVERY_SECONDS)
        result: Arguments = {
            "n": probe.target,
            "seconds": (time.monotonic_ns() - probe.first_ns) / 1e9,
            "cpu_seconds": time.process_time() - probe.first_cpu,
        }
        if isinstance(probe, OrderProbe):
            result["small_positions"] = probe.small_positions
        leave(say, result)

    threading.Thread(target=watch, daemon=True).start()
    system.run_worker(dsn, probe)


def work(system: System, dsn: str, args: Arguments, say: Say) -> None:
    if "counter" in args:
        system.run_worker(dsn, SharedProbe(Path(args["counter"]), args["slot"]))
        return
    probe = LatencyProbe(args["n"])

    def watch() -> None:
        if not probe.knocked.wait(args["limit"]):
            leave(say, {"error": f"the worker started nothing in {args['limit']} s"})
        say({"ready": True})
        probe.all_run.wait(args["limit"])
        seen = probe.latencies_ns
        leave(say, {"latencies_ns": seen, "missing": probe.expected - len(seen)})

    threading.Thread(target=watch, daemon=True).start()
    system.run_worker(dsn, probe)


def leave(say: Say, result: Arguments) -> NoReturn:
    """Says the result and ends the process at once: how a peer shuts down is not measured."""
    say(result)
    os._exit(0)


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "checkout"


async def answer(say: Say, result: Awaitable[Arguments]) -> NoReturn:
    leave(say, await result)


def main(system: System) -> None:
    action, args = sys.argv[1], json.loads(sys.argv[2])
    dsn = os.environ["BENCH_DSN"]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not mix with the answer

    def say(line: Arguments) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    # A lost parent must not leave a worker behind.
    last_resort = threading.Timer(args.get("limit", 120) * 2 + 60, os._exit, (3,))
    last_resort.daemon = True
    last_resort.start()
    try:
        match action:
            case "prepare":
                system.prepare(dsn)
                say({"version": version_of(system.PACKAGE)})
            case "bulk":
                asyncio.run(answer(say, bulk(system, dsn, args)))
            case "single":
                asyncio.run(answer(say, single(system, dsn, args)))
            case "produce":
                asyncio.run(answer(say, produce(system, dsn, args, say)))
            case "drain":
                drain(system, dsn, args, say)
            case "work":
                work(system, dsn, args, say)
            case _:
                say({"error": f"no action named {action}"})
    except Exception as error:
        unwritten = isinstance(error, NotImplementedError)
        say({"error": f"{type(error).__name__}: {error}", "unwritten": unwritten})
        raise
