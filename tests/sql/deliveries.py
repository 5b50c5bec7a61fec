"""Events as jobs, for tests: emit, dispatch, claim, and look whether the lanes are right."""

import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from tests.sql.engine import Held, Row, Session
from tests.sql.test_outbox import emit, sequence

NAME = "receipts"

BROKEN = (
    "with place as (select d.*, s.on_poison, s.paused, ostinato.job_state(d.job_id) as state,"
    "  (select x.reason from ostinato_data.scheduled x where x.job_id = d.job_id) as reason,"
    "  (select c.id from ostinato_data.claim c where d.job_id = any (c.job_ids)) as claim"
    "  from ostinato_data.delivery d join ostinato_data.subscription s on s.name = d.subscription)"
    " select 'not open, yet not behind' as what, p.job_id::text as which from place p"
    "  where not p.open and p.reason is distinct from 'behind'"
    " union all select 'open, yet behind', p.job_id::text from place p"
    "  where p.open and p.reason = 'behind'"
    " union all select 'over, yet here', p.job_id::text from place p where p.state is null"
    "  or p.state in ('done', 'cancelled') or (p.state = 'dead' and p.on_poison = 'skip')"
    " union all select 'below low', p.job_id::text from place p"
    "  join ostinato_data.subscription s on s.name = p.subscription where p.position < s.low"
    " union all select 'behind, yet not here', s.job_id::text from ostinato_data.scheduled s"
    "  where s.reason = 'behind'"
    "  and not exists (select from ostinato_data.delivery d where d.job_id = s.job_id)"
    " union all select 'two of a lane at once', p.lane from place p"
    "  where p.open and p.lane is not null and p.state not in ('dead', 'done')"
    "  and not p.job_id = any (%s)"
    "  group by p.subscription, p.lane"
    "  having count(*) > 1 and (count(p.claim) < count(*) or count(distinct p.claim) > 1)"
    " union all select 'out of turn', p.job_id::text from place p join ostinato_data.ready r"
    "  on r.job_id = p.job_id and r.attempt = 1 where exists (select from place q"
    "  join ostinato_data.scheduled x on x.job_id = q.job_id and x.attempt = 1 where not q.open"
    "  and q.subscription = p.subscription and q.lane = p.lane and q.position < p.position)"
    " union all select 'nobody has the turn', p.lane from place p where p.lane is not null"
    "  and not p.paused group by p.subscription, p.lane having not bool_or(p.open)"
)
"""The invariants of `delivery` (tables/0025_one_delivery.sql): a row for each that is broken."""


def tell(db: Session, *keys: str | None, **params: Any) -> list[int]:  # noqa: ANN401
    """Emit an event for each key, sequence them, and make their jobs."""
    told = [emit(db, key=key, **params) for key in keys]
    sequence(db)
    db.call("dispatch_events")
    return told


def subscribe(db: Session, name: str = NAME, **params: Any) -> None:  # noqa: ANN401
    db.call("subscribe", name=name, **params)


def event_of(job: Held) -> Row:
    args: Row = json.loads(job.row["args"])
    return args


def at(jobs: Sequence[Held]) -> list[int]:
    """The positions of the events that some jobs are."""
    return [event_of(job)["position"] for job in jobs]


def take(db: Session, worker: UUID, most: int = 100, name: str = NAME) -> list[Held]:
    """Claim jobs of a subscription, with those behind them as far as there is room."""
    return db.claim(worker, most, kinds=[name])


def take_heads(db: Session, worker: UUID, name: str = NAME) -> list[Held]:
    """Claim what is ready, and give back what came along."""
    jobs = take(db, worker, name=name)
    followers = [job for job in jobs if job.row["behind"] is not None]
    assert db.release(*followers) == []
    return [job for job in jobs if job not in followers]


def broken(admin: Session, leaving: Iterable[int] = (), returning: Iterable[int] = ()) -> list[Row]:
    """The invariants that do not hold.

    `leaving` are over, and leave_lanes is still to come; `returning` are behind one that did not
    succeed, and their release is still to come.
    """
    late = {("over, yet here", str(job)) for job in leaving}
    return [row for row in admin.rows(BROKEN, list(returning)) if (row["what"], row["which"]) not in late]


def lanes_are_right(admin: Session) -> None:
    assert broken(admin) == []
