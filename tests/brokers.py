"""Real brokers for tests: each on free ports of the loopback, with a folder of its own, ended by its process id.

RabbitMQ and NATS are the servers of Debian. Kafka is the broker that librdkafka has for its own tests: it speaks the
protocol over TCP, and checks what an idempotent producer numbers, but keeps nothing when it ends.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.needs import lacking
from tests.ports import free_ports
from tests.waiting import until, until_async

RABBITMQ = "/usr/lib/rabbitmq/bin/rabbitmq-server"
RABBITMQCTL = "/usr/lib/rabbitmq/bin/rabbitmqctl"
# Up to 3.12 a quorum queue with one member may elect no leader after its only node was killed
# (rabbitmq-server, issue 10070): an operator has to ask for it.
ELECT = "[ra:trigger_election(amqqueue:get_pid(Q)) || Q <- rabbit_amqqueue:list(), amqqueue:is_quorum(Q)]."
# It writes down that a queue is there, though not what it holds, up to three seconds later.
SETTLE = "[dets:sync(T) || T <- dets:all()]."
KAFKA = """
import sys
from confluent_kafka.admin import AdminClient
cluster = AdminClient({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
(broker,) = cluster.list_topics(timeout=60).brokers.values()
print(broker.port, flush=True)
sys.stdin.read()
"""


@dataclass
class Stored:
    """A message, as the broker has it."""

    id: str | None
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class Broker:
    """A broker that can be killed and started again."""

    kind: str
    folder: Path
    ports: list[int]
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    limits: str = ""
    _was_killed: bool = False
    _taken: dict[str, list[Stored]] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return self.ports[0]

    def url(self, port: int | None = None) -> str:
        scheme = {"rabbitmq": "amqp://guest:guest@", "nats": "nats://", "kafka": "kafka://"}[self.kind]
        return f"{scheme}127.0.0.1:{port or self.port}"

    def settings(self, port: int | None = None) -> dict[str, str]:
        return {f"{self.kind}_url": self.url(port)}

    def start(self) -> None:
        """Start it, and wait until it answers."""
        {"rabbitmq": self._start_rabbitmq, "nats": self._start_nats, "kafka": self._start_kafka}[self.kind]()
        server = self.processes[-1]
        until(lambda: server.poll() is not None or answers(self.port))
        assert server.poll() is None, (self.folder / "log").read_text()[-2000:]
        if self.kind == "rabbitmq" and self._was_killed:
            self._eval(ELECT)

    def settle(self) -> None:
        """Wait until a queue that was just made would outlive a power cut."""
        if self.kind == "rabbitmq":
            self._eval(SETTLE)

    def queues(self) -> dict[str, str]:
        """The queues of RabbitMQ that there are, and of which type each is, as the broker itself says."""
        said = subprocess.run(
            [RABBITMQCTL, "list_queues", "--quiet", "--no-table-headers", "name", "type"],
            env=os.environ | self._node(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        return dict(line.split("\t")[:2] for line in said.splitlines())

    def _eval(self, code: str) -> None:
        subprocess.run([RABBITMQCTL, "eval", code], env=os.environ | self._node(), check=True, capture_output=True)

    def kill(self) -> None:
        """End it as a power cut would."""
        for process in self.processes:
            # Each is the first of a session of its own: what it started ends with it.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                pipe.close()
        self.processes.clear()
        self._was_killed = True
        until(lambda: not answers(self.port))

    def _run(self, command: list[str], **environ: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if self.kind == "kafka" else subprocess.DEVNULL,
                stdout=subprocess.PIPE if self.kind == "kafka" else log,
                stderr=log,
                env=os.environ | environ,
                cwd=self.folder,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _start_rabbitmq(self) -> None:
        amqp, epmd, distribution = self.ports
        home, node = str(self.folder), self._node()
        self._run(["epmd", "-port", str(epmd), "-address", "127.0.0.1"], **node)
        until(lambda: answers(epmd))
        (self.folder / "plugins").write_text("[].")
        (self.folder / "rabbitmq.conf").write_text(self.limits or "vm_memory_high_watermark.absolute = 1GB\n")
        self._run(
            [RABBITMQ],
            **node,
            RABBITMQ_MNESIA_BASE=f"{home}/db",
            RABBITMQ_LOG_BASE=f"{home}/logs",
            RABBITMQ_LOGS="-",
            RABBITMQ_CONFIG_FILE=f"{home}/rabbitmq.conf",
            RABBITMQ_ENABLED_PLUGINS_FILE=f"{home}/plugins",
            RABBITMQ_PID_FILE=f"{home}/pid",
            RABBITMQ_NODE_IP_ADDRESS="127.0.0.1",
            RABBITMQ_NODE_PORT=str(amqp),
            RABBITMQ_DIST_PORT=str(distribution),
            RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
        )

    def _node(self) -> dict[str, str]:
        amqp, epmd, _ = self.ports
        where = {"ERL_EPMD_PORT": str(epmd), "ERL_EPMD_ADDRESS": "127.0.0.1", "HOME": str(self.folder)}
        return where | {"RABBITMQ_NODENAME": f"ost{amqp}@localhost"}

    def _start_nats(self) -> None:
        config = self.folder / "nats.conf"
        config.write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{self.folder}/js" }}\n{self.limits}'
        )
        self._run(["nats-server", "-c", str(config)])

    def _start_kafka(self) -> None:
        process = self._run([sys.executable, "-c", KAFKA])
        assert process.stdout is not None
        self.ports = [int(process.stdout.readline())]

    async def stored(self, where: str) -> list[Stored]:
        """What a queue, a stream or a topic holds or has held, in its order."""
        return await {"rabbitmq": self._in_queue, "nats": self._in_stream, "kafka": self._in_topic}[self.kind](where)

    async def holds(self, where: str, count: int) -> list[Stored]:
        """Wait until it holds so many different messages."""
        found: list[Stored] = []

        async def enough() -> bool:
            found[:] = await self.stored(where)
            return len({each.id for each in found}) >= count

        await until_async(enough)
        return found

    async def send(self, where: str, *bodies: bytes) -> None:
        """Send something as another program would, to a queue or stream that is made if it is not there."""
        if self.kind == "rabbitmq":
            import aio_pika  # noqa: PLC0415 - only where it is used

            async with await aio_pika.connect(self.url()) as connection:
                channel = await connection.channel()
                await channel.declare_queue(where, durable=True, arguments={"x-queue-type": "quorum"})
                for body in bodies:
                    await channel.default_exchange.publish(aio_pika.Message(body), where)
            return
        import nats  # noqa: PLC0415

        client = await nats.connect(self.url())
        stream = client.jetstream()
        await stream.add_stream(name=where, subjects=[f"{where}.>"])
        for body in bodies:
            await stream.publish(f"{where}.x", body)
        await client.close()

    async def _in_queue(self, where: str) -> list[Stored]:
        from aiormq.exceptions import ConnectionInternalError  # noqa: PLC0415 - only where it is used

        try:
            return await self._taken_from(where)
        except ConnectionInternalError:
            # A queue that was just declared, or whose node has just started, may have no process yet.
            return list(self._taken.get(where, []))

    async def _taken_from(self, where: str) -> list[Stored]:
        import aio_pika  # noqa: PLC0415
        from aio_pika.exceptions import ChannelNotFoundEntity  # noqa: PLC0415

        async with await aio_pika.connect(self.url()) as connection:
            channel = await connection.channel()
            try:
                queue = await channel.declare_queue(where, passive=True)
            except ChannelNotFoundEntity:
                return list(self._taken.get(where, []))
            # They are taken out and kept here: what is given back to a queue may come back in another order.
            found = self._taken.setdefault(where, [])
            while (message := await queue.get(fail=False, no_ack=True)) is not None:
                headers = {str(name): str(value) for name, value in message.headers.items()}
                headers["content-type"] = str(message.content_type)
                found.append(Stored(message.message_id, headers, message.body))
            return list(found)

    async def _in_stream(self, where: str) -> list[Stored]:
        import nats  # noqa: PLC0415
        from nats.js.errors import NotFoundError  # noqa: PLC0415

        connection = await nats.connect(self.url(), allow_reconnect=False)
        try:
            stream = connection.jetstream()
            state = (await stream.stream_info(where)).state
            found = []
            for sequence in range(max(state.first_seq, 1), state.last_seq + 1):
                message = await stream.get_msg(where, sequence)
                headers = {name.lower(): value for name, value in (message.headers or {}).items()}
                found.append(Stored(headers.get("nats-msg-id"), headers, message.data or b""))
        except NotFoundError:
            return []
        finally:
            await connection.close()
        return found

    async def _in_topic(self, where: str) -> list[Stored]:
        return await asyncio.to_thread(self._in_topic_now, where)

    def _in_topic_now(self, where: str) -> list[Stored]:
        from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

        reader = Consumer({"bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": "tests", "log_level": 0})
        try:
            topic = reader.list_topics(where, timeout=60).topics[where]
            found = []
            for number in topic.partitions:
                _, end = reader.get_watermark_offsets(TopicPartition(where, number), timeout=60)
                reader.assign([TopicPartition(where, number, 0)])
                for _ in range(end):
                    message = reader.poll(60)
                    assert message is not None
                    given: list[tuple[str, bytes]] = list(message.headers() or [])  # type: ignore[arg-type]
                    headers = {name: value.decode() for name, value in given}
                    made = Stored(None, headers, message.value() or b"")
                    made.id = headers.get("ce_id") or made.event["id"]
                    headers["key"] = (message.key() or b"").decode()
                    found.append(made)
            return found
        finally:
            reader.close()


@contextmanager
def broker(kind: str, folder: Path, limits: str = "") -> Iterator[Broker]:
    """Run a broker."""
    program = {"rabbitmq": Path(RABBITMQ).exists(), "nats": shutil.which("nats-server"), "kafka": True}[kind]
    if not program:
        lacking(kind, f"{kind}'s server is not installed: relays to it are not tested")
    made = Broker(kind, folder, free_ports(3), limits=limits)
    try:
        made.start()
        yield made
    finally:
        made.kill()


class Wire:
    """A proxy in front of a broker: its connections can be cut, and its answers lost."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.deaf = False
        """Whether answers of the broker are lost: what reaches it is done, and nobody hears of it."""
        self.lost = threading.Event()
        """An answer was lost."""
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cut every connection."""
        for pair in self._pairs:
            for each in pair:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for pair in self._pairs:
            for each in pair:
                each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                client.close()
                continue
            self._pairs.append((client, server))
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool = False) -> None:  # noqa: FBT001, FBT002
        try:
            while data := source.recv(65536):
                if answers and self.deaf:
                    self.lost.set()
                    continue
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


@contextmanager
def wire(port: int) -> Iterator[Wire]:
    made = Wire(port)
    try:
        yield made
    finally:
        made.close()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
