"""Leases: holders that keep them, lose them, freeze and go on; people who take them away; jobs.

A holder has a heart that renews. It gives a lease back, lets it expire, dies, or goes on with a
token that is not valid any more. Jobs hold leases by their attempts, and clients attach to jobs.
"""

from functools import partial

from tests.simulation.coordination.lease_model import Asked, Lease, LeaseModel, Name
from tests.simulation.coordination.scene import Concept, Keeper, Scene, Steps, transaction, understand
from tests.simulation.model import Spec, Token
from tests.simulation.stage import Crew
from tests.simulation.steps import Answer, Broken, Call, Failed, Plain, Process, Sleep

PATIENCE = 5  # times to live that a drain waits for those who are gone


class Leases(Concept):
    """Who plays with leases."""

    name = "leases"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self.model = LeaseModel(scene)
        self.holders = self.rng.randint(2, 4)
        self.tenants = scene.config.tenants
        self.names = ("x", "y")[: self.rng.randint(1, 2)]
        self.ttls: tuple[float, ...] = self.rng.choice(((6.0,), (15.0,), (6.0, 15.0, 30.0)))
        self.ticks = self.rng.random() < 0.5
        self.jobs = self.rng.random() < 0.5
        # What the tick does not see, a lease that is shorter may not survive.
        if self.jobs or scene.has_workers:
            self.ttls = (30.0,)
        elif self.ticks:
            self.ttls = self.rng.choice(((15.0,), (15.0, 30.0)))
        self.lazy = self.rng.choice((0.0, 0.3, 0.7))
        """How many holders have no heart, and renew late or never."""
        self.operators = self.rng.random() < 0.3
        self.longest = max(self.ttls)

    @property
    def needs_workers(self) -> bool:  # type: ignore[override]
        return self.jobs

    def start(self) -> None:
        for _ in range(self.holders):
            self.scene.crew("l", self._hold)
        if self.ticks:
            self.scene.spawn("tick", lambda _: self._tick(), heart=True)
        if self.operators:
            self.scene.spawn("take", lambda _: self._take_away())
        if self.jobs:
            self.scene.crew("attach", self._attach)
            self.scene.extras.append(self._lend)

    def look(self) -> None:
        self.model.compare(
            self.scene.arena.look("coordination.leases"), self.scene.arena.look("coordination.lease_writes")
        )

    # Calls.

    def some_name(self) -> Name:
        return (self.rng.choice(self.tenants), self.rng.choice(self.names))

    def acquire(self, asked: Asked) -> Call:
        def check(answer: Answer) -> None:
            if answer.value:
                self.model.check_taken(asked, answer.done_at)
            else:
                self.model.check_refused_one(asked, answer)

        params: dict[str, object] = {
            "name": asked.name[1],
            "holder": asked.holder,
            "ttl_seconds": asked.ttl,
            "job_id": asked.job_id,
            "job_attempt": asked.job_attempt,
            "tenant_id": asked.name[0],
        }
        took = partial(self.model.took, asked)
        return Call("acquire_lease", params, check=check, commit=took)

    def renew(self, name: Name, token: int, keeper: Keeper | None, *, may_wait: bool) -> Call:
        params: dict[str, object] = {"name": name[1], "token": token, "tenant_id": name[0]}
        renewed = partial(self.model.renewed, name, token, keeper)
        return Call("renew_lease", params, commit=renewed, may_wait=may_wait)

    def write(self, name: Name, token: int) -> Steps:
        """A write that nobody but the holder may make."""
        params: dict[str, object] = {"name": name[1], "token": token, "tenant_id": name[0]}
        yield Call("guard_lease", params)
        yield Sleep(self.pause(self.rng.choice((1, 40))))
        wrote = self.model.wrote
        yield Plain("coordination.write_lease", (*name, token), commit=lambda _: wrote(name, token))
        yield Sleep(self.pause())

    def release(self, name: Name, token: int) -> Call:
        def commit(answer: Answer) -> None:
            self.model.released(name, token, given_back=answer.value)

        params: dict[str, object] = {"name": name[1], "token": token, "tenant_id": name[0]}
        return Call("release_lease", params, commit=commit)

    # Holders.

    def _hold(self, crew: Crew) -> Process:
        while True:
            yield Sleep(self.pause(2))
            try:
                if self.model.used and self.rng.random() < 0.15:
                    yield from self._replay()
                else:
                    yield from self._acquire(crew)
            except Failed as error:
                understand(error, "OS410")

    def _acquire(self, crew: Crew) -> Steps:
        asked = Asked(self.some_name(), crew.label, self.rng.choice(self.ttls))
        acquire = self.acquire(asked)
        taken: list[int | None] = []

        def ask() -> Steps:
            answer = yield acquire
            taken.append(answer.rows[0][1])

        if self.rng.random() < self.scene.config.in_transaction:
            keep = self.rng.random() < 0.8
            yield from transaction(ask(), keep=keep)
            taken = taken if keep else [None]
        else:
            yield from ask()
        if taken[0] is not None:
            yield from self._keep(crew, asked, taken[0])

    def _keep(self, crew: Crew, asked: Asked, token: int) -> Steps:
        keeper = Keeper(crew, crew.freezes)
        if self.rng.random() < self.lazy:
            for _ in range(self.rng.randint(1, 4)):
                yield Sleep(self.pause(3 * (asked.ttl or 0)))
                yield from self._use(asked.name, token, renews=0.8)
            return
        heart = partial(self._beat, asked, token, keeper)
        self.scene.spawn(f"{crew.label}.heart", lambda _: heart(), crew=crew, heart=True)
        try:
            for _ in range(self.rng.randint(1, 6)):
                yield Sleep(self.pause(self.rng.choice((1, 10))))
                yield from self._use(asked.name, token)
            if self.rng.random() < 0.6:
                yield self.release(asked.name, token)
        finally:
            keeper.over = True  # from now on it may end

    def _use(self, name: Name, token: int, renews: float = 0.2) -> Steps:
        try:
            if self.rng.random() >= renews:
                yield from transaction(self.write(name, token), keep=self.rng.random() < 0.9)
            else:
                yield from transaction(self._renew_slowly(name, token))
        except Failed as error:
            understand(error, "OS410")
            if error.sqlstate == "OS410":
                self.model.check_stale(name, token, "use of")

    def _renew_slowly(self, name: Name, token: int) -> Steps:
        yield self.renew(name, token, None, may_wait=True)
        yield Sleep(self.pause(self.rng.choice((1, 10))))

    def _beat(self, asked: Asked, token: int, keeper: Keeper) -> Process:
        while not keeper.over:
            try:
                yield self.renew(asked.name, token, keeper, may_wait=False)
            except Failed as error:
                understand(error, "OS410")
                if error.sqlstate == "OS410":
                    self.model.check_stale(asked.name, token, "renewal of")
                    return
                keeper.disturbed = keeper.disturbed or error.busy
                yield Sleep(0.2)
                continue
            yield Sleep(round((asked.ttl or 0) / 3, 3))

    def _replay(self) -> Steps:
        """Somebody with a token from long ago."""
        name, token = self.rng.choice(self.model.used)
        match self.rng.choice(("renew", "guard", "release")):
            case "renew":
                yield self.renew(name, token, None, may_wait=True)
            case "guard":
                yield from transaction(self.write(name, token))
            case _:
                yield self.release(name, token)

    # People, and the tick.

    def _tick(self) -> Process:
        while True:
            yield Sleep(1.0)
            yield Call("tick")

    def _take_away(self) -> Process:
        while True:
            yield Sleep(self.pause(8))
            try:
                if self.rng.random() < 0.5:
                    yield self._prune()
                else:
                    yield self._seize(self.some_name())
            except Failed as error:
                understand(error, "OS423")

    def _prune(self) -> Call:
        keep = self.rng.choice((1.0, 60.0))

        def commit(answer: Answer) -> None:
            left = {(row[0], row[1]) for row in self.scene.arena.look("coordination.leases")}
            self.model.pruned(left, answer.done_at - keep, answer.done_at)

        return Call("prune_leases", {"keep_seconds": keep}, commit=commit)

    def _seize(self, name: Name) -> Call:
        force = self.rng.random() < 0.3

        def check(answer: Answer) -> None:
            lease = self.model.rows.get(name)
            if answer.value and lease is not None and not force:
                self.model.check_gone(name, lease, answer.done_at, "taken away")

        def commit(answer: Answer) -> None:
            if answer.value and self.model.rows.pop(name, None) is None:
                raise Broken("only what is held is taken away", str(name))

        params: dict[str, object] = {"name": name[1], "force": force, "tenant_id": name[0]}
        return Call("release_lease", params, check=check, commit=commit)

    # Jobs.

    def _attach(self, _: Crew) -> Process:
        while True:
            yield Sleep(self.pause(4))
            try:
                yield self._join((self.rng.choice(self.tenants), self.rng.choice(("j", "x"))))
            except Failed as error:
                understand(error, "OS423")

    def _join(self, name: Name) -> Call:
        def commit(answer: Answer) -> None:
            job_id, attached = answer.rows[0]
            spec = Spec("k1", "a", name[0], 0, unique_key=f"lease:{name[1]}")
            if attached != (job_id in self.scene.model.jobs):
                raise Broken("whoever attaches is told so", f"{job_id}, {attached}")
            token, attempt, holder = self.scene.arena.look("coordination.lease", *name)[0]
            lease = self.model.rows.get(name)
            if lease is None or lease.token != token:
                self.scene.model.check_returned(spec, job_id)
                self.model.check_taken(Asked(name, holder), answer.done_at)
                lease = Lease(token, attempt, holder, "job", job_id=job_id)
                self.model.put(name, lease)
                self.scene.model.enqueued(spec, job_id, answer)
            if lease.job_id != job_id or self.model.state(lease, answer.done_at) == "over":
                raise Broken("whoever attaches gets the holder's job", f"{job_id}, {lease}")

        params: dict[str, object] = {"name": name[1], "kind": "k1", "queue": "a", "tenant_id": name[0]}
        return Call("enqueue_or_attach", params, commit=commit)

    def _lend(self, held: dict[int, Token], crew: Crew) -> Steps:
        """A worker holds a lease by the attempt of a job in its hands."""
        token = self.rng.choice(list(held.values()))
        tenant = self.scene.model.jobs[token.job_id].spec.tenant
        name = (tenant, self.rng.choice((*self.names, "j")))
        asked = Asked(name, crew.label, job_id=token.job_id, job_attempt=token.attempt)
        answer = yield self.acquire(asked)
        if answer.value:
            yield Sleep(self.pause(3))
            yield from self._use(name, answer.rows[0][1])

    # The end.

    def drain(self) -> Process:
        """Whoever is gone is followed by the next, sooner or later."""
        for name in list(self.model.rows):
            waited = 0.0
            while True:
                asked = Asked(name, "drain", ttl=min(self.ttls))
                answer = yield self.acquire(asked)
                if answer.value:
                    yield from transaction(self.write(name, answer.rows[0][1]))
                    yield self.release(name, answer.rows[0][1])
                    break
                if waited > PATIENCE * max(self.ttls):
                    raise Broken("a lease whose holder is gone can be had", str(name))
                waited += min(self.ttls) / 2
                yield Sleep(min(self.ttls) / 2)
