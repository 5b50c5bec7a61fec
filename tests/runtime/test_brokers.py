"""Events go out to real brokers, and messages come in from them; connections break, brokers die."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js.api import AckPolicy

from ostinato import App, Context, Worker
from ostinato._core.base import cloudevents
from ostinato._core.base.cloudevents import Outgoing
from ostinato._core.base.errors import InvalidInput, NoAnswer, NotConfigured
from ostinato._core.base.flow import flow
from ostinato._core.base.metrics import MESSAGES_TAKEN, Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.brokers import intakes, link, relays
from ostinato._core.runtime.brokers.broker import UNREADABLE, Address, Received, Sourced, place
from ostinato._core.runtime.brokers.intakes import Intake, Taking
from ostinato.brokers import Kafka, Message, Nats, RabbitMQ
from tests.brokers import Broker, Stored, broker, wire
from tests.proxy import Fault, between
from tests.runtime.lab import Lab, counted
from tests.runtime.lab import running as in_its_loop
from tests.waiting import until_async

pytestmark = pytest.mark.slow

KINDS = ("rabbitmq", "nats", "kafka")
LASTING = ("rabbitmq", "nats")
"""Those that keep what they have when they are killed, and that messages come in from."""

_names = itertools.count(1)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Broker]]:
    """The brokers of this module, each started when it is first asked for."""
    made: dict[str, Broker] = {}
    open_ones: list[Any] = []

    class Brokers(dict[str, Broker]):
        def __missing__(self, kind: str) -> Broker:
            limits = {"nats": "max_payload: 100000\n"}.get(kind, "")
            opened = broker(kind, tmp_path_factory.mktemp(kind), limits)
            self[kind] = opened.__enter__()
            open_ones.append(opened)
            return self[kind]

    made = Brokers()
    yield made
    for each in open_ones:
        each.__exit__(None, None, None)


@pytest.fixture(params=KINDS)
def any_broker(request: pytest.FixtureRequest, running: dict[str, Broker]) -> Broker:
    return running[request.param]


@pytest.fixture(params=LASTING)
def lasting(request: pytest.FixtureRequest, running: dict[str, Broker]) -> Broker:
    return running[request.param]


@pytest.fixture(autouse=True)
def in_a_flow() -> Iterator[None]:
    with flow(tenant="acme", correlation="request-1"):
        yield


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held event is tried again soon: the pauses are for people's brokers."""
    monkeypatch.setattr(link, "HOLD_SECONDS", 0.3)
    monkeypatch.setattr(link, "LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(relays, "SNOOZE_SECONDS", 0.2)


@dataclass
class Place:
    """Somewhere in a broker that no other test uses."""

    name: str
    address: Address


def somewhere(kind: str, **options: Any) -> Place:  # noqa: ANN401 - as the addresses take them
    name = f"T{next(_names)}"
    match kind:
        case "rabbitmq":
            return Place(name, RabbitMQ(queue=name, **options))
        case "nats":
            return Place(name, Nats(stream=name, subject=f"{name}.{{type}}", **options))
        case _:
            return Place(name, Kafka(topic=name, **options))


def source_of(place: Place) -> Sourced:
    assert isinstance(place.address, RabbitMQ | Nats)
    return place.address


def numbers(found: list[Stored], key: str) -> list[int]:
    """The numbers of the events of a key, each once, in the order in which they first came."""
    return list(dict.fromkeys(each.event["data"]["n"] for each in found if each.event.get("subject") == key))


async def emit(lab: Lab, *keyed: tuple[str, int], **more: object) -> None:
    async with lab.client.transaction() as conn:
        for key, number in keyed:
            await lab.app.emit(conn, "thing.made", {"n": number, **more}, key=key)


def relaying(lab: Lab, place: Place, **options: Any) -> None:  # noqa: ANN401 - as `App.relay` takes them
    lab.app.event("thing.made")
    lab.app.relay("thing.made", to=place.address, name="out", start="beginning", **options)


def cloudevent(number: int, **more: object) -> bytes:
    whole = {"specversion": "1.0", "id": str(number), "source": "/shop", "type": "order.placed", "data": {"n": number}}
    return json.dumps(whole | more).encode()


# Out


async def test_events_are_published_as_cloudevents_in_the_order_of_their_key(lab: Lab, any_broker: Broker) -> None:
    place = somewhere(any_broker.kind)
    relaying(lab, place)
    await emit(lab, *[(key, n) for n in range(10) for key in ("A", "B")])

    async with lab.worker(**any_broker.settings()):
        found = await any_broker.holds(place.name, 20)

    assert len(found) == 20
    assert numbers(found, "A") == numbers(found, "B") == list(range(10))
    one = found[0].event
    assert {one["specversion"], one["source"], one["type"]} == {"1.0", "lab", "thing.made"}
    assert (one["tenantid"], one["correlationid"]) == ("acme", "request-1")
    assert found[0].headers["content-type"] == "application/cloudevents+json"
    if any_broker.kind == "kafka":
        assert {each.headers["key"] for each in found} == {"acme/A", "acme/B"}
    else:
        assert found[0].id == f"lab/{one['id']}"


async def test_in_binary_mode_the_attributes_are_headers(lab: Lab, any_broker: Broker) -> None:
    place = somewhere(any_broker.kind, mode="binary")
    relaying(lab, place)
    await emit(lab, ("Zoé\r\nkey", 7))

    async with lab.worker(**any_broker.settings(), cloudevents_source="//eu-1.example"):
        (found,) = await any_broker.holds(place.name, 1)

    prefix, subject = {
        "rabbitmq": ("cloudEvents:", "Zoé\r\nkey"),
        "nats": ("ce-", "Zo%C3%A9%0D%0Akey"),
        "kafka": ("ce_", "Zoé\r\nkey"),
    }[any_broker.kind]
    assert json.loads(found.body) == {"n": 7}
    assert found.headers[f"{prefix}type"] == "thing.made"
    assert found.headers[f"{prefix}source"] == "//eu-1.example/lab"
    assert found.headers[f"{prefix}subject"] == subject


async def test_a_queue_that_is_not_there_is_made_as_a_quorum_queue(lab: Lab, running: dict[str, Broker]) -> None:
    """By who publishes, and by who takes in."""
    rabbit, into, out = running["rabbitmq"], somewhere("rabbitmq"), somewhere("rabbitmq")
    relaying(lab, out)

    @lab.app.on_message(source_of(into))
    async def take(_: Context, message: Message[Any]) -> None:
        """Nothing comes."""

    await emit(lab, ("A", 1))
    async with lab.worker(**rabbit.settings()):
        await rabbit.holds(out.name, 1)
        await until_async(lambda: asyncio.to_thread(lambda: into.name in rabbit.queues()))
    made = await asyncio.to_thread(rabbit.queues)
    assert (made[into.name], made[out.name]) == ("quorum", "quorum")


@pytest.mark.usefixtures("soon")
async def test_an_answer_that_is_lost_repeats_the_event_with_the_same_id(lab: Lab, lasting: Broker) -> None:
    """The stream of NATS takes it once; in a queue it is there twice, with one id, before what comes after it."""
    place = somewhere(lasting.kind)
    relaying(lab, place)
    with wire(lasting.port) as between:
        async with lab.worker(**lasting.settings(between.port)):
            await emit(lab, ("A", 0))
            await lasting.holds(place.name, 1)
            between.deaf = True
            await emit(lab, ("A", 1), ("A", 2))
            await lasting.holds(place.name, 2)  # it has arrived, and the worker does not know
            assert between.lost.wait(60)
            between.cut()
            between.deaf = False
            found = await lasting.holds(place.name, 3)

    ids = [each.event["data"]["n"] for each in found]
    assert ids == ([0, 1, 2] if lasting.kind == "nats" else [0, 1, 1, 2])
    assert len({each.id for each in found}) == 3
    assert await failures(lab) == 0


async def failures(lab: Lab) -> int:
    found: int = await lab.value(
        "select count(*) from ostinato_data.outcome where outcome in ('failed', 'dead')"
    ) + await lab.value("select count(*) from ostinato_data.dead_letter")
    return found


@pytest.mark.usefixtures("soon")
async def test_a_broker_that_is_killed_holds_events_and_uses_up_no_attempts(lab: Lab, lasting: Broker) -> None:
    place = somewhere(lasting.kind)
    relaying(lab, place)
    async with lab.worker(**lasting.settings()):
        await emit(lab, *[(key, n) for n in range(5) for key in ("A", "B", "C")])
        await lasting.holds(place.name, 4)
        await asyncio.to_thread(lasting.settle)
        await asyncio.to_thread(lasting.kill)
        await emit(lab, *[(key, n) for n in range(5, 10) for key in ("A", "B", "C")])
        await lab.until("select exists (select from ostinato_data.scheduled where reason = 'snooze')")
        await lab.until("select exists (select from ostinato.list_faults() where part = %s)", f"broker {lasting.kind}")
        await asyncio.to_thread(lasting.start)
        found = await lasting.holds(place.name, 30)

    for key in ("A", "B", "C"):
        assert numbers(found, key) == list(range(10))
    assert await failures(lab) == 0


@pytest.mark.usefixtures("soon")
async def test_kafka_that_is_away_holds_events(lab: Lab, running: dict[str, Broker]) -> None:
    place = somewhere("kafka")
    relaying(lab, place)
    with wire(1) as nobody:
        async with lab.worker(kafka_url=f"kafka://127.0.0.1:{nobody.port}"):
            await emit(lab, ("A", 0), ("A", 1))
            await lab.until("select exists (select from ostinato.list_faults() where part = 'broker kafka')")
            await lab.until("select exists (select from ostinato_data.scheduled where reason = 'snooze')")

    async with lab.worker(**running["kafka"].settings()):
        found = await running["kafka"].holds(place.name, 2)

    assert numbers(found, "A") == [0, 1]
    assert await failures(lab) == 0


@pytest.mark.usefixtures("soon")
async def test_what_cannot_be_routed_is_held_and_goes_when_it_can(lab: Lab, running: dict[str, Broker]) -> None:
    import aio_pika  # noqa: PLC0415

    rabbit = running["rabbitmq"]
    name = f"T{next(_names)}"
    async with await aio_pika.connect(rabbit.url()) as connection:
        channel = await connection.channel()
        exchange = await channel.declare_exchange(name, "topic", durable=True)
        relaying(lab, Place(name, RabbitMQ(exchange=name, routing_key="{tenant}.{type}")))
        async with lab.worker(**rabbit.settings()):
            await emit(lab, ("A", 1))
            await lab.until("select exists (select from ostinato_data.scheduled where reason = 'snooze')")
            queue = await channel.declare_queue(name, durable=True, arguments={"x-queue-type": "quorum"})
            await queue.bind(exchange, "acme.thing.#")
            found = await rabbit.holds(name, 1)

    assert numbers(found, "A") == [1]
    assert await failures(lab) == 0


async def test_an_event_that_the_broker_never_takes_is_a_dead_letter_and_blocks_nobody(
    lab: Lab, running: dict[str, Broker]
) -> None:
    nats = running["nats"]
    place = somewhere("nats")
    relaying(lab, place)
    await emit(lab, ("A", 1))
    await emit(lab, ("A", 2), text="x" * 150_000)
    await emit(lab, ("A", 3))

    async with lab.worker(**nats.settings()):
        found = await nats.holds(place.name, 2)
        await lab.until("select count(*) = 1 from ostinato_data.dead_letter where reason = 'permanent_error'")

    assert numbers(found, "A") == [1, 3]


async def test_a_tenants_name_is_one_word_of_a_subject(lab: Lab, running: dict[str, Broker]) -> None:
    nats = running["nats"]
    name = f"T{next(_names)}"
    relaying(lab, Place(name, Nats(stream=name, subject=f"{name}.{{tenant}}.{{type}}")))
    with flow(tenant="a.>*b"):
        await emit(lab, ("A", 1))

    async with lab.worker(**nats.settings()):
        (found,) = await nats.holds(name, 1)

    assert found.event["tenantid"] == "a.>*b"


def test_a_worker_without_the_address_of_its_broker_does_not_start(lab: Lab) -> None:
    relaying(lab, somewhere("rabbitmq"))

    with pytest.raises(NotConfigured, match="rabbitmq_url is not set"):
        lab.new_worker()


@pytest.mark.parametrize("kind", KINDS)
async def test_errors_and_settings_show_no_password(kind: str) -> None:
    scheme = {"rabbitmq": "amqp", "nats": "nats", "kafka": "kafka"}[kind]
    settings = Settings(**{f"{kind}_url": f"{scheme}://jane:hunter2@127.0.0.1:1"})  # type: ignore[arg-type]

    with pytest.raises(NoAnswer) as caught:
        await type(somewhere(kind).address).publisher(settings)

    assert "127.0.0.1:1" in caught.value.message
    assert "hunter2" not in f"{caught.value}{settings!r}"
    assert "jane" not in f"{caught.value}"


# In


@dataclass
class Order:
    n: int


async def test_each_message_becomes_one_job_and_is_acknowledged(lab: Lab, lasting: Broker) -> None:
    place = somewhere(lasting.kind)
    taken: list[tuple[int, str, str | None]] = []

    @lab.app.on_message(source_of(place), payload=Order, tenant=None)
    async def take(ctx: Context, message: Message[Order]) -> None:
        taken.append((message.data.n, ctx.job.tenant_id, ctx.job.correlation_id))

    bodies = [cloudevent(n, tenantid="acme", correlationid="c-1") for n in (1, 2, 1)]
    await lasting.send(place.name, *bodies)

    async with lab.worker(**lasting.settings()) as worker:
        await until_async(lambda: counted(worker, MESSAGES_TAKEN, "lab.take", "repeated") >= 1)
        await until_async(lambda: len(taken) == 2)

    assert sorted(taken) == [(1, "acme", "c-1"), (2, "acme", "c-1")]
    if lasting.kind == "rabbitmq":
        assert await lasting.stored(place.name) == []


async def test_a_message_that_comes_again_has_one_effect(lab: Lab, lasting: Broker) -> None:
    """The connection is cut after the commit, before the broker hears of it."""
    place = somewhere(lasting.kind)
    taken: list[int] = []

    @lab.app.on_message(source_of(place))
    async def take(_: Context, message: Message[Any]) -> None:
        taken.append(message.data["n"])

    if lasting.kind == "nats":  # which sends again after its `ack_wait`: 30 s, unless the consumer says otherwise
        await impatient(lasting, place, "lab.take")
    with wire(lasting.port) as between:
        async with lab.worker(**lasting.settings(between.port)) as worker:
            intake = worker._taking[0]
            committed = intake._commit

            async def commit_and_cut(read: Any) -> None:  # noqa: ANN401
                await committed(read)
                if not taken_again:
                    taken_again.append(True)
                    between.cut()

            taken_again: list[bool] = []
            intake._commit = commit_and_cut  # type: ignore[method-assign]
            await lasting.send(place.name, cloudevent(1))
            await until_async(lambda: counted(worker, MESSAGES_TAKEN, "lab.take", "repeated") >= 1)
            await until_async(lambda: taken == [1])
            await lasting.send(place.name, cloudevent(1), cloudevent(2))
            await until_async(lambda: sorted(taken) == [1, 2])
            await until_async(lambda: counted(worker, MESSAGES_TAKEN, "lab.take", "new") == 2)

    assert sorted(taken) == [1, 2]


async def impatient(running: Broker, place: Place, consumer: str) -> None:
    """Make the consumer that the intake will find, with a short time to acknowledge."""
    client = await nats.connect(running.url())
    stream = client.jetstream()
    await stream.add_stream(name=place.name, subjects=[f"{place.name}.>"])
    await stream.add_consumer(
        place.name,
        durable_name=consumer.replace(".", "_"),
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=1.0,
        filter_subject=f"{place.name}.*",
    )
    await client.close()


async def test_a_message_that_cannot_be_read_is_a_dead_letter_and_blocks_nobody(lab: Lab, lasting: Broker) -> None:
    place = somewhere(lasting.kind)
    taken: list[int] = []

    @lab.app.on_message(source_of(place), payload=Order)
    async def take(_: Context, message: Message[Order]) -> None:
        taken.append(message.data.n)

    bad = [
        b"{not json",
        b"\xff\x00",
        b"[1]",
        b'{"specversion": "1.0", "id": "1"}',
        cloudevent(3, specversion="0.3"),
        cloudevent(4, data="\0"),
        cloudevent(5, id="long" * 100, data={"n": "no number"}),
        cloudevent(6, data={"n": 6, "more": "x" * (90_000 if lasting.kind == "nats" else 300_000)}),
    ]
    await lasting.send(place.name, *bad, cloudevent(9))

    async with lab.worker(**lasting.settings()) as worker:
        await until_async(lambda: 9 in taken)
        dead = 7 if lasting.kind == "nats" else 8
        await lab.until("select count(*) = %s from ostinato_data.dead_letter where reason = 'permanent_error'", dead)

    assert taken == ([6, 9] if lasting.kind == "nats" else [9])
    assert counted(worker, MESSAGES_TAKEN, "lab.take", "refused") >= (6 if lasting.kind == "nats" else 7)
    errors = await lab.rows("select d.error->>'message' from ostinato_data.dead_letter d")
    assert any("no JSON" in error for (error,) in errors)
    assert await lab.value("select count(*) from ostinato.observe() o where o.name = 'queue_dead_letters'") >= 1


@pytest.mark.parametrize("fault", ["before", "after"])
async def test_messages_wait_while_the_database_is_away(
    lab: Lab, lasting: Broker, fault: Fault, tmp_path: Path
) -> None:
    """Its connection is cut in the transaction: nothing is acknowledged before a commit that succeeds."""
    place = somewhere(lasting.kind)
    taken: list[int] = []

    @lab.app.on_message(source_of(place))
    async def take(_: Context, message: Message[Any]) -> None:
        taken.append(message.data["n"])

    database = lab.engine.database
    with between(database.url, tmp_path) as proxy:
        proxy.once(fault, "finish_idempotent")
        away = replace(database, url=proxy.url(database.url), listen_url=None)
        worker = Worker([lab.app], away, lab.new_worker(**lasting.settings()).settings)
        async with in_its_loop(worker):
            await lasting.send(place.name, cloudevent(1), cloudevent(2))
            await until_async(lambda: sorted(taken) == [1, 2])

    assert [made[0] for made in proxy.faults] == [fault]
    assert counted(worker, MESSAGES_TAKEN, "lab.take", "new") == 2


async def test_an_intake_goes_on_after_its_broker_was_killed(lab: Lab, lasting: Broker) -> None:
    place = somewhere(lasting.kind)
    taken: list[int] = []

    @lab.app.on_message(source_of(place))
    async def take(_: Context, message: Message[Any]) -> None:
        taken.append(message.data["n"])

    await lasting.send(place.name, cloudevent(1))
    async with lab.worker(**lasting.settings()):
        await until_async(lambda: taken == [1])
        await asyncio.to_thread(lasting.settle)
        await asyncio.to_thread(lasting.kill)
        await lab.until("select exists (select from ostinato.list_faults() where part = %s)", f"broker {lasting.kind}")
        await asyncio.to_thread(lasting.start)
        await lasting.send(place.name, cloudevent(2))
        await until_async(lambda: taken == [1, 2])


async def test_what_goes_out_comes_in_elsewhere(lab: Lab, lasting: Broker) -> None:
    """One installation's events are another's messages, in both modes."""
    for mode in ("structured", "binary"):
        place = somewhere(lasting.kind, mode=mode)
        out, into, taken = App(f"out_{mode}"), App(f"into_{mode}"), list[Message[Any]]()
        out.event("thing.made")
        out.relay("thing.made", to=place.address, name="relay")

        @into.on_message(source_of(place))
        async def take(_: Context, message: Message[Any], taken: list[Message[Any]] = taken) -> None:
            taken.append(message)

        async with lab.worker(out, into, **lasting.settings()):
            async with lab.client.transaction() as conn:
                await out.emit(conn, "thing.made", {"n": 5}, key="Zoé\r\n")
            await until_async(taken.copy)

        (message,) = taken
        assert (message.type, message.data, message.subject) == ("thing.made", {"n": 5}, "Zoé\r\n")
        assert message.extensions["tenantid"] == "acme"


def test_an_address_names_one_place() -> None:
    with pytest.raises(InvalidInput, match="a queue or an exchange"):
        RabbitMQ()
    with pytest.raises(InvalidInput, match="not the end"):
        Nats(stream="S", subject="{type}.x")


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("amqp://ann:sesame@mq.example:5672/x", "mq.example:5672"),
        ("nats://ann:sesame@one,nats://ann:sesame@two", "one,two"),
        ("nats://one,two", "one,two"),
        ("amqp://ann:ses/ame@mq", UNREADABLE),
        ("amqp://ann:x@ses/ame@mq", UNREADABLE),
        ("amqp://ann:ses#ame@mq", UNREADABLE),
        ("amqp://ann:ses[ame@mq", UNREADABLE),
    ],
)
def test_where_a_broker_is_names_no_part_of_a_password(url: str, where: str) -> None:
    assert place(url) == where
    assert "ses" not in place(url)


def test_a_message_that_no_job_can_hold_is_not_read_in_the_workers_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: object, **__: object) -> None:
        pytest.fail("it was read")

    intake = Intake("lab.take", RabbitMQ(queue="q"), None, "acme")  # type: ignore[arg-type]
    taking = Taking(intake, Settings(), Recorder(), None)  # type: ignore[arg-type]
    monkeypatch.setattr(cloudevents, "parse", parse)
    raw = Received(b"[" * (intakes.LARGEST_READ + 1), {}, None, "7", acknowledge=None)  # type: ignore[arg-type]

    read = taking._read(raw)

    assert read.outcome == "refused"
    assert "larger than what a job can hold" in read.args


def test_a_routing_key_has_a_tenant_as_one_word() -> None:
    message = Outgoing({"type": "a.b c", "source": "s", "id": "1"}, {}, "t.*>/é", None)

    assert message.filled("x.{tenant}.{type}") == "x.t%2E%2A%3E%2F%C3%A9.a.b%20c"
