-- Leases, limits and schedules under `ostinato torture`: what jobs wrote, and how it compares.

-- name: create_tables
-- What happened, numbered as it was written. lease: under the guard of the lease, with its token. begin: a job of a
-- queue that lets one of a key run at a time has begun, outside of its transaction. end: it has ended. slot: a slot was
-- served.
create table torture.history (
    n bigint generated always as identity, what text not null, key text not null, number bigint not null default 0,
    job_id bigint not null, attempt integer not null);
grant select, insert on torture.history to ostinato_worker;

-- name: write
-- What a job did.
insert into torture.history (what, key, number, job_id, attempt) values (%s, %s, %s, %s, %s);

-- name: unserved
-- How many of the slots nobody has served yet.
select count(*) from unnest(%s::text[]) s (key)
where not exists (select from torture.history h where h.what = 'slot' and h.key = s.key);

-- name: counts
-- Writes under a lease; those that came after a later holder's, or of an attempt that did not end its job; jobs of a
-- limited key; those that another had begun beside; slots; those that were missed or served twice.
with wrote as (
    select h.*, exists (select from ostinato_data.outcome o
                        where (o.job_id, o.attempt, o.outcome) = (h.job_id, h.attempt, 'done')) as counts
    from torture.history h
), held as (
    select w.number, w.counts,
           max(w.number) over (order by w.n rows between unbounded preceding and 1 preceding) as before
    from wrote w where w.what = 'lease'
), ran as (
    select b.key, b.n as began, e.n as ended
    from torture.history b join wrote e on (e.job_id, e.attempt, e.what) = (b.job_id, b.attempt, 'end')
    where b.what = 'begin' and e.counts
)
select (select count(*) from held), (select count(*) from held h where not h.counts or h.number <= h.before),
       (select count(*) from ran),
       (select count(*) from ran one join ran other on other.key = one.key and other.began > one.began
        and other.began < one.ended),
       cardinality(%(slots)s::text[]),
       (select count(*) from unnest(%(slots)s::text[]) s (key)
        where (select count(*) from wrote w where w.what = 'slot' and w.key = s.key and w.counts) <> 1);
