"""The model of leases: who has which name, by which token, and who may take it."""

from dataclasses import dataclass, field

from tests.simulation.coordination.scene import MICROSECOND, Keeper, Scene, same, seconds_of
from tests.simulation.steps import Answer, Broken, Row

Name = tuple[str, str]  # tenant, name


@dataclass(slots=True)
class Lease:
    """A row as it must be by now."""

    token: int
    attempt: int
    holder: str
    lifetime: str
    ttl: float = 0.0
    renewed: float = 0.0
    job_id: int | None = None
    job_attempt: int | None = None
    keeper: Keeper | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What somebody asked for."""

    name: Name
    holder: str
    ttl: float | None = None
    job_id: int | None = None
    job_attempt: int | None = None


@dataclass(slots=True)
class LeaseModel:
    """All leases, and what was written under their guard."""

    scene: Scene
    rows: dict[Name, Lease] = field(default_factory=dict)
    tokens: dict[Name, int] = field(default_factory=dict)
    used: list[tuple[Name, int]] = field(default_factory=list)
    writes: list[Row] = field(default_factory=list)

    def state(self, lease: Lease, at: float) -> str:
        """Held, late (by the clock), or over (its attempt or job has ended)."""
        jobs = self.scene.model.jobs
        if lease.lifetime == "time":
            return "late" if abs(at - lease.renewed) > lease.ttl - MICROSECOND else "held"
        job = jobs[lease.job_id or 0]
        if lease.lifetime == "attempt":
            held = job.phase == "held" and job.attempt == lease.job_attempt
            return "held" if held else "over"
        return "held" if job.phase in ("waiting", "held") else "over"

    def is_own(self, lease: Lease, asked: Asked) -> bool:
        """An attempt gets what its own job holds."""
        ours = lease.lifetime == "job" and lease.job_id == asked.job_id
        return ours and asked.job_attempt not in (None, lease.job_attempt)

    def check_taken(self, asked: Asked, at: float) -> None:
        """Somebody is about to take a lease."""
        lease = self.rows.get(asked.name)
        if lease is None or self.is_own(lease, asked):
            return
        self.check_gone(asked.name, lease, at, f"taken by {asked.holder}")

    def check_gone(self, name: Name, lease: Lease, at: float, what: str) -> None:
        if self.state(lease, at) == "held":
            raise Broken("never two holders of a lease", f"{name} {what} at {at}, but {lease}")
        if self.scene.is_kept(lease.keeper):
            raise Broken("a living holder is never displaced", f"{name} {what} at {at}, but {lease}")

    def check_refused_one(self, asked: Asked, answer: Answer) -> None:
        """Somebody asked and was told who has it."""
        if answer.sent != answer.done or not self.scene.is_calm():
            return  # somebody else was just at it
        lease = self.rows.get(asked.name)
        if lease is None or self.state(lease, answer.done_at) == "over":
            raise Broken("a lease that nobody has can be had", f"{asked}, {lease}")
        if answer.rows[0][3] != lease.holder:
            raise Broken("whoever asks is told who has it", f"{answer.rows[0]}, but {lease}")

    def took(self, asked: Asked, answer: Answer) -> None:
        acquired, token, attempt, _, _, until, lifetime, _, _ = answer.rows[0]
        if not acquired:
            return
        renewed = 0.0 if asked.ttl is None else seconds_of(until) - asked.ttl
        lease = Lease(token, attempt, asked.holder, lifetime, asked.ttl or 0.0, renewed)
        lease.job_id, lease.job_attempt = asked.job_id, asked.job_attempt
        self.put(asked.name, lease)

    def put(self, name: Name, lease: Lease) -> None:
        old = self.rows.get(name)
        if lease.token <= self.tokens.get(name, 0):
            raise Broken("tokens strictly increase", f"{name}: {lease} after {self.tokens[name]}")
        expected = (old.attempt if old is not None else 0) + 1
        if lease.attempt != expected:
            raise Broken("attempts of a lease are counted right", f"{name}: {lease}, not {expected}")
        self.tokens[name] = lease.token
        self.used.append((name, lease.token))
        self.rows[name] = lease

    def current(self, name: Name, token: int, what: str) -> Lease:
        lease = self.rows.get(name)
        if lease is None or lease.token != token:
            raise Broken("no stale token is accepted", f"{what} {name} by {token}, but {lease}")
        return lease

    def check_stale(self, name: Name, token: int, what: str) -> None:
        """A token was refused."""
        lease = self.rows.get(name)
        if lease is None or lease.token != token:
            return
        if lease.job_attempt is not None and lease.lifetime != "time":
            job = self.scene.model.jobs[lease.job_id or 0]
            if job.phase != "held" or job.attempt != lease.job_attempt:
                return
        raise Broken("the holder of a lease is never refused", f"{what} {name} by {token}: {lease}")

    def renewed(self, name: Name, token: int, keeper: Keeper | None, answer: Answer) -> None:
        lease = self.current(name, token, "renewed")
        if answer.value is not None:
            lease.renewed = seconds_of(answer.value) - lease.ttl
        if keeper is not None:
            keeper.renewed()
            lease.keeper = keeper

    def wrote(self, name: Name, token: int) -> None:
        lease = self.rows.get(name)
        if lease is None or lease.token != token:
            details = f"{name} by {token}, but {lease}"
            raise Broken("a guarded write commits only with the current token", details)
        if lease.job_attempt is not None and self.state(lease, 0) == "over":
            raise Broken("a guarded write commits only with the current token", f"{lease} is over")
        self.writes.append((*name, token))

    def released(self, name: Name, token: int, *, given_back: bool) -> None:
        if given_back:
            self.current(name, token, "released")
            del self.rows[name]
        elif self.rows.get(name) is not None and self.rows[name].token == token:
            raise Broken("the holder of a lease is never refused", f"release {name} by {token}")

    def pruned(self, left: set[Name], before: float, at: float) -> None:
        for name, lease in list(self.rows.items()):
            if name in left:
                continue
            self.check_gone(name, lease, at, "pruned")
            if lease.lifetime == "time" and lease.renewed > before:
                raise Broken("leases are forgotten only when they are old", f"{name}: {lease}")
            del self.rows[name]

    def compare(self, rows: list[Row], writes: list[Row]) -> None:
        expected = [
            (*name, lease.token, lease.attempt, lease.holder, lease.lifetime) for name, lease in self.rows.items()
        ]
        same("a lease is as it was told", rows, expected)
        same("a guarded write takes place once", writes, self.writes)
