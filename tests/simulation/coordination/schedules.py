"""Schedules: several tickers that die in the middle, outages, pauses, and rules that change.

All rules are of whole minutes in UTC, so that the model can count: what the clocks of the world do
to local times is for other tests.
"""

import math
from dataclasses import dataclass, field

from tests.simulation.coordination.scene import Concept, Scene, Steps, same, seconds_of, transaction, understand
from tests.simulation.model import Spec
from tests.simulation.stage import Crew
from tests.simulation.steps import Answer, Broken, Call, Failed, Plain, Process, Row, Sleep

GRACE_SECONDS = 60.0


@dataclass(slots=True)
class Schedule:
    """A schedule as it must be by now."""

    name: str
    tenant: str
    catch_up: str
    most: int
    minutes: int = 1
    id: int = 0
    due: float | None = None
    """The slot that is to be served next; none while it is paused."""
    slots: set[float] = field(default_factory=set)
    """Those that were served."""

    def after(self, at: float) -> float:
        step = 60.0 * self.minutes
        return (math.floor(at / step) + 1) * step

    def plan(self, now: float) -> tuple[list[float], float]:
        """The slots that fire now, and the next one."""
        step = 60.0 * self.minutes
        assert self.due is not None
        due = [self.due]
        while due[-1] + step <= now:
            due.append(due[-1] + step)
        timely = [slot for slot in due if slot >= now - GRACE_SECONDS]
        late = [slot for slot in due if slot < now - GRACE_SECONDS]
        match self.catch_up:
            case "all":
                late = late[-self.most :]
            case "last":
                late = late[-1:] if not timely else []
            case _:
                late = []
        # A slot that was served before, by a clock that went back since, is not served again.
        fires = [slot for slot in (*late, *timely) if slot not in self.slots]
        return fires, due[-1] + step


Fired = tuple[Schedule, list[tuple[float, int]], float]
"""A schedule, the slots that it fired with their jobs, and the next one."""


class Schedules(Concept):
    """Who plays with schedules."""

    name = "schedules"
    never_wait = ("fire_schedules",)

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        rng = self.rng
        self.schedules: dict[int, Schedule] = {}
        self.tickers = rng.randint(1, 4)
        self.count = rng.randint(1, 3)
        self.most = rng.choice((1, 1000))
        self.operators = rng.random() < 0.5
        self.slow = rng.choice((1.0, 10.0))

    def start(self) -> None:
        for number in range(self.count):
            tenant = self.rng.choice(self.scene.config.tenants)
            policy = self.rng.choice(("all", "last", "none"))
            schedule = Schedule(f"m{number}", tenant, policy, self.rng.choice((1, 2, 100)))
            self.scene.perform(self._upsert(schedule, 1))
        for _ in range(self.tickers):
            self.scene.crew("t", self._tick)
        if self.operators:
            self.scene.spawn("pause", lambda _: self._operate())

    def look(self) -> None:
        found = self.scene.arena.look("coordination.fires")
        fires = [(each.id, slot) for each in self.schedules.values() for slot in each.slots]
        same("each slot fires once", [(row[0], seconds_of(row[1])) for row in found], fires)
        dues = self.scene.arena.look("coordination.dues")
        expected = [(s.id, s.due) for s in self.schedules.values() if s.due is not None]
        same("a schedule knows its next slot", [(r[0], seconds_of(r[1])) for r in dues], expected)

    # Firing.

    def _tick(self, _: Crew) -> Process:
        while True:
            yield Sleep(self.pause(self.rng.choice((2, self.slow))))
            try:
                yield from transaction(self._fire_slowly(), keep=self.rng.random() < 0.8)
            except Failed as error:
                understand(error)

    def _fire_slowly(self) -> Steps:
        yield from self.fire()
        yield Sleep(self.pause(self.rng.choice((0, self.slow))))

    def fire(self) -> Steps:
        """Fires what is due; it must be what the policies say, and nothing is left out.

        What came of it is looked up in the same transaction: after the commit others may go on.
        """
        calm = False

        def check(_: Answer) -> None:
            nonlocal calm
            calm = sum(task.session.in_transaction for task in self.scene.tasks) == 1

        told = yield Call("fire_schedules", {"most": self.most}, check=check)
        fires = yield Plain("coordination.fires")
        done: list[Fired] = []

        def look(dues: Answer) -> None:
            done.extend(self._fired(told, fires.rows, dues.rows, calm=calm))

        def commit(_: Answer) -> None:
            for schedule, new, following in done:
                schedule.due = following
                schedule.slots.update(slot for slot, _ in new)
                self._enqueued(schedule, new, told)

        yield Plain("coordination.dues", check=look, commit=commit)

    def _fired(self, answer: Answer, fires: list[Row], dues_now: list[Row], *, calm: bool) -> list[Fired]:
        now = answer.done_at
        dues = {row[0]: seconds_of(row[1]) for row in dues_now}
        known = {(each.id, slot) for each in self.schedules.values() for slot in each.slots}
        rows = [(row[0], seconds_of(row[1]), row[2]) for row in fires]
        new = [row for row in rows if row[:2] not in known]
        if answer.rows[0][2] != len(new):
            raise Broken("a ticker tells what it fired", f"{answer.rows[0]}, but {new}")
        done: list[Fired] = []
        late = [s for s in self.schedules.values() if s.due is not None and s.due <= now]
        for schedule in self.schedules.values():
            mine = sorted((slot, job_id) for key, slot, job_id in new if key == schedule.id)
            if schedule.due is None or dues.get(schedule.id) == schedule.due:
                if mine:
                    raise Broken("only what is due fires", f"{schedule}: {mine} at {now}")
                continue
            slots, following = [slot for slot, _ in mine], dues.get(schedule.id)
            details = f"{schedule}: {slots} at {now}, then {following}"
            if schedule.due > now or (slots, following) != schedule.plan(now):
                raise Broken("slots fire by the policy", f"{details}, not {schedule.plan(now)}")
            done.append((schedule, mine, schedule.plan(now)[1]))
        if calm and len(done) < min(len(late), self.most):
            raise Broken("a ticker leaves nothing that is due", f"{done} of {late} at {now}")
        return done

    def _enqueued(self, schedule: Schedule, new: list[tuple[float, int]], answer: Answer) -> None:
        for slot, job_id in new:
            if job_id in self.scene.model.jobs:
                raise Broken("each fire has a job of its own", f"{schedule} {slot}: {job_id}")
            self.scene.model.enqueued(Spec("k1", "a", schedule.tenant, 0), job_id, answer)

    # People.

    def _operate(self) -> Process:
        while True:
            yield Sleep(self.pause(60))
            schedule = self.rng.choice(list(self.schedules.values()))
            try:
                match self.rng.choice(("pause", "resume", "resume", "change", "again")):
                    case "pause":
                        yield self._pause(schedule)
                    case "resume":
                        yield self._resume(schedule)
                    case "change":
                        yield self._upsert(schedule, self.rng.choice((1, 2, 5)))
                    case _:
                        yield self._upsert(schedule, schedule.minutes)
            except Failed as error:
                understand(error)

    def _upsert(self, schedule: Schedule, minutes: int) -> Call:
        def commit(answer: Answer) -> None:
            changed = schedule.minutes != minutes or not schedule.id
            paused = bool(schedule.id) and schedule.due is None
            schedule.id, schedule.minutes = answer.value, minutes
            self.schedules[schedule.id] = schedule
            if changed and not paused:
                self._retimed(schedule, answer)

        params: dict[str, object] = {
            "name": schedule.name,
            "kind": "k1",
            "queue": "a",
            "cron": "* * * * *" if minutes == 1 else f"*/{minutes} * * * *",
            "catch_up": schedule.catch_up,
            "catch_up_most": schedule.most,
            "grace_seconds": GRACE_SECONDS,
            "tenant_id": schedule.tenant,
        }
        return Call("upsert_schedule", params, commit=commit)

    def _retimed(self, schedule: Schedule, answer: Answer) -> None:
        """It goes on from its first slot after now."""
        dues = {row[0]: seconds_of(row[1]) for row in self.scene.arena.look("coordination.dues")}
        allowed = {schedule.after(answer.sent_at), schedule.after(answer.done_at)}
        if dues.get(schedule.id) not in allowed:
            details = f"{schedule}: {dues.get(schedule.id)}, not {allowed}"
            raise Broken("a schedule goes on from its first slot after now", details)
        schedule.due = dues[schedule.id]

    def _pause(self, schedule: Schedule) -> Call:
        def commit(_: Answer) -> None:
            schedule.due = None

        params: dict[str, object] = {"name": schedule.name, "tenant_id": schedule.tenant}
        return Call("pause_schedule", params, commit=commit)

    def _resume(self, schedule: Schedule) -> Call:
        def commit(answer: Answer) -> None:
            if schedule.due is None:
                self._retimed(schedule, answer)

        params: dict[str, object] = {"name": schedule.name, "tenant_id": schedule.tenant}
        return Call("resume_schedule", params, commit=commit)

    # The end.

    def drain(self) -> Process:
        self.most = 1000
        for schedule in self.schedules.values():
            yield self._resume(schedule)
        for _ in range(3):
            yield from transaction(self.fire())
            yield Sleep(70.0)
        yield from transaction(self.fire())
        for schedule in self.schedules.values():
            if schedule.due is None or schedule.due <= self.scene.clock:
                raise Broken("schedules fire again after all faults", str(schedule))
