-- The events of `ostinato torture`: what happened, what subscribers wrote, and how they compare.

-- name: create_tables
-- What happened, numbered while the keys of its events are held, so in the order of commits; and what subscribers
-- wrote.
create table torture.fact (n bigint generated always as identity, event_id bigint primary key, ordering_key text);
create table torture.booked (
    n bigint generated always as identity, subscription text not null, event_id bigint not null, ordering_key text);
grant select, insert on torture.fact, torture.booked to ostinato_worker;

-- name: note_facts
-- Notes what happened, in the transaction that emits it.
insert into torture.fact (event_id, ordering_key) select * from unnest(%s::bigint[], %s::text[]);

-- name: book
-- What a subscriber does with an event, in the transaction that ends its delivery.
insert into torture.booked (subscription, event_id, ordering_key) values (%s, %s, %s);

-- name: left
-- What is not settled yet: events without a position, deliveries of subscriptions, webhooks.
select (select count(*) from ostinato_data.event_unsequenced)
       + coalesce((select sum(s.behind + s.waiting + s.held + s.buried) from ostinato.list_subscriptions() s), 0)
       + (select count(*) from ostinato_data.webhook_delivery d where d.state <> 'delivered');

-- name: buried
-- The subscriptions with events that were in the way of too many crashes of others.
select distinct b.subscription from ostinato.list_buried(most => 1000) b where b.reason = 'worker_lost' order by 1;

-- name: counts
-- Events that happened; those that are gone from the outbox; that a subscriber never had; that nobody emitted; that
-- a subscriber had twice; that a subscriber had after a later one of its key; that are buried.
select (select count(*) from torture.fact),
       (select count(*) from unnest(%(acknowledged)s::bigint[]) a (id)
        where not exists (select from torture.fact f where f.event_id = a.id))
       + (select count(*) from torture.fact f
          where not exists (select from ostinato_data.event_log l where l.event_id = f.event_id)),
       (select count(*) from torture.fact f cross join unnest(%(subscriptions)s::text[]) s (name)
        where not exists (select from torture.booked b where b.event_id = f.event_id and b.subscription = s.name)),
       (select count(*) from ostinato_data.event e
        where e.type = %(type)s and not exists (select from torture.fact f where f.event_id = e.id))
       + (select count(*) from torture.booked b
          where not exists (select from torture.fact f where f.event_id = b.event_id)),
       (select count(*) from (select from torture.booked b group by b.subscription, b.event_id having count(*) > 1) t),
       (select count(*) from (
            select f.n, max(f.n)
            over (partition by b.subscription, b.ordering_key
                  order by b.n rows between unbounded preceding and 1 preceding) as before
            from torture.booked b join torture.fact f on f.event_id = b.event_id where b.ordering_key is not null) o
            where o.n < o.before),
       (select count(*) from ostinato.list_buried(most => 1000));

-- name: facts
-- What happened, in the order of the commits of each key. `given_up`: a job of its webhook was a dead letter, and did
-- not keep those behind it waiting. `attempts` at its webhook: what a receiver may have seen of it at the most.
with sent as (
    select m.event_id, max(o.attempt) as attempts, bool_or(o.outcome = 'dead') as dead
    from ostinato_data.webhook_message m join ostinato_data.webhook_delivery d on d.message_id = m.id
    join ostinato_data.job j on j.kind = 'webhooks.deliver' and (j.args ->> 'delivery')::bigint = d.id
    join ostinato_data.outcome o on o.job_id = j.id
    group by m.event_id, j.id
)
select f.event_id::text, f.ordering_key, coalesce(bool_or(s.dead), false) as given_up,
       coalesce(sum(s.attempts), 0) as attempts
from torture.fact f left join sent s on s.event_id = f.event_id::text
group by f.event_id, f.ordering_key, f.n order by f.n;

-- name: evidence
-- Some events that a promise was broken for, and how they stand.
select format('event %%s of key %%s, position %%s: booked by %%s; deliveries %%s; webhook %%s', f.event_id,
              coalesce(f.ordering_key, 'none'),
    coalesce((select l.position::text from ostinato_data.event_log l where l.event_id = f.event_id), 'none'),
    coalesce((select string_agg(b.subscription, ', ' order by b.n) from torture.booked b where b.event_id = f.event_id),
             'nobody'),
    coalesce((select string_agg(format('%%s: job %%s %%s', d.subscription, d.job_id, d.state), ', ')
              from ostinato.event_deliveries(f.event_id) d), 'none'),
    coalesce((select string_agg(format('%%s, job %%s %%s', d.state, d.job_id, ostinato.job_state(d.job_id)), ', ')
              from ostinato_data.webhook_message m join ostinato_data.webhook_delivery d on d.message_id = m.id
              where m.event_id = f.event_id::text), 'none'))
from torture.fact f
where f.event_id::text = any (%(ids)s::text[])
   or (select count(distinct b.subscription) from torture.booked b
       where b.event_id = f.event_id) < cardinality(%(subscriptions)s::text[])
   or exists (select from torture.booked b where b.event_id = f.event_id group by b.subscription having count(*) > 1)
order by f.n limit 20;
