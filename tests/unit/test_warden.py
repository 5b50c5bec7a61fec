"""What a warden does for a worker whose event loop is blocked, when the database does not answer at first."""

import socket
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from ostinato._core.runtime.worker.board import Board, Running
from ostinato._core.runtime.worker.silence import Ending
from ostinato._core.runtime.worker.standin import StandIn
from ostinato._core.runtime.worker.warden import BLOCKED_SECONDS, Ward, Warden

WORKER = UUID(int=1)
LATE = Running(7, 1, 70, 0, 0, 0, started=0.5, deadline=1.0)
CARD: dict[str, Any] = {
    "name": "one",
    "beat_seconds": 5,
    "expiry_seconds": 15,
    "grace_seconds": 1,
    "drain_seconds": 30,
    "kinds": [{"name": "app.late", "file": "", "function": "", "first": 0, "last": 0}],
    "log": None,
}


class Away(StandIn):
    """Acts in a database that does not answer to some of its questions."""

    def __init__(self) -> None:
        super().__init__(CARD)
        self.unanswered: set[str] = set()
        self.told: list[str] = []
        self.given_up: list[UUID] = []

    def _ask(self, question: str) -> None:
        if question in self.unanswered:
            raise TimeoutError

    def cancels(self, *_: object, **__: object) -> list[int]:
        self._ask("cancels")
        return []

    def give_up(self, worker_id: UUID, *_: object, **__: object) -> None:
        self._ask("give_up")
        self.given_up.append(worker_id)

    def bury(self, worker_id: UUID) -> None:
        self.given_up.append(worker_id)

    def tell(self, ended: Ending, *_: object, **__: object) -> None:
        self.told.append(ended.reason)


@pytest.fixture
def database() -> Away:
    return Away()


@pytest.fixture
def ward(database: Away) -> Iterator[Ward]:
    """A worker whose loop is blocked by a job that is late."""
    board = Board(1, CARD)
    board.name_worker(WORKER)
    board.begin(_Held(), 0, LATE.started, LATE.deadline)
    board.blame(LATE.job_id)
    made = Ward(board.fd)
    made._stand_in = database
    made._loop.feel(made.view.loop_pulse, 100, counts=True)
    yield made
    made.close()
    board.close()


class _Held:
    id, attempt, claim_id, failures, max_attempts = LATE.job_id, LATE.attempt, LATE.claim_id, 0, None


@pytest.fixture
def warden(ward: Ward) -> Iterator[Warden]:
    """A warden in a process that is not its worker's to end."""
    line, other = socket.socketpair()
    with line, other:
        made = Warden(line)
        made._wards[0] = ward
        yield made


def look(warden: Warden, ward: Ward, seconds: float) -> None:
    """Look at the worker when its loop has been silent for so long; its heart lives."""
    now = 100 + seconds
    ward._heart.feel(now, now, counts=True)
    warden._look(now, counts=True)


def test_a_question_without_an_answer_does_not_keep_the_time_of_a_handler(
    warden: Warden, ward: Ward, database: Away
) -> None:
    database.unanswered = {"cancels"}
    look(warden, ward, BLOCKED_SECONDS)

    assert (database.told, database.given_up) == (["timeout"], [WORKER])


def test_what_could_not_be_given_back_is_given_back_at_a_later_look_and_told_once(
    warden: Warden, ward: Ward, database: Away
) -> None:
    database.unanswered = {"give_up"}
    look(warden, ward, BLOCKED_SECONDS)
    assert database.given_up == []

    database.unanswered = set()
    for more in range(1, 4):
        look(warden, ward, BLOCKED_SECONDS + more)

    assert (database.told, database.given_up) == (["timeout"], [WORKER])


def test_who_could_not_be_given_up_is_buried_when_its_process_is_dead(
    warden: Warden, ward: Ward, database: Away
) -> None:
    database.unanswered = {"give_up"}
    look(warden, ward, BLOCKED_SECONDS)
    ward.bury()

    assert database.given_up == [WORKER]
