-- Erasure: everything that the engine keeps about a person is blanked, by the subject that jobs and events were given.
--
--   subject              whom the transaction's work is about: app.subject, unless a call says otherwise
--   subject_hash         the keyed hash of a subject, which is all that is stored
--   erase_subject        blanks jobs, outcomes, steps, dead letters, events, webhooks and stored answers; a certificate
--
-- What is enqueued or emitted for a subject carries it on: a handler's jobs and events, the jobs of subscriptions, and
-- webhooks have the subject of what they come from (base/flow.py). It travels as 'hmac:<hex>', so that no worker needs
-- to know the subject itself.
--
-- A hash is that of one tenant, and every look-up asks for the tenant of the erasure beside it: a tenant that has
-- read the hash of another's person, in a backup for example, reaches nothing with it. A tenant names people; a hash it
-- may only hand on, from a job of its own, and not erase by.
--
-- Jobs that still wait are cancelled, dead letters too; running ones are asked to stop, and are blanked by a later
-- call: the certificate says `complete` only when nothing is left. With `keep_live` jobs that wait or run are left
-- alone, and counted. It is safe to repeat: what was blanked has no subject any more, and is not retried or replayed.
--
-- Lock order: the locks of upkeep, which moves rows between partitions (a statement that waited for it would miss
-- them); the jobs by id, then their lanes, as retry_job. At most `most` jobs and events a call.
-- What may go wrong: a job keeps running (the call says so; repeat it); a handler writes after the erasure (it was
-- running, so its job still has its subject: repeat it); a row version stays on the disk until vacuum, and in backups.

-- Returns the subject of a call: the one given, else the transaction's app.subject, else none.
create function ostinato.subject(given text) returns text language sql stable as $$
    select coalesce(given, nullif(pg_catalog.current_setting('app.subject', true), ''))
$$;

-- Returns the hash of a subject of a tenant: 16 bytes of HMAC-SHA-256 with the installation's secret. One that is a
-- hash already, 'hmac:' and 32 hex digits, stays as it is: for a tenant only if a job of its own has it, as that of a
-- handler has which acts as the tenant of its job.
create function ostinato_internal.subject_hash(tenant_id text, subject text) returns bytea language plpgsql
security definer set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_secret subject_secret;
    v_hash   bytea;
begin
    if subject ~ '^hmac:[0-9a-f]{32}$' then
        v_hash := decode(right(subject, 32), 'hex');
        if ostinato.acting_tenant() is not null and not exists (
            select from job j where j.subject = v_hash and j.tenant_id = subject_hash.tenant_id) then
            perform ostinato_internal.refuse_hash();
        end if;
        return v_hash;
    elsif starts_with(subject, 'hmac:') and ostinato.acting_tenant() is not null then
        perform ostinato_internal.refuse_hash();
    end if;
    if length(subject) not between 1 and ostinato_internal.longest_text() then
        raise exception using errcode = 'OS400',
            message = format('a subject must be 1 to 1000 characters, got %s', length(subject)),
            detail = json_build_object('field', 'subject', 'length', length(subject)),
            hint = 'Name the person as your application does: an id, a number, an address.';
    end if;
    select * into v_secret from subject_secret;
    if not found then
        perform ostinato_internal.make_subject_secret();
        select * into v_secret from subject_secret;
    end if;
    v_hash := substring(sha256(v_secret.outer_pad || sha256(
        v_secret.inner_pad || convert_to(tenant_id || e'\x1f' || subject, 'UTF8'))) for 16);
    return v_hash;
end
$$;

-- Refuses a subject that a tenant gives as a hash. The text itself is not repeated: errors are logged.
create function ostinato_internal.refuse_hash() returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS400',
        message = 'a subject that begins with "hmac:" is a hash, and a tenant names the person',
        detail = json_build_object('field', 'subject', 'prefix', 'hmac:'),
        hint = 'Name the person as your application does: an id, a number, an address.';
end
$$;

-- Makes the installation's secret: 366 random bits, hashed to the key of an HMAC.
create function ostinato_internal.make_subject_secret() returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_key   constant bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
                                     || uuid_send(gen_random_uuid()));
    v_inner bytea := decode(repeat('36', 64), 'hex');
    v_outer bytea := decode(repeat('5c', 64), 'hex');
begin
    for i in 0 .. 31 loop
        v_inner := set_byte(v_inner, i, get_byte(v_key, i) # 54);
        v_outer := set_byte(v_outer, i, get_byte(v_key, i) # 92);
    end loop;
    insert into subject_secret (inner_pad, outer_pad) values (v_inner, v_outer) on conflict do nothing;
end
$$;

-- Returns a hash as it travels.
create function ostinato_internal.subject_token(hash bytea) returns text language sql immutable as $$
    select 'hmac:' || pg_catalog.encode($1, 'hex')
$$;

-- Notes a subject for the answer that the transaction stores under an idempotency key, and returns its hash.
create function ostinato_internal.note_subject(tenant_id text, subject text) returns bytea language plpgsql strict
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_hash  constant bytea := ostinato_internal.subject_hash(tenant_id, subject);
    v_noted constant text := coalesce(current_setting('ostinato.subjects', true), '');
begin
    if strpos(v_noted, encode(v_hash, 'hex')) = 0 and length(v_noted) < 33000 then  -- 1,000 of them
        perform set_config('ostinato.subjects', v_noted || ' ' || encode(v_hash, 'hex'), true);
    end if;
    return v_hash;
end
$$;

-- Notes the subjects of `count` rows at once, and returns the hash of each in their order; null if none has a subject.
-- The arrays hold one value for all or one for each, and what lacks one has `subject` and `tenant_id`. A note for each
-- row would copy and search all that was noted before.
create function ostinato_internal.note_subjects(
    tenant_ids text[], subjects text[], tenant_id text, subject text, count integer
) returns bytea[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_noted  bytea[];
    v_hashes bytea[];
begin
    if subject is null and coalesce(cardinality(subjects), 0) = 0 then
        return null;
    end if;
    with given as materialized (
        select n, coalesce(case when cardinality(tenant_ids) = 1 then tenant_ids[1] else tenant_ids[n] end,
                           note_subjects.tenant_id) as t,
               coalesce(case when cardinality(subjects) = 1 then subjects[1] else subjects[n] end,
                        note_subjects.subject) as s
        from generate_series(1, count) n
    ), hashed as materialized (
        select d.t, d.s, ostinato_internal.subject_hash(d.t, d.s) as hash
        from (select distinct g.t, g.s from given g where g.s is not null) d
    )
    select array_agg(h.hash order by g.n) into v_hashes from given g left join hashed h on h.t = g.t and h.s = g.s;
    v_noted := coalesce(ostinato_internal.noted_subjects(), '{}');
    perform set_config('ostinato.subjects', coalesce(current_setting('ostinato.subjects', true), '') || n.texts, true)
    from (select string_agg(' ' || encode(d.hash, 'hex'), '') as texts
          from (select distinct h as hash from unnest(v_hashes) h where h <> all (v_noted)
                limit greatest(0, 1000 - cardinality(v_noted))) d) n
    where n.texts is not null;
    return v_hashes;
end
$$;

-- Returns the subjects that the transaction noted; null for none.
create function ostinato_internal.noted_subjects() returns bytea[] language sql stable as $$
    select nullif(array(select decode(s, 'hex') from pg_catalog.regexp_split_to_table(
        pg_catalog.btrim(pg_catalog.current_setting('ostinato.subjects', true)), ' ') s where s <> ''), '{}')
$$;

-- Blanks everything about a subject of a tenant, and returns the certificate: what was erased where, how many, when and
-- by whom; no word of the person. `complete` is false while jobs run, wait with `keep_live`, or are more than `most`:
-- call it again. With `preview` it only counts.
create function ostinato.erase_subject(
    subject text, tenant_id text default null, preview boolean default false, keep_live boolean default false,
    most integer default 10000
) returns json language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_tenant constant text := ostinato.tenant(tenant_id);
    v_found  ostinato_data.erasure;
    v_proof  json;
begin
    if ostinato_internal.sees_all() then
        v_found := ostinato_internal.erase_subject(v_tenant, subject, preview, keep_live, most);
    else
        v_found := ostinato_internal.own_erase_subject(v_tenant, subject, preview, keep_live, most);
    end if;
    v_proof := json_build_object(
        'complete', v_found.complete, 'preview', preview, 'tenant_id', v_tenant, 'at', ostinato_internal.real_clock(),
        'by', ostinato_internal.actor(), 'erased', v_found.erased, 'cancelled', v_found.cancelled,
        'running', v_found.running, 'waiting', v_found.waiting);
    if not preview then
        perform ostinato_internal.record('erase', 'subject', tenant_id => v_tenant, job_ids => v_found.job_ids,
                                         count => v_found.total, detail => v_proof);
    end if;
    return v_proof;
end
$$;

-- Erases a subject of the tenant itself.
create function ostinato_internal.own_erase_subject(
    tenant_id text, subject text, preview boolean, keep_live boolean, most integer
) returns ostinato_data.erasure language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if tenant_id is distinct from ostinato_internal.own_tenant() or tenant_id = '' then
        raise exception using errcode = 'OS404', message = format('there is no tenant %L here', tenant_id),
            detail = json_build_object('tenant_id', tenant_id), hint = 'Leave the tenant out: it is your own.';
    end if;
    if starts_with(subject, 'hmac:') then
        perform ostinato_internal.refuse_hash();
    end if;
    return ostinato_internal.erase_subject(tenant_id, subject, preview, keep_live, most);
end
$$;

-- Finds what is about a subject, ends what waits, and blanks what has ended.
create function ostinato_internal.erase_subject(
    tenant_id text, subject text, preview boolean, keep_live boolean, most integer
) returns ostinato_data.erasure language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_hash   constant bytea := ostinato_internal.subject_hash(erase_subject.tenant_id, erase_subject.subject);
    v_most   constant integer := least(greatest(most, 1), ostinato_internal.place_cap());
    v_found  ostinato_data.erasure;
    v_states text[];
    v_ended  bigint[];
    v_events bigint[];
    v_dead   bigint;
begin
    if not preview then
        lock table only ostinato_data.job in share update exclusive mode;
        perform pg_advisory_xact_lock(hashtextextended('ostinato.upkeep_logs', 0));
    end if;
    v_found.job_ids := array(
        select j.id from job j where j.subject = v_hash and j.tenant_id = erase_subject.tenant_id
        order by j.id limit v_most + 1);
    v_events := array(
        select e.id from event e where e.subject = v_hash and e.tenant_id = erase_subject.tenant_id
        order by e.id limit v_most + 1);
    v_found.complete := greatest(cardinality(v_found.job_ids), cardinality(v_events)) <= v_most;
    v_found.job_ids := v_found.job_ids[1:v_most];
    v_events := v_events[1:v_most];
    if not preview then
        perform from job j where j.id = any (v_found.job_ids) order by j.id for update;
        perform ostinato_internal.lock_lanes(v_found.job_ids);
    end if;
    v_states := array(select coalesce(ostinato.job_state(i), 'nowhere')
                      from unnest(v_found.job_ids) with ordinality u (i, n) order by n);
    v_dead := cardinality(array_positions(v_states, 'dead'));
    v_found.cancelled := 0;
    if not preview then
        v_states := array(
            select case when u.state in ('done', 'cancelled', 'nowhere')
                          or (keep_live and u.state <> 'dead') then u.state
                   when ostinato_internal.cancel_job(u.id, 'erased') = 'running' then 'running' else 'ended' end
            from unnest(v_found.job_ids, v_states) with ordinality u (id, state, n) order by n);
        v_found.cancelled := cardinality(array_positions(v_states, 'ended'));
    end if;
    v_found.running := cardinality(array_positions(v_states, 'running'));
    v_found.waiting := (select count(*) from unnest(v_states) s where s in ('ready', 'scheduled', 'nowhere'));
    v_ended := array(select u.id from unnest(v_found.job_ids, v_states) u (id, state)
                     where u.state in ('done', 'cancelled', 'ended') or (preview and u.state = 'dead'));
    v_found.complete := v_found.complete and v_found.running = 0 and (preview or v_found.waiting = 0);
    v_found.erased := ostinato_internal.blank_subject(
        v_hash, erase_subject.tenant_id, case when preview then v_found.job_ids else v_ended end, v_events,
        array(select u.id from unnest(v_found.job_ids, v_states) u (id, state) where u.state = 'running'), preview);
    v_found.erased := jsonb_set(v_found.erased::jsonb, '{dead_letter}', to_jsonb(v_dead))::json;
    v_found.total := (select sum(c.value::bigint) from json_each_text(v_found.erased) c);
    if not preview then
        v_found.job_ids := v_ended;
    end if;
    return v_found;
end
$$;

-- Blanks the rows of jobs and events, of webhooks and of stored answers; or only counts them. Returns the count of each
-- table. The bodies of webhooks that a running job sends now stay until it has ended.
create function ostinato_internal.blank_subject(
    hash bytea, tenant_id text, jobs bigint[], events bigint[], running bigint[], preview boolean
) returns json language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now      constant timestamptz := ostinato_internal.real_clock();
    v_messages constant bigint[] := array(
        select m.id from webhook_message m
        where m.subject = blank_subject.hash and m.tenant_id = blank_subject.tenant_id and not exists (
            select from webhook_delivery d where d.message_id = m.id and d.job_id = any (running)));
    v_sent     constant bigint[] := array(select d.id from webhook_delivery d where d.message_id = any (v_messages));
    v_counts   json;
begin
    v_counts := json_build_object(
        'job', cardinality(jobs),
        'outcome', (select count(*) from outcome o where o.job_id = any (jobs)
                      and (o.result is not null or o.error ->> 'reason' is distinct from 'erased')
                      and num_nonnulls(o.result, o.error) > 0),
        'step', (select count(*) from step s where s.job_id = any (jobs) and s.result is not null),
        'event', cardinality(events), 'webhook_message', cardinality(v_messages),
        'webhook_attempt', (select count(*) from webhook_attempt a where a.delivery_id = any (v_sent)),
        'idempotency', (
            select count(*) from idempotency i
            where i.subjects @> array[blank_subject.hash] and i.tenant_id = blank_subject.tenant_id));
    if preview then
        return v_counts;
    end if;
    update job j set args = '{}', limit_key = null, unique_key = null, unique_states = null, subject = null,
        erased_at = v_now where j.id = any (jobs);
    update outcome o set result = null, error = case when o.error is not null then '{"reason": "erased"}'::json end
    where o.job_id = any (jobs) and num_nonnulls(o.result, o.error) > 0;
    update step s set result = null where s.job_id = any (jobs) and s.result is not null;
    delete from job_unique u where u.job_id = any (jobs);
    delete from job_progress p where p.job_id = any (jobs);
    delete from deferral d where d.job_id = any (jobs);
    delete from job_wait w where w.job_id = any (jobs);
    -- event_log before event, as upkeep_events.
    update event_log l set ordering_key = null where l.event_id = any (events) and l.ordering_key is not null;
    update event_unsequenced u set ordering_key = null where u.event_id = any (events);
    update event e set payload = '{}', ordering_key = null, subject = null, erased_at = v_now where e.id = any (events);
    update webhook_message m set body = '{}', subject = null where m.id = any (v_messages);
    update webhook_delivery d set last_error = null, ordering_key = null, settled_at = coalesce(d.settled_at, v_now),
        state = case when d.state in ('delivered', 'dead') then d.state else 'dead' end where d.id = any (v_sent);
    update webhook_attempt a set answer = null, error = null where a.delivery_id = any (v_sent);
    update idempotency i set
        resource = null, subjects = nullif(array_remove(i.subjects, blank_subject.hash), '{}'),
        answer = case when json_typeof(i.answer) = 'object' and i.answer ->> 'status' is not null
            then json_build_object('status', 410, 'headers', json_build_array(), 'body',
                '{"code":"erased","message":"The answer was erased with the person that it was about."}') end
    where i.subjects @> array[blank_subject.hash] and i.tenant_id = blank_subject.tenant_id;
    return v_counts;
end
$$;

-- Refuses to run a job again whose arguments were erased.
create function ostinato_internal.check_not_erased(job_id bigint) returns void language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if exists (select from job j where j.id = check_not_erased.job_id and j.erased_at is not null) then
        raise exception using errcode = 'OS412',
            message = format('job %s was erased with the person that it was about', job_id),
            detail = json_build_object('job_id', job_id, 'state', 'erased'),
            hint = 'Its arguments are gone. Enqueue a new job if it is still needed.';
    end if;
end
$$;

-- Returns what became of a job that was erased; no row for others.
create function ostinato_internal.why_erased(job_id bigint) returns setof ostinato_data.reason language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'erased', format('Job %s was erased at %s with the person that it was about: arguments, results and errors'
                            ' are blank.', $1, ostinato_internal.say_time(j.erased_at)),
           json_build_object('erased_at', j.erased_at), 'See who did it: ostinato audit --verb erase'
    from job j where j.id = $1 and j.erased_at is not null
$$;
