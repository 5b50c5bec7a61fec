"""The doorbell of a worker: it wakes the loop that a ring is for.

A ring names a queue, or a service as "@relay". It comes from another process (the heart receives
it) or from a transaction of a handler of this worker.
"""

from collections.abc import Mapping

from ostinato._core.base.metrics import DOORBELL_RINGS, Recorder
from ostinato._core.db.listen import POLL_NOW
from ostinato._core.runtime.worker.claimer import Claimer
from ostinato._core.runtime.worker.loop import Loop


class Doorbell:
    """Wakes the claimer for a queue, a service by its name, and the poller when rings were lost."""

    def __init__(self, claimer: Claimer, poll: Loop, services: Mapping[str, Loop], recorder: Recorder) -> None:
        self._claimer = claimer
        self._poll = poll
        self._services = services
        self._recorder = recorder

    def rang(self, queue: str) -> None:
        """Count a ring of another process, and act on it."""
        self._recorder.add(DOORBELL_RINGS)
        self.heard(queue)

    def heard(self, queue: str) -> None:
        """Wake the loop that the name stands for."""
        if queue == POLL_NOW:  # services may have missed a ring too
            self._poll.wake()
        service = self._services.get(queue.removeprefix("@"))
        if queue.startswith("@") and service is not None:
            service.wake()
        else:
            self._claimer.rouse(queue)
