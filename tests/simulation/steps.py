"""What a process of the simulation may ask for: one statement, or to sleep."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
Hook = Callable[["Answer"], None]
Process = Generator["Step", Any, None]


class Broken(Exception):
    """A promise was broken."""

    def __init__(self, promise: str, details: str) -> None:
        super().__init__(f"{promise}: {details}")
        self.promise = promise


class Failed(Exception):
    """The database refused a statement, or the connection is gone."""

    CANCELLED = "57014"
    LOST = "08006"

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(f"{sqlstate} {message}")
        self.sqlstate = sqlstate

    @property
    def busy(self) -> bool:
        """It had to wait for somebody else's transaction, and was told to try again later."""
        return self.sqlstate == self.CANCELLED

    @property
    def lost(self) -> bool:
        """The connection is gone, and the transaction with it."""
        return self.sqlstate == self.LOST


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement returned, and when it was sent and done.

    By the database's clock, and by moments: the number of commits that the model had followed.
    """

    rows: list[Row]
    sent_at: float
    done_at: float
    sent: int
    done: int

    @property
    def value(self) -> Any:  # noqa: ANN401 - what SQL returns is known to the caller
        return self.rows[0][0]


@dataclass(frozen=True, slots=True)
class Call:
    """`select * from ostinato.<function>(…)`.

    `check` looks at the answer at once. `commit` tells the model, when the answer is committed.
    """

    function: str
    params: dict[str, object] = field(default_factory=dict)
    check: Hook | None = None
    commit: Hook | None = None
    may_wait: bool = True
    """Whether it may be left waiting for a lock; otherwise it is told to try again later."""

    def __str__(self) -> str:
        shown = (f"{n}={shorten(v)}" for n, v in self.params.items() if v is not None)
        return f"{self.function}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class Plain:
    """A named statement of sql/world.sql."""

    name: str
    params: tuple[object, ...] = ()
    check: Hook | None = None
    commit: Hook | None = None
    may_wait: bool = True

    def __str__(self) -> str:
        return f"{self.name}({', '.join(shorten(value) for value in self.params)})"


@dataclass(frozen=True, slots=True)
class Control:
    """`begin`, `commit` or `rollback`."""

    word: str

    def __str__(self) -> str:
        return self.word


@dataclass(frozen=True, slots=True)
class Sleep:
    """Nothing, for so many seconds."""

    seconds: float

    def __str__(self) -> str:
        return f"sleep {self.seconds:.2f}"


BEGIN, COMMIT, ROLLBACK = Control("begin"), Control("commit"), Control("rollback")
Statement = Call | Plain | Control
Step = Statement | Sleep

DAY_IDS = 10_000_000_000


def shorten(value: object) -> str:
    """A value as the trace shows it: job ids without their day."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value >= DAY_IDS:
        return f"j{value % DAY_IDS}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return f"[{' '.join(shorten(item) for item in value)}]"
    text = "-" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
