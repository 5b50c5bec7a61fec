"""The world of the job engine: the stage, with the model of jobs, workers and queues."""

from collections.abc import Callable, Generator
from typing import Any

from tests.simulation.arena import Arena
from tests.simulation.checks import compare
from tests.simulation.config import Config
from tests.simulation.limits import QueueModel
from tests.simulation.model import Model, Token
from tests.simulation.stage import Crew, Stage, Task
from tests.simulation.steps import Answer, Broken, Call, Hook, Statement, Step

__all__ = ["Crew", "Extra", "Task", "World"]

Extra = Callable[[dict[int, Token], Crew], Generator[Step, Any, None]]
"""What else a worker may do with the jobs in its hands."""


class World(Stage):
    """Everything that happens to jobs in one run."""

    def __init__(self, arena: Arena, config: Config) -> None:
        super().__init__(arena, config)
        self.config = config
        self.model = Model(config.max_crashes)
        self.model.queues = {name: QueueModel(name) for name in config.queues}
        self.tokens: list[Token] = []
        self.extras: list[Extra] = []

    @property
    def moment(self) -> int:
        return self.model.moment

    def follow(self, task: Task, pending: list[tuple[Hook, Answer]]) -> None:
        self._end_starts(task, committed=True)
        self.model.moment += 1
        for hook, answer in pending:
            self.model.stamp = min(answer.sent_at, answer.done_at)
            hook(answer)

    def undo(self, task: Task) -> None:
        self._end_starts(task, committed=False)

    def _end_starts(self, task: Task, *, committed: bool) -> None:
        for queue in self.model.queues.values():
            queue.end_transaction(task.session.pid, committed=committed)

    def look(self) -> None:
        compare(self.model, self.arena.look("everything"))

    def time_passed(self) -> None:
        self.model.set_now(self.clock)

    def crashed(self, crew: Crew) -> None:
        if crew.worker_id:
            self.model.workers[crew.worker_id].up = False

    def froze(self, crew: Crew) -> None:
        if crew.worker_id:
            self.model.workers[crew.worker_id].frozen = True

    def check_may_wait(self, task: Task, statement: Statement) -> None:
        if not isinstance(statement, Call):
            return
        if statement.function in ("heartbeat_worker", "poll_jobs"):
            raise Broken("beats and polls wait for nobody", f"{task.name}: {statement}")
        if statement.function == "split_claims":
            raise Broken("a split waits for nobody", f"{task.name}: {statement}")
        if statement.function == "claim_jobs":
            queue = self.model.queues[str(statement.params["queue"])]
            if not queue.limits.any:
                raise Broken("claims wait for nobody", f"{task.name}: {statement}")

    def claimed(self, worker_id: str, queue: str, answer: Answer, params: dict[str, Any]) -> None:
        self.model.claimed(worker_id, queue, answer, params)
        self.tokens.extend(Token(row[0], row[1], row[4]) for row in answer.rows)
