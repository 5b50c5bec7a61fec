-- What copies one tenant out of an installation and into another (tenant_copy.py).

-- name: tables
-- Every table of some schemas that is no partition: its columns that are not computed, and what it has of a tenant.
select n.nspname::text as schema, c.relname::text as name, c.relpersistence = 'u' as fleeting,
       (select array_agg(a.attname::text order by a.attnum) from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = any (%(schemas)s) and c.relkind in ('r', 'p') and not c.relispartition
order by 1, 2;

-- name: links
-- The foreign keys between them.
select k.conrelid::regclass::text as child, k.confrelid::regclass::text as parent,
       (select array_agg(a.attname::text order by u.n) from unnest(k.conkey) with ordinality u (num, n)
        join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num) as child_columns,
       (select array_agg(a.attname::text order by u.n) from unnest(k.confkey) with ordinality u (num, n)
        join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.num) as parent_columns
from pg_catalog.pg_constraint k join pg_catalog.pg_namespace n on n.oid = k.connamespace
where k.contype = 'f' and k.conparentid = 0 and n.nspname = any (%(schemas)s)
order by 1, 2;

-- name: versions
-- The version of each part of the schema.
select m.component::text, max(m.version)::integer from ostinato_data.migration m where m.version >= 0
group by 1 order by 1;

-- name: fingerprint
-- A name for the secret of an installation that hashes are keyed with; no word of it.
select pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
           coalesce(pg_catalog.string_agg(t::text, ' ' order by t::text), ''), 'UTF8')), 'hex')
from {table} t;

-- name: standing
-- How far the log of events is, how many jobs of the tenant are held, and whether some of its events were dispatched to
-- one subscription and not yet to another.
select coalesce((select q.position from ostinato_data.event_sequencer q), 0) as position,
       (select count(*) from ostinato_data.claim c cross join lateral unnest(c.job_ids) h (job_id)
        join ostinato_data.job j on j.id = h.job_id where j.tenant_id = %(tenant)s) as held,
       exists (select from ostinato_data.event_log l where l.tenant_id = %(tenant)s
               and l.position > (select min(s.position) from ostinato_data.subscription s)
               and l.position <= (select max(s.position) from ostinato_data.subscription s)) as halfway;

-- name: copy_rows
-- The rows of the tenant, of a table that names it.
copy (select {columns} from {table} t where t.tenant_id = {tenant}) to stdout;

-- name: copy_of_jobs
-- The rows of its jobs, of a table that names only those.
copy (select {columns} from {table} t where exists (
    select from ostinato_data.job j where j.id = t.job_id and j.tenant_id = {tenant})) to stdout;

-- name: copy_linked
-- The rows that its rows in another table point to, or are pointed at by.
copy (select {columns} from {table} t where exists (
    select from {other} o where o.tenant_id = {tenant} and ({others}) = ({ours}))) to stdout;

-- name: copy_ready
-- The places of its jobs that are ready, and of those that workers hold: these run again where they are loaded.
copy (select {columns} from (
    select r.* from ostinato_data.ready r where r.tenant_id = {tenant}
    union all
    select h.position, h.job_id, h.attempt, j.priority, h.failures, h.crashes, h.limit_key is not null, j.queue,
           j.tenant_id, j.kind, h.limit_key
    from ostinato_data.claim c
    cross join lateral unnest(c.job_ids, c.attempts, c.failures, c.crashes, c.positions, c.limit_keys)
        h (job_id, attempt, failures, crashes, position, limit_key)
    join ostinato_data.job j on j.id = h.job_id and j.tenant_id = {tenant}
) t) to stdout;

-- name: copy_event_log
-- Its events that every subscription has had.
copy (select {columns} from ostinato_data.event_log t where t.tenant_id = {tenant}
      and t.position <= (select coalesce(min(s.position), 9223372036854775807) from ostinato_data.subscription s)
) to stdout;

-- name: copy_pending
-- Its events that no subscription has had, in their order: they are sequenced and dispatched where they are loaded.
copy (select {columns} from (
    select l.position as first, 0::bigint as seq, l.event_id, l.type, l.tenant_id, l.ordering_key
    from ostinato_data.event_log l
    where l.tenant_id = {tenant} and l.position > (select min(s.position) from ostinato_data.subscription s)
    union all
    select null, u.seq, u.event_id, u.type, u.tenant_id, u.ordering_key from ostinato_data.event_unsequenced u
    where u.tenant_id = {tenant}
) t order by t.first nulls last, t.seq) to stdout;

-- name: alone
-- One load at a time.
select pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('ostinato' || E'\x1f' || 'tenants load', 0));

-- name: as_written
-- No trigger and no foreign key acts on what is loaded: it was true where it came from.
set local session_replication_role = replica;

-- name: has_rows
-- Whether the tenant has a row in a table.
select exists (select from {table} t where t.tenant_id = {tenant});

-- name: stage
-- A place for the rows of a table, for this transaction.
create temporary table {stage} on commit drop as select {columns} from {table} with no data;

-- name: stage_order
-- The order in which they came.
alter table {stage} add column loaded_in_order bigint generated always as identity;

-- name: fill
-- The rows of the file.
copy {stage} ({columns}) from stdin;

-- name: strangers
-- How many of them name another tenant.
select count(*) from {stage} t where t.tenant_id is distinct from {tenant};

-- name: operators
-- Deletes the other installation's keys with a role for all tenants: they would open all of this one.
delete from {stage} t where 'installation' = any (t.roles);

-- name: others_jobs
-- Whether a row names a job of another tenant, or, where it must be there, one that is not.
select exists (
    select from {stage} t left join ostinato_data.job j on j.id = t.job_id
    where t.job_id is not null and (j.tenant_id <> {tenant} or {strict} and j.id is null));

-- name: astray
-- Whether a row points to one that is not there, or is another tenant's.
select exists (select from {stage} t where ({ours}) is not null and not exists (
    select from {other} o where ({others}) = ({ours}) and {whose} = {tenant}));

-- name: take
-- Puts them into the table.
insert into {table} ({columns}) overriding system value select {columns} from {stage};

-- name: take_shared
-- Adds the rows that are missing to a table that belongs to all tenants.
insert into {table} ({columns}) overriding system value select {columns} from {stage} on conflict do nothing;

-- name: take_pending
-- Puts events at the end of what is to be sequenced, in their order.
insert into ostinato_data.event_unsequenced (seq, event_id, type, tenant_id, ordering_key)
select nextval('ostinato_data.event_seq'), p.event_id, p.type, p.tenant_id, p.ordering_key
from (select * from {stage} order by loaded_in_order) p;

-- name: floor
-- A position that every subscription here has passed: what was dispatched there is not dispatched again here.
select least(coalesce((select q.position from (select position from ostinato_data.event_sequencer for update) q), 0),
             (select min(s.position) from ostinato_data.subscription s));

-- name: shift
-- Moves positions of the other installation's log below that.
update {stage} set {column} = {column} + {by};

-- name: pass_ids
-- Moves the sequences beyond the ids that came along. They advance in whole steps: cells differ by the remainder.
select setval(s.seq, s.last_value + greatest(0, ceil((m.top - s.last_value)::numeric / s.step))::bigint * s.step)
from (values ('ostinato_data.job_id_seq'::regclass), ('ostinato_data.audit_id_seq'),
             ('ostinato_data.schedule_id_seq'), ('ostinato_data.lease_token_seq'),
             ('ostinato_data.idempotency_token_seq')) q (seq)
join lateral (select q.seq, coalesce(pg_catalog.pg_sequence_last_value(q.seq), c.seqstart) as last_value,
                     c.seqincrement as step
              from pg_catalog.pg_sequence c where c.seqrelid = q.seq) s on true
cross join lateral (select case q.seq
    when 'ostinato_data.job_id_seq'::regclass then (select max(i.id %% 10000000000) from (
        select j.id from ostinato_data.job j where j.tenant_id = %(tenant)s
        union all select e.id from ostinato_data.event e where e.tenant_id = %(tenant)s
        union all select t.id from ostinato_data.transition t where t.tenant_id = %(tenant)s
        union all select a.id from ostinato_data.webhook_attempt a where a.tenant_id = %(tenant)s) i)
    when 'ostinato_data.audit_id_seq'::regclass
        then (select max(a.id %% 10000000000) from ostinato_data.audit_entry a where a.tenant_id = %(tenant)s)
    when 'ostinato_data.schedule_id_seq'::regclass
        then (select max(s.id) from ostinato_data.schedule s where s.tenant_id = %(tenant)s)
    when 'ostinato_data.lease_token_seq'::regclass
        then (select max(l.token) from ostinato_data.lease l where l.tenant_id = %(tenant)s)
    else (select max(k.token) from ostinato_data.idempotency k where k.tenant_id = %(tenant)s) end as top) m
where m.top > s.last_value;

-- name: identities
-- The columns that a sequence of their own numbers.
select n.nspname::text as schema, c.relname::text as name, a.attname::text as column
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where a.attidentity <> '' and n.nspname = any (%(schemas)s) and not c.relispartition;

-- name: pass_identity
-- As pass_ids, for one such column.
select setval(q.seq, q.last_value + ceil((m.top - q.last_value)::numeric / q.step)::bigint * q.step)
from (select c.seqrelid::regclass as seq, c.seqincrement as step,
             coalesce(pg_catalog.pg_sequence_last_value(c.seqrelid), c.seqstart) as last_value
      from pg_catalog.pg_sequence c
      where c.seqrelid = pg_catalog.pg_get_serial_sequence({name}, {text})::regclass) q
cross join (select max({column}) as top from {table}) m
where m.top > q.last_value;

-- name: arrive
-- The tenant is here from this transaction on, if this move still is.
select ostinato.arrive(%(tenant)s, %(move)s);

-- name: remove_rows
-- Removes the rows of the tenant, of a table that names it.
delete from {table} t where t.tenant_id = {tenant};

-- name: remove_of_jobs
-- Removes the rows of its jobs, of a table that names only those.
delete from {table} t where exists (
    select from ostinato_data.job j where j.id = t.job_id and j.tenant_id = {tenant});

-- name: remove_linked
-- Removes the rows that point to its rows in another table.
delete from {table} t where exists (
    select from {other} o where o.tenant_id = {tenant} and ({others}) = ({ours}));

-- name: make_secret
-- Draws the secret of the engine, if it has none yet.
select ostinato_internal.make_subject_secret() where not exists (select from ostinato_data.subject_secret);

-- name: read_secret
-- Reads the secret that keys the hashes of an installation.
copy {table} to stdout;

-- name: clear_secret
-- Makes room for that of another.
delete from {table};

-- name: write_secret
-- Takes it over.
copy {table} from stdin;

-- name: is_used
-- Whether anything was hashed or stored for a tenant yet.
select exists (select from ostinato_data.job) or exists (select from ostinato_data.event);

-- name: sequences
-- Every sequence whose numbers are ids of rows: those of the schemas, but the one that events queue by.
select n.nspname::text, c.relname::text, s.seqincrement::bigint,
       coalesce(pg_catalog.pg_sequence_last_value(c.oid), s.seqstart)::bigint, s.seqmin::bigint
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_sequence s on s.seqrelid = c.oid
where c.relkind = 'S' and n.nspname = any (%(schemas)s) and c.relname <> 'event_seq' order by 1, 2;

-- name: step
-- Lets a sequence draw every so manieth number, from one on.
alter sequence {sequence} increment by {step} start with {first} restart with {first};
