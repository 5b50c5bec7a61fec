-- The outbox: events emitted in the transaction in which they happened, and their order.
--
--   emit_event, emit_events   in the caller's transaction
--   sequence_events(most)     stamps what is committed with gap-free positions; null: another sequencer has the lock
--   list_events, show_event   what happened
--
-- Who gets the events is in subscriptions.sql.
--
-- Order. A writer takes the lock of (tenant, key) before it draws the event's seq, and holds it until its commit. So
-- a reader that sees an event of a key sees, or has seen, all of that key with a lower seq; the sequencer that holds
-- the row lock of event_sequencer turns what it sees into positions, in the order of seq. A second sequencer goes away;
-- a slow one cannot stamp late, because lock and stamps are one transaction. Positions become visible in order and
-- without gaps, so a cursor on them misses nothing, which a cursor on ids, or on transaction ids, would.
--
-- Lock order: lock of the key (emit; several in ascending order), event_sequencer, claim, subscription; of tables,
-- event_log before event, as upkeep_events does.
-- What may go wrong: a writer rolls back (no event, and no gap); a sequencer dies (its transaction with it); two
-- writers lock two keys crosswise (one is rolled back by PostgreSQL: emit in bulk).

-- Emits one event, in the caller's transaction, and returns its id. An envelope without tenant, correlation id, time or
-- producer is refused; tenant and correlation id default to the transaction's app.tenant_id and app.correlation_id.
create function ostinato.emit_event(
    type text, payload json default '{}', ordering_key text default null, version integer default 1,
        tenant_id text default null,
    correlation_id text default null, occurred_at timestamptz default null, producer text default null,
    subject text default null
) returns bigint language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.emit_events(
        array[$1], array[$2::text], array[$3], array[$4], array[$5], array[$6], array[$7], array[$8],
        subjects => array[$9])
$$;

-- Emits many events in one statement and returns their ids in order. Arrays are null (the default for all), hold one
-- value (the same for all) or one value per event. With `as_of_now`, what has no time happened now.
create function ostinato.emit_events(
    types text[], payloads text[], ordering_keys text[] default null, versions integer[] default null,
    tenant_ids text[] default null, correlation_ids text[] default null, occurred_ats timestamptz[] default null,
    producers text[] default null, as_of_now boolean default false, subjects text[] default null
) returns setof bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant      constant text := nullif(current_setting('app.tenant_id', true), '');
    v_correlation constant text := nullif(current_setting('app.correlation_id', true), '');
    v_subject     constant text := ostinato.subject(null);
    v_tenants     text[];
    v_now         timestamptz;
    v_base        bigint;
begin
    if cardinality(payloads) = 0 then
        return;
    elsif not ostinato_internal.sees_all() then
        return query select ostinato_internal.own_emit_events(types, payloads, ordering_keys, versions, tenant_ids,
            correlation_ids, occurred_ats, producers, as_of_now, subjects);
        return;
    end if;
    perform ostinato_internal.check_lengths(cardinality(payloads), cardinality(types), cardinality(ordering_keys),
        cardinality(versions), cardinality(tenant_ids), cardinality(correlation_ids), cardinality(occurred_ats),
        cardinality(producers), cardinality(subjects));
    v_tenants := coalesce(nullif(tenant_ids, '{}'), array[v_tenant]);
    correlation_ids := coalesce(nullif(correlation_ids, '{}'), array[v_correlation]);
    if v_tenant is not null and array_position(v_tenants, null) is not null then
        v_tenants := array_replace(v_tenants, null, v_tenant);
    end if;
    if v_correlation is not null and array_position(correlation_ids, null) is not null then
        correlation_ids := array_replace(correlation_ids, null, v_correlation);
    end if;
    if as_of_now then
        occurred_ats := array_replace(coalesce(nullif(occurred_ats, '{}'), '{null}'), null, ostinato.now());
    end if;
    perform ostinato_internal.check_here(v_tenants), ostinato_internal.check_events(types, payloads, ordering_keys,
        versions, v_tenants, correlation_ids, occurred_ats, producers);
    perform ostinato_internal.lock_keys(v_tenants, ordering_keys, cardinality(payloads));
    -- So that a transaction has its number before it has a seq: sequence_events reckons with it.
    perform pg_current_xact_id();
    v_now := ostinato.now();
    v_base := ostinato_internal.first_id(v_now);
    return query
    with given as materialized (
        select g.n, g.payload::json as payload, nextval('event_seq') as seq, v_base + nextval('job_id_seq') as id,
               case when cardinality(types) = 1 then types[1] else types[n] end as type,
               case when cardinality(ordering_keys) = 1 then ordering_keys[1] else ordering_keys[n] end as ordering_key,
               coalesce(case when cardinality(versions) = 1 then versions[1] else versions[n] end, 1) as version,
               case when cardinality(v_tenants) = 1 then v_tenants[1] else v_tenants[n] end as tenant_id,
               ostinato_internal.pick(correlation_ids, n) as correlation_id,
               case when cardinality(occurred_ats) = 1 then occurred_ats[1] else occurred_ats[n] end as occurred_at,
               case when cardinality(producers) = 1 then producers[1] else producers[n] end as producer, g.subject
        from unnest(payloads, ostinato_internal.note_subjects(
            v_tenants, subjects, v_tenant, v_subject, cardinality(payloads))) with ordinality g (payload, subject, n)
    ), emitted as (
        insert into event (id, occurred_at, emitted_at, version, type, tenant_id, correlation_id, producer,
            ordering_key, payload, subject)
        select g.id, g.occurred_at, v_now, g.version, g.type, g.tenant_id, g.correlation_id, g.producer, g.ordering_key,
            g.payload, g.subject from given g
    ), noted as (
        insert into event_unsequenced (seq, event_id, type, tenant_id, ordering_key)
        select g.seq, g.id, g.type, g.tenant_id, g.ordering_key from given g
    )
    select g.id from given g order by g.n;
end
$$;

-- Emits events of the tenant, who may write neither of the tables: a row there names an event by an id that no tenant
-- may choose.
create function ostinato_internal.own_emit_events(
    types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[],
    occurred_ats timestamptz[], producers text[], as_of_now boolean, subjects text[]
) returns setof bigint language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_own_rows(tenant_ids);
    return query select e from ostinato.emit_events(
        types, payloads, ordering_keys, versions, tenant_ids, correlation_ids, occurred_ats, producers, as_of_now,
        subjects) e;
end
$$;

-- Refuses events that lack a part of the envelope, hold what cannot be stored, or are not as their type was registered.
-- One look finds whether anything is wrong; what it is, is only found out then.
create function ostinato_internal.check_events(
    types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[],
        correlation_ids text[], occurred_ats timestamptz[],
    producers text[]
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_bad record;
begin
    if cardinality(types) > 0 and cardinality(tenant_ids) > 0 and cardinality(correlation_ids) > 0
        and cardinality(producers) > 0 and cardinality(occurred_ats) > 0
       and not exists (select from unnest(types || tenant_ids || correlation_ids || producers) v where v is null
           or length(v) not between 1 and ostinato_internal.longest_name())
       and not exists (select from unnest(ordering_keys) k
           where length(k) not between 1 and ostinato_internal.longest_name())
       and not exists (select from unnest(versions) v where v < 1)
       and not exists (select from unnest(occurred_ats) o where o is null or not isfinite(o))
       and not exists (select from unnest(payloads) p where ostinato_internal.is_odd_payload(p))
       and not exists (
           with known as materialized (
               select t.name, t.version, array(select json_array_elements_text(
                   case when json_typeof(t.payload_schema -> 'required') = 'array' then t.payload_schema -> 'required'
                       else '[]' end)) as required
               from event_type t where t.name = any (types))
           select from unnest(payloads) with ordinality p (text, n)
           where exists (select from known k where k.name = ostinato_internal.pick(types, n)) and not exists (
               select from known k where k.name = ostinato_internal.pick(types, n)
                   and k.version = coalesce(ostinato_internal.pick(versions, n), 1)
                 and (k.required = '{}' or p.text::jsonb ?& k.required))) then
        return;
    end if;
    select e.* into v_bad from (values ('type', types), ('tenant_id', tenant_ids), ('correlation_id',
        correlation_ids), ('producer', producers)) f (field, given)
    cross join lateral (select f.field, v.value from unnest(coalesce(nullif(f.given, '{}'),
        array[null::text])) v (value)
                        where v.value is null or length(v.value) not between 1 and ostinato_internal.longest_name()
                        limit 1) e limit 1;
    if found then
        perform ostinato_internal.refuse_event(types[1], v_bad.field, coalesce(v_bad.value, 'null'));
    end if;
    if coalesce(cardinality(occurred_ats), 0) = 0 or exists (select from unnest(occurred_ats) o where o is null
        or not isfinite(o)) then
        perform ostinato_internal.refuse_event(types[1], 'occurred_at',
                                               coalesce((select o::text from unnest(occurred_ats) o
            where not isfinite(o) limit 1), 'null'));
    end if;
    if exists (select from unnest(versions) v where v < 1) then
        perform ostinato_internal.refuse_event(types[1], 'version', (select min(v)::text from unnest(versions) v));
    end if;
    perform ostinato_internal.check_name('ordering_key', k) from unnest(ordering_keys) k
        where length(k) not between 1 and ostinato_internal.longest_name();
    perform ostinato_internal.check_payload(ostinato_internal.pick(types, n), p.text)
        from unnest(payloads) with ordinality p (text, n)
    where ostinato_internal.is_odd_payload(p.text);
    perform ostinato_internal.check_registered(ostinato_internal.pick(types, n),
                                               coalesce(ostinato_internal.pick(versions, n), 1), p.text)
    from unnest(payloads) with ordinality p (text, n);
end
$$;

-- Returns whether a payload has to be looked at closely: most are found to be right at a glance.
create function ostinato_internal.is_odd_payload(payload text) returns boolean
language sql immutable parallel safe as $$
    select payload is null or octet_length(payload) > ostinato_internal.most_bytes()
        or left(ltrim(payload, e' \t\r\n'), 1) <> '{'
        or strpos(payload, '\u0000') > 0 or strpos(lower(payload), '\ud') > 0 or ostinato_internal.is_deep(payload)
$$;

-- Says which part of an event's envelope is missing or unusable.
create function ostinato_internal.refuse_event(type text, field text, value text) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS400',
        message = format('event %s cannot be emitted: its %s is %s', coalesce(type, '(without a type)'), field,
            left(value, 100)),
        detail = json_build_object('type', type, 'field', field, 'value', left(value, 100)),
        hint = 'Every event has type, tenant_id, correlation_id and producer (1 to 200 characters), occurred_at'
               ' (a time) and a version from 1.';
end
$$;

-- Refuses a payload that could not be read back: not an object, too large, or holding what PostgreSQL cannot hold as
-- text.
create function ostinato_internal.check_payload(type text, payload text) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_limit constant integer := ostinato_internal.most_bytes();
begin
    if octet_length(payload) > v_limit then
        raise exception using errcode = 'OS400',
            message = format('the payload of event %s is %s bytes, the limit is %s', type, octet_length(payload),
                v_limit),
            detail = json_build_object('type', type, 'bytes', octet_length(payload), 'limit', v_limit),
            hint = 'Store the data in a table or a file and emit its key.';
    end if;
    if payload is null or json_typeof(payload::json) <> 'object' then
        raise exception using errcode = 'OS400',
            message = format('the payload of event %s must be a JSON object, got %s', type,
                coalesce(json_typeof(payload::json), 'null')),
            detail = json_build_object('type', type, 'got', json_typeof(payload::json)),
                hint = 'Name the values, such as {"invoice_id": 7}.';
    end if;
    perform payload::jsonb;
exception
    when untranslatable_character or invalid_text_representation or statement_too_complex then
        raise exception using errcode = 'OS400',
            message = format('the payload of event %s is not valid JSON text: %s', type, sqlerrm),
            detail = json_build_object('type', type),
            hint = 'Remove NUL characters (\u0000) and unpaired surrogates, nest it less, and check the syntax.';
end
$$;

-- Refuses an event whose type is registered, but not in this version, or whose payload lacks what its schema requires.
create function ostinato_internal.check_registered(type text, version integer, payload text) returns void
language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_known   constant integer[] := array(select t.version from event_type t where t.name = check_registered.type
        order by 1);
    v_missing text[];
begin
    if v_known <> '{}' and not check_registered.version = any (v_known) then
        raise exception using errcode = 'OS400', message = format('event %s has no version %s', type,
            check_registered.version),
            detail = json_build_object('type', type, 'version', check_registered.version, 'known', v_known),
            hint = format('It was registered in version %s: declare the new version, then emit it.',
                array_to_string(v_known, ', '));
    end if;
    select array_agg(r.field) into v_missing
    from event_type t cross join json_array_elements_text(
        case when json_typeof(t.payload_schema -> 'required') = 'array' then t.payload_schema -> 'required'
             else '[]' end) r (field)
    where t.name = check_registered.type and t.version = check_registered.version
        and check_registered.payload::json -> r.field is null;
    if v_missing is not null then
        raise exception using errcode = 'OS400', message = format('the payload of event %s lacks %s', type,
            array_to_string(v_missing, ', ')),
            detail = json_build_object('type', type, 'version', check_registered.version, 'missing', v_missing),
            hint = 'Give the payload every field that its type requires.';
    end if;
end
$$;

-- Takes the locks of the keys of some events, until the end of the transaction, in one order for all writers. Each is a
-- place in PostgreSQL's lock table, so one call takes 1,000 at the most.
create function ostinato_internal.lock_keys(tenant_ids text[], ordering_keys text[], count integer) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_locks bigint[];
begin
    if coalesce(cardinality(ordering_keys), 0) = 0 then
        return;
    elsif count = 1 then
        perform pg_advisory_xact_lock(hashtextextended(e'ostinato.event\x1f' || ostinato_internal.lane(tenant_ids[1],
            ordering_keys[1]), 0)) where ordering_keys[1] is not null;
        return;
    end if;
    v_locks := array(
        select distinct hashtextextended(e'ostinato.event\x1f'
                                         || ostinato_internal.lane(ostinato_internal.pick(tenant_ids, n),
            ostinato_internal.pick(ordering_keys, n)), 0) as k
        from generate_series(1, count) n where ostinato_internal.pick(ordering_keys, n) is not null order by k);
    if cardinality(v_locks) > ostinato_internal.most_streams() then
        raise exception using errcode = 'OS400',
            message = format('events of %s keys in one call, the limit is %s', cardinality(v_locks),
                             ostinato_internal.most_streams()),
            detail = json_build_object('keys', cardinality(v_locks), 'limit', ostinato_internal.most_streams()),
            hint = 'Emit them in several transactions; events without a key, or of the same key, are not limited.';
    end if;
    perform pg_advisory_xact_lock(k) from unnest(v_locks) k;
end
$$;

-- Returns the lane of an event: what it is in order with. Null without a key.
create function ostinato_internal.lane(tenant_id text, ordering_key text) returns text
language sql immutable parallel safe as $$
    select tenant_id || e'\x1f' || ordering_key
$$;

-- Declares types of events, so that callers in plain SQL are held to them. Schemas are JSON schemas of the payloads, or
-- null.
create function ostinato.register_event_types(names text[], versions integer[],
    schemas text[]) returns void language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    insert into event_type (name, version, payload_schema, registered_at)
    select t.name, t.version, t.schema::json, ostinato.now() from unnest(names, versions, schemas) t (name, version,
        schema)
    order by t.name, t.version
    on conflict (name, version) do update set payload_schema = excluded.payload_schema,
        registered_at = excluded.registered_at
$$;

-- Gives what is committed its positions, in the order in which it was drawn, at most `most` at a time, and ends the
-- waits of jobs for it. `stamped` is how many events got theirs; null: another sequencer has the lock, and what it
-- does not see is for the next call. `queues` have jobs to run now, and are to be rung after the commit.
create function ostinato.sequence_events(most integer default 5000, out stamped integer, out queues text[])
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_row   event_sequencer;
    v_now   timestamptz;
    v_top   bigint;
    v_taken bigint;
    v_ended boolean;
    v_ids   bigint[];
begin
    select 0, '{}' into stamped, queues;
    if not ostinato_internal.has_unsequenced() then
        return;
    end if;
    -- Read before this transaction has a number: every seq up to here was drawn by a transaction with a lower one.
    if pg_current_xact_id_if_assigned() is null then
        select case when q.is_called then q.last_value else 0 end into v_top from event_seq q;
    end if;
    select * into v_row from event_sequencer for update skip locked;
    if not found then
        -- The first one makes the row; who comes at the same time goes away.
        if exists (select from event_sequencer)
            or not pg_try_advisory_xact_lock(hashtextextended('ostinato.event_sequencer', 0)) then
            stamped := null;
            return;
        end if;
        insert into event_sequencer (position, safe_seq, pending_seq, pending_xid)
        values (coalesce((select max(l.position) from event_log l), 0), 0, 0, '0') on conflict do nothing;
        select * into v_row from event_sequencer for update;
    end if;
    v_ended := v_row.pending_xid <= pg_snapshot_xmin(pg_current_snapshot());
    v_now := ostinato.now();
    with taken as materialized (
        delete from event_unsequenced u where u.ctid = any (array(
            select n.ctid from event_unsequenced n where n.seq > v_row.safe_seq order by n.seq limit most))
        returning u.*
    ), stamped as (
        insert into event_log (event_id, position, sequenced_at, type, tenant_id, ordering_key)
        select t.event_id, v_row.position + row_number() over (order by t.seq), v_now, t.type, t.tenant_id,
            t.ordering_key from taken t returning event_id
    )
    select (select array_agg(s.event_id) from stamped s), (select max(t.seq) from taken t) into v_ids, v_taken;
    stamped := coalesce(cardinality(v_ids), 0);
    -- Where to look from the next time, only to be fast: under an old snapshot the rows that were stamped long ago
    -- cannot be vacuumed, and a look from the start would step over all of them. Safe is what was drawn by transactions
    -- that had ended before we looked, as far as we took it. A number from the future is from before a restore.
    if v_ended then
        v_row.safe_seq := case when stamped < most then v_row.pending_seq else least(v_row.pending_seq,
            greatest(v_taken, v_row.safe_seq)) end;
    end if;
    if v_top is not null and (v_row.safe_seq = v_row.pending_seq or v_row.pending_xid > pg_current_xact_id()) then
        v_row.pending_seq := v_top;
        v_row.pending_xid := pg_current_xact_id();
    end if;
    update event_sequencer set position = v_row.position + stamped, safe_seq = v_row.safe_seq,
        pending_seq = v_row.pending_seq, pending_xid = v_row.pending_xid;
    if stamped > 0 then
        queues := array(select ostinato_internal.resolve_waits(v_ids));
    end if;
end
$$;

-- Returns whether an event waits for its position.
create function ostinato_internal.has_unsequenced() returns boolean language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select exists (select from event_unsequenced u where u.seq > coalesce((select s.safe_seq from event_sequencer s),
        0))
$$;

-- Returns the position of the newest event that has one.
create function ostinato.last_position() returns bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select coalesce((select s.position from event_sequencer s), 0)
$$;

-- Returns the position before the first event that got its own at or after a time. Every event emitted since then is
-- behind it.
create function ostinato_internal.position_at(at timestamptz) returns bigint language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_low  bigint := coalesce((select min(l.position) from event_log l), ostinato.last_position() + 1);
    v_high bigint := ostinato.last_position() + 1;
    v_mid  bigint;
    v_time timestamptz;
begin
    -- Positions have no gaps and grow with time, so a few probes find it.
    while v_low < v_high loop
        v_mid := (v_low + v_high) / 2;
        select l.sequenced_at into v_time from event_log l where l.position >= v_mid order by l.position limit 1;
        if v_time >= position_at.at then
            v_high := v_mid;
        else
            v_low := v_mid + 1;
        end if;
    end loop;
    return v_low - 1;
end
$$;

-- Events, newest first; `before` is the id of the last one seen. A tenant sees its own.
create function ostinato.list_events(
    type text default null, ordering_key text default null, tenant_id text default null,
        correlation_id text default null,
    before bigint default null, most integer default 50
) returns table (
    id bigint, "position" bigint, type text, version integer, tenant_id text, correlation_id text,
        occurred_at timestamptz,
    emitted_at timestamptz, producer text, ordering_key text
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
    select e.id, l.position, e.type, e.version, e.tenant_id, e.correlation_id, e.occurred_at, e.emitted_at,
        e.producer, e.ordering_key
    from event_log l right join event e on e.id = l.event_id
    where ($1 is null or e.type = $1) and ($2 is null or e.ordering_key = $2) and ($3 is null or e.tenant_id = $3)
      and ($4 is null or e.correlation_id = $4) and ($5 is null or e.id < $5)
    order by e.id desc limit $6
$$;

-- Returns everything about one event. No row: there is none, or it belongs to another tenant.
create function ostinato.show_event(event_id bigint) returns table (
    id bigint, "position" bigint, type text, version integer, tenant_id text, correlation_id text,
        occurred_at timestamptz,
    emitted_at timestamptz, producer text, ordering_key text, payload json
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select e.id, l.position, e.type, e.version, e.tenant_id, e.correlation_id, e.occurred_at, e.emitted_at,
        e.producer, e.ordering_key, e.payload
    from event_log l right join event e on e.id = l.event_id where e.id = $1
$$;

-- Keeps the partitions of events as logs are kept (logs.sql): a week goes when it is past retention and every
-- subscription that is not paused has been given all of it: the jobs hold their events themselves. A paused one keeps
-- nothing: what it misses is gone when it resumes.
create function ostinato_internal.upkeep_events(cutoff timestamptz, weeks_ahead integer default 4)
returns table (action text, name text, reason text, rows bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_keep bigint := ostinato_internal.needed_event(cutoff);
begin
    -- The log first: it may go without its events, but they not without it.
    return query select * from ostinato_internal.upkeep_log('event_log', 'event_id', cutoff, v_keep, weeks_ahead);
    v_keep := least(v_keep, (select ostinato_internal.week_id(min(w)) from ostinato_internal.log_weeks('event_log') w));
    return query select * from ostinato_internal.upkeep_log('event', 'id', cutoff, v_keep, weeks_ahead);
end
$$;

-- Returns the first id of the oldest week before a time in which an event is not sequenced, or not given to a
-- subscription that is not paused; null: there is none.
create function ostinato_internal.needed_event(cutoff timestamptz) returns bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select least(
        (select ostinato_internal.week_id(min(w)) from ostinato_internal.log_weeks('event_log') w
         where ostinato_internal.week_id(w + 1) <= ostinato_internal.first_id($1) and exists (
             select from event_log l where l.event_id >= ostinato_internal.week_id(w)
               and l.event_id < ostinato_internal.week_id(w + 1)
             and l.position > (select min(s.position) from subscription s where not s.paused))),
        (select min(u.event_id) from event_unsequenced u))
$$;
