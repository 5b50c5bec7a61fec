"""The model of idempotency: what was asked under a key, who works on it, what was answered."""

from dataclasses import dataclass, field

from tests.simulation.coordination.scene import MICROSECOND, Keeper, Scene, same, seconds_of
from tests.simulation.steps import Answer, Broken, Row

Key = tuple[str, str]  # tenant, key


@dataclass(slots=True)
class Entry:
    """A key as it must be by now."""

    token: int
    attempt: int
    request: str
    expires: float
    renewed: float
    lease: float
    ttl: float
    state: str = "in_flight"
    answer: str | None = None
    effects: int = 0
    keeper: Keeper | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """What somebody asked for."""

    key: Key
    request: str
    lease: float
    ttl: float
    wait: bool


@dataclass(slots=True)
class KeyModel:
    """All keys, and the effects that took place under them."""

    scene: Scene
    entries: dict[Key, Entry] = field(default_factory=dict)
    used: list[tuple[Key, int]] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)

    def check(self, asked: Begun, answer: Answer) -> None:
        """A decision must be the right one for what is committed."""
        decision, at = answer.value, answer.done_at
        entry = self.entries.get(asked.key)
        # In the grace of the tick an answer outlives its time once (ostinato.keep_answer): it is
        # still the same answer then, and another request under its key is still a conflict.
        kept = entry is not None and entry.state == "done" and decision in ("replay", "conflict")
        if entry is not None and entry.expires <= at + MICROSECOND and entry.state != "in_flight":
            entry = entry if kept else None
        details = f"{asked} was told {decision} at {at}, but {entry}"
        match decision:
            case "new":
                self._check_new(asked, entry, at, details)
            case "replay":
                told = (answer.rows[0][6], asked.request)
                if entry is None or entry.state != "done" or told != (entry.answer, entry.request):
                    raise Broken("everybody gets the same answer", f"{details}; told {told}")
                until = seconds_of(answer.rows[0][9])  # of one that was kept: its second time
                if until <= min(answer.sent_at, at):
                    raise Broken("an answer that has expired is not told", f"{details}; until {until}")
            case "conflict":
                waited = answer.sent != answer.done  # then it was so when it asked
                if not waited and (entry is None or entry.request == asked.request):
                    raise Broken("only another request is a conflict", details)
                if answer.rows[0][10] != ["amount"]:
                    raise Broken("a conflict names the fields", f"{answer.rows[0][10]}; {details}")
            case _:
                if answer.sent == answer.done:  # else it was so when it asked
                    self._check_in_flight(asked, entry, details)

    def _check_new(self, asked: Begun, entry: Entry | None, at: float, details: str) -> None:
        if entry is None:
            return
        if entry.state == "done":
            raise Broken("one effect per key", details)
        if entry.request != asked.request and entry.expires > at + MICROSECOND:
            raise Broken("another request is a conflict", details)
        if entry.state == "in_flight" and abs(at - entry.renewed) <= entry.lease - MICROSECOND:
            raise Broken("nobody is taken over before the lease is over", details)
        if entry.state == "in_flight" and self.scene.is_kept(entry.keeper):
            raise Broken("who lives and renews is not taken over", details)

    def _check_in_flight(self, asked: Begun, entry: Entry | None, details: str) -> None:
        if not asked.wait and not self.scene.is_calm():
            return  # somebody else has it in a transaction that is open
        if entry is None or entry.state != "in_flight" or entry.request != asked.request:
            raise Broken("a key is in flight only while somebody works on it", details)

    def begun(self, asked: Begun, answer: Answer) -> None:
        row = answer.rows[0]
        if row[0] != "new":
            return
        token, attempt, expires = row[1], row[2], seconds_of(row[9])
        renewed = seconds_of(row[5]) - asked.lease
        old = self.entries.get(asked.key)
        goes_on = old is not None and old.expires > renewed + MICROSECOND
        expected = old.attempt + 1 if old is not None and goes_on else 1
        if attempt != expected:
            raise Broken("attempts of a key are counted right", f"{asked}: {attempt}, not {expected}")
        if any(key == asked.key and used >= token for key, used in self.used):
            raise Broken("tokens strictly increase", f"{asked}: {token}")
        self.used.append((asked.key, token))
        entry = Entry(token, attempt, asked.request, expires, renewed, asked.lease, asked.ttl)
        self.entries[asked.key] = entry

    def renewed(self, key: Key, token: int, keeper: Keeper, answer: Answer) -> None:
        entry = self._mine(key, token, "renewed")
        entry.renewed = seconds_of(answer.value) - entry.lease
        entry.expires = entry.renewed + max(entry.ttl, entry.lease)
        keeper.renewed()
        entry.keeper = keeper

    def took_effect(self, key: Key, token: int) -> None:
        entry = self._mine(key, token, "an effect of")
        entry.effects += 1
        if entry.effects > 1:
            raise Broken("one effect per key", f"{key}: {entry}")
        self.effects.append((*key, token))

    def finished(self, key: Key, token: int, text: str, answer: Answer) -> None:
        entry = self.entries.get(key)
        if entry is not None and entry.token == token and entry.state == "done":
            return  # again, after its answer got lost: the first one stays
        entry = self._mine(key, token, "finished")
        entry.state, entry.answer = "done", text
        entry.expires = answer.sent_at + entry.ttl

    def abandoned(self, key: Key, token: int, *, forget: bool, done: bool) -> None:
        if not done:
            self.check_stale(key, token, "abandon")
            return
        entry = self._mine(key, token, "abandoned")
        entry.state = "abandoned"
        if forget:
            del self.entries[key]

    def _mine(self, key: Key, token: int, what: str) -> Entry:
        entry = self.entries.get(key)
        if entry is None or entry.token != token or entry.state != "in_flight":
            raise Broken("no late holder of a key is accepted", f"{what} {key} by {token}: {entry}")
        return entry

    def check_stale(self, key: Key, token: int, what: str) -> None:
        """A token was refused."""
        entry = self.entries.get(key)
        if entry is not None and entry.token == token and entry.state == "in_flight":
            raise Broken("the holder of a key is never refused", f"{what} {key} by {token}: {entry}")

    def pruned(self, left: set[Key], at: float) -> None:
        for key, entry in list(self.entries.items()):
            if key in left:
                continue
            works = entry.state == "in_flight" and (
                abs(at - entry.renewed) <= entry.lease - MICROSECOND or self.scene.is_kept(entry.keeper)
            )
            if entry.expires > at + MICROSECOND or works:
                raise Broken("only old keys are forgotten", f"{key}: {entry} at {at}")
            del self.entries[key]

    def compare(self, rows: list[Row], effects: list[Row]) -> None:
        expected = [(*key, entry.token, entry.attempt, entry.state) for key, entry in self.entries.items()]
        same("a key is as it was told", rows, expected)
        same("effects take place exactly once", effects, self.effects)
