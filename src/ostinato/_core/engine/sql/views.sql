-- The outbox as one table, for people and for programs that read it with plain SQL: every event that was emitted, with
-- its envelope, and its position once it has one. It runs with the rights of its caller, so a tenant sees its own.
create view ostinato.events_outbox with (security_invoker = true) as
select e.id, l.position, e.type, e.version, e.tenant_id, e.correlation_id, e.occurred_at, e.producer, e.ordering_key,
       e.payload, e.emitted_at, l.sequenced_at
from ostinato_data.event e left join ostinato_data.event_log l on l.event_id = e.id;
