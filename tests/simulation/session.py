"""One connection that never makes its caller wait: send a statement now, look for the answer later.

It stands on libpq itself (`psycopg.pq`), because a statement may have to be left waiting for a lock
while the one thread of the simulation goes on with somebody else.
"""

import contextlib
import os
import select
from collections.abc import Callable, Sequence
from functools import lru_cache

from psycopg import pq
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus

from tests import schemas
from tests.simulation.steps import Failed, Row


class Session:
    """A connection with prepared statements."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.connect()

    def connect(self) -> None:
        self._pg = pq.PGconn.connect(self._url.encode())
        if self._pg.status != pq.ConnStatus.OK:
            raise Failed(Failed.LOST, self._pg.error_message.decode())
        self._prepared: dict[bytes, bytes] = {}
        self.pid = self._pg.backend_pid

    def close(self) -> None:
        self._pg.finish()

    def wait_for_end(self) -> None:
        """Wait until the server has closed the connection: then its locks are gone, too."""
        os.set_blocking(self._pg.socket, True)
        with contextlib.suppress(ConnectionError):
            while os.read(self._pg.socket, 65536):
                pass
        self._pg.finish()

    @property
    def in_transaction(self) -> bool:
        return self._pg.transaction_status != TransactionStatus.IDLE

    def send(self, text: bytes, params: Sequence[object] | None = None) -> None:
        """Start a statement; without params it is not prepared."""
        if params is None:
            self._pg.send_query(text)
            return
        name = self._prepared.get(text)
        if name is None:
            name = self._prepared[text] = b"s%d" % len(self._prepared)
            _rows([self._pg.prepare(name, text)])
        self._pg.send_query_prepared(name, [encode(value) for value in params])

    def answered(self, seconds: float) -> bool:
        """Whether the answer is there, after waiting for it so long at the most."""
        while self._pg.is_busy():
            readable, _, _ = select.select([self._pg.socket], [], [], seconds)
            if not readable:
                return False
            self._pg.consume_input()
        return True

    def rows(self) -> list[Row]:
        """The answer; waits for it. Raises `Failed` when the statement was refused."""
        while not self.answered(10):
            pass
        results = []
        while (result := self._pg.get_result()) is not None:
            results.append(result)
        return _rows(results)

    def run(self, text: bytes, params: Sequence[object] | None = None) -> list[Row]:
        self.send(text, params)
        return self.rows()


@lru_cache(maxsize=256)
def call_text(function: str, names: tuple[str, ...]) -> bytes:
    """The text of a call, with the parameters numbered as libpq wants them."""
    text = schemas.call_text(function, names)
    for number, name in enumerate(names, 1):
        text = text.replace(b"%%(%s)s" % name.encode(), b"$%d" % number)
    return text


def encode(value: object) -> bytes | None:
    """A parameter as text."""
    return None if value is None else _text(value).encode()


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        items = ("NULL" if item is None else f'"{_quoted(item)}"' for item in value)
        return "{" + ",".join(items) + "}"
    return str(value)


def _quoted(item: object) -> str:
    return _text(item).replace("\\", "\\\\").replace('"', '\\"')


def _rows(results: list[pq.abc.PGresult]) -> list[Row]:
    found: list[Row] = []
    for result in results:
        if result.status == ExecStatus.TUPLES_OK:
            types = [result.ftype(column) for column in range(result.nfields)]
            for row in range(result.ntuples):
                cells = (result.get_value(row, column) for column in range(result.nfields))
                found.append(tuple(map(_value, cells, types)))
        elif result.status != ExecStatus.COMMAND_OK:
            sqlstate = result.error_field(DiagnosticField.SQLSTATE) or Failed.LOST.encode()
            message = result.error_field(DiagnosticField.MESSAGE_PRIMARY) or result.error_message
            raise Failed(sqlstate.decode(), message.decode())
    return found


def _value(raw: bytes | None, oid: int) -> object:
    if raw is None:
        return None
    read = READERS.get(oid)
    return raw.decode() if read is None else read(raw.decode())


def _items(text: str) -> list[str]:
    return [item for item in text[1:-1].split(",") if item]  # names and numbers: never quoted


def _integers(text: str) -> list[int]:
    return [int(item) for item in _items(text)]


# By the number of the type; everything else stays text.
READERS: dict[int, Callable[[str], object]] = {
    16: lambda text: text == "t",  # boolean
    20: int,  # bigint, smallint, integer
    21: int,
    23: int,
    700: float,  # real, double precision, numeric
    701: float,
    1700: float,
    1005: _integers,  # smallint[], integer[], bigint[]
    1007: _integers,
    1016: _integers,
    1009: _items,  # text[]
}
