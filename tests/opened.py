"""Opens kinds to tenants, as a worker does that declares them when it starts."""

OPEN = b"""
insert into ostinato_data.kind (name, queue, priority, retry, registered_at, open)
select k.name, coalesce(k.queue, 'default'), 0, '{}', ostinato.now(), true
from unnest(%s::text[], %s::text[]) k (name, queue)
on conflict (name) do update set open = true
"""


def opened(*names: str, **elsewhere: str) -> tuple[list[str], list[str | None]]:
    """The values of OPEN: kinds of the queue "default", and `app_task="mail"` for one elsewhere."""
    others = {name.replace("_", "."): queue for name, queue in elsewhere.items()}
    return [*names, *others], [*(None for _ in names), *others.values()]
