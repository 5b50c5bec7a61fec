-- Idempotency: the same request twice has one effect and one answer; a different request under the same key is a
-- conflict.
--
--   begin_idempotent   asks for a key, and answers: new (do it), replay (here is the answer), in_flight (another caller
--                      does it), or conflict (the key belongs to another request; these fields differ)
--   renew_idempotent   says that the work goes on
--   finish_idempotent  stores the answer; refused (OS410) when the key was taken over
--   abandon_idempotent frees the key, or leaves it to the next one who asks the same
--
-- Two ways to use them. All in one transaction: begin, the effect and finish commit together; another caller meanwhile
-- waits for the commit and gets the answer. Or in two: begin is committed, the work is done outside, finish comes
-- later; another caller meanwhile gets `in_flight`, and after the lease takes over with attempt + 1 and a new token.
--
-- What keeps two apart is the primary key (tenant, scope, key). The advisory lock before it is only a queue: a
-- caller that waited there reads afterwards, with a snapshot that holds what the first one committed. That needs READ
-- COMMITTED, and is refused in any other isolation, where the snapshot is older than the wait.
-- Lock order: the key's advisory lock, its row, then what the caller does. A transaction that needs several keys takes
-- them in ascending order.
--
-- What may go wrong: the holder dies (its lease expires; the next one takes over, attempt + 1), comes late (its token
-- is refused), or the commit of a finish is in doubt (finishing again with the same token is no error, and the first
-- answer stays). A jump of the clock or an outage expires no lease (see ostinato_internal.is_lapsed)
-- and no answer (see ostinato_internal.keep_answer).

-- Begins the request `key` of a scope, or says why not: a line with the decision new, replay, in_flight or conflict.
-- `fingerprint` is the SHA-256 of what makes the request the same, `fields` the SHA-256 of each of its parts, by name,
-- and `declaration` names the rule by which they were made: under another rule only the parts that both know are
-- compared.
-- `wait`: for a transaction that has the key and is not committed; else in_flight, without saying whose.
create function ostinato.begin_idempotent(
    scope text, key text, fingerprint text, fields json default '{}', declaration text default '',
    holder text default null, lease_seconds double precision default 60, ttl_seconds double precision default 86400,
    tenant_id text default null, wait boolean default true,
    out decision text, out token bigint, out attempt integer, out held_by text, out since timestamptz,
    out until timestamptz, out answer json, out resource text, out finished_at timestamptz, out expires_at timestamptz,
    out differing text[], out declaration_changed boolean
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(begin_idempotent.tenant_id);
    v_lock   constant bigint := ostinato.key_lock(v_tenant, scope, key);
    v_new    idempotency;
    v_old    idempotency;
    v_now    timestamptz;
    v_locked boolean := false;
begin
    perform ostinato_internal.check_idempotent(v_tenant, scope, key, fingerprint, fields, declaration, lease_seconds,
                                               ttl_seconds);
    v_new := ostinato_internal.sealed_request(v_tenant, scope, key, fingerprint, fields, declaration,
                                              coalesce(holder, nullif(current_setting('application_name'), ''),
                                                       'unknown'),
                                              lease_seconds, ttl_seconds);
    for v_try in 0 .. ostinato_internal.most_tries() loop
        if v_try = ostinato_internal.most_tries() then  -- cannot be, and must not go on for ever
            raise exception using errcode = '40001',
                message = format('key %L of scope %L keeps changing hands', key, scope), hint = 'Call again.';
        end if;
        v_now := ostinato.now();
        select i.* into v_old from idempotency i
        where (i.tenant_id, i.scope, i.key) = (v_tenant, begin_idempotent.scope, begin_idempotent.key);
        -- Answers stand still: no lock is needed to read one.
        exit when v_old.state = 'done' and v_old.expires_at > v_now;
        if not v_locked then
            if not wait and not pg_try_advisory_xact_lock(v_lock) then
                decision := 'in_flight';
                return;
            end if;
            perform pg_advisory_xact_lock(v_lock);
            v_locked := true;
            continue;
        end if;
        continue when ostinato_internal.keep_answer(v_old);
        exit when (v_old.expires_at > v_now and ostinato_internal.differing_fields(v_old, v_new) is not null)
            or (v_old.state = 'in_flight' and not ostinato_internal.may_take_over(v_old));
        v_new := ostinato_internal.take_key(v_old, v_new);
        exit when v_new.token is not null;
    end loop;
    declaration_changed := v_old.declaration <> v_new.declaration;
    if v_new.token is not null then
        decision := 'new';
        token := v_new.token;
        v_old := v_new;
    else
        differing := ostinato_internal.differing_fields(v_old, v_new);
        decision := case when differing is not null then 'conflict' when v_old.state = 'done' then 'replay'
            else 'in_flight' end;
    end if;
    attempt := v_old.attempt;
    held_by := v_old.holder;
    since := v_old.started_at;
    until := case when v_old.state = 'in_flight' then v_old.renewed_at + make_interval(secs => v_old.lease_seconds) end;
    finished_at := v_old.finished_at;
    expires_at := v_old.expires_at;
    answer := case when decision = 'replay' then v_old.answer end;
    resource := case when decision = 'replay' then v_old.resource end;
end
$$;

-- Returns the number of the advisory lock of a key. An application whose own table is the record of its requests takes
-- the same lock for them, with pg_advisory_xact_lock, before it looks.
create function ostinato.key_lock(tenant_id text, scope text, key text) returns bigint language sql stable as $$
    select hashtextextended(concat_ws(e'\x1f', 'ostinato.idempotency', $1, $2, $3), 0)
$$;

-- Refuses values that make no key, and isolation levels in which a request that has waited for the first one would not
-- see its answer.
create function ostinato_internal.check_idempotent(
    tenant_id text, scope text, key text, fingerprint text, fields json, declaration text,
    lease_seconds double precision, ttl_seconds double precision
) returns void language plpgsql as $$
begin
    if pg_catalog.current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception using errcode = 'OS400',
            message = format('idempotency does not work in isolation level %s',
                             pg_catalog.current_setting('transaction_isolation')),
            detail = json_build_object('isolation', pg_catalog.current_setting('transaction_isolation')),
            hint = 'Begin it in a READ COMMITTED transaction: in others, what the first request did cannot be seen '
                   'after waiting for it.';
    end if;
    perform ostinato_internal.check_name('tenant_id', tenant_id), ostinato_internal.check_name('scope', scope),
            ostinato_internal.check_name('key', key);
    if fingerprint is null or fingerprint !~ '^[0-9a-f]{64}$' or declaration is null
       or length(declaration) > ostinato_internal.longest_name() then
        raise exception using errcode = 'OS400',
            message = format('%L is no fingerprint, or the declaration is longer than %s characters',
                             left(fingerprint, 80), ostinato_internal.longest_name()),
            detail = json_build_object('fingerprint', left(fingerprint, 80), 'declaration', left(declaration, 80)),
            hint = 'A fingerprint is a SHA-256 in 64 lower-case hexadecimal digits.';
    end if;
    if fields is null or json_typeof(fields) <> 'object'
       or octet_length(fields::text) > ostinato_internal.most_field_bytes() then
        raise exception using errcode = 'OS400',
            message = format('the hashes of the fields are no JSON object of at most %s bytes',
                             ostinato_internal.most_field_bytes()),
            detail = json_build_object('bytes', octet_length(fields::text)),
            hint = 'Pass {"field": "SHA-256 of its value", …}.';
    end if;
    if coalesce(lease_seconds, 0) not between 0.001 and 86400
       or coalesce(ttl_seconds, 0) not between 1 and 31622400 then
        raise exception using errcode = 'OS400',
            message = format('a lease of %s s and a time to live of %s s', coalesce(lease_seconds::text, 'null'),
                             coalesce(ttl_seconds::text, 'null')),
            detail = json_build_object('lease_seconds', lease_seconds::text, 'ttl_seconds', ttl_seconds::text),
            hint = 'Choose a lease of 0.001 s to a day, and keep answers for 1 s to 366 days.';
    end if;
end
$$;

-- Returns a hash as it is stored: with the key it belongs to, so that equal values under two keys have nothing in
-- common.
create function ostinato_internal.seal(tenant_id text, scope text, key text, value text) returns text
language sql immutable as $$
    select encode(sha256(convert_to(concat_ws(e'\x1f', $1, $2, $3, $4), 'UTF8')), 'hex')
$$;

-- Returns a request as a row, not stored yet.
create function ostinato_internal.sealed_request(
    tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, holder text,
    lease_seconds double precision, ttl_seconds double precision
) returns ostinato_data.idempotency language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_row idempotency;
begin
    v_row.tenant_id := tenant_id;
    v_row.scope := scope;
    v_row.key := key;
    v_row.attempt := 1;
    v_row.state := 'in_flight';
    v_row.holder := left(holder, ostinato_internal.longest_name());
    v_row.lease_seconds := lease_seconds;
    v_row.ttl_seconds := ttl_seconds;
    v_row.declaration := declaration;
    v_row.fingerprint := ostinato_internal.seal(tenant_id, scope, key, fingerprint);
    v_row.fields := (select coalesce(json_object_agg(f.name,
                                                     left(ostinato_internal.seal(tenant_id, scope, key, f.hash), 32)
                                                     order by f.name), '{}')
                     from json_each_text(fields) f (name, hash));
    return v_row;
end
$$;

-- Returns the fields in which a request differs from the one that has the key; null when it is the same one. Empty:
-- they differ in a way that no field shows. Under another declaration fingerprints say nothing, and the fields that
-- both know decide.
create function ostinato_internal.differing_fields(held ostinato_data.idempotency, asked ostinato_data.idempotency)
returns text[] language sql immutable as $$
    select case
        when held.declaration = asked.declaration and held.fingerprint = asked.fingerprint then null
        when held.declaration = asked.declaration then array(
            select coalesce(o.key, n.key) from json_each_text(held.fields) o full join json_each_text(asked.fields) n
              on n.key = o.key
            where n.value is distinct from o.value order by 1)
        else (select case when count(*) = 0 then '{}'
              else array_agg(o.key order by o.key) filter (where n.value <> o.value) end
              from json_each_text(held.fields) o join json_each_text(asked.fields) n on n.key = o.key)
    end
$$;

-- Returns whether the next one who asks the same may have a key that is not answered. If its holder is late only, that
-- is noted: see ostinato.is_lapsed.
create function ostinato_internal.may_take_over(held ostinato_data.idempotency) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    if held.state = 'abandoned'
       or ostinato_internal.is_lapsed(held.renewed_at, held.lease_seconds, held.doubted_at, v_now) then
        return true;
    end if;
    if ostinato_internal.is_new_doubt(held.renewed_at, held.lease_seconds, held.doubted_at, v_now) then
        update idempotency i set doubted_at = v_now
        where (i.tenant_id, i.scope, i.key, i.token) = (held.tenant_id, held.scope, held.key, held.token)
          and i.renewed_at = held.renewed_at;
    end if;
    return false;
end
$$;

-- Keeps an answer whose time is up only because the database was away or its clock jumped (ostinato_internal.in_grace):
-- it stays for one more time to live, once. True: it was kept. Without that, a clock two days ahead lets every key take
-- effect again.
create function ostinato_internal.keep_answer(held ostinato_data.idempotency) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    if held.state is distinct from 'done' or held.expires_at > v_now or held.doubted_at is not null
       or not ostinato_internal.in_grace(held.ttl_seconds) then
        return false;
    end if;
    update idempotency i set expires_at = v_now + make_interval(secs => i.ttl_seconds), doubted_at = v_now
    where (i.tenant_id, i.scope, i.key, i.token) = (held.tenant_id, held.scope, held.key, held.token)
      and i.state = 'done';
    return found;
end
$$;

-- Takes a key that is free, or that may be taken over, and returns its row. A row without a token: somebody was faster,
-- so look again. One that has expired is begun anew; one that was left is gone on with, attempt + 1.
create function ostinato_internal.take_key(held ostinato_data.idempotency, asked ostinato_data.idempotency)
returns ostinato_data.idempotency
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    asked.token := nextval('idempotency_token_seq');
    asked.started_at := v_now;
    asked.renewed_at := v_now;
    asked.expires_at := v_now + make_interval(secs => greatest(asked.ttl_seconds, asked.lease_seconds));
    asked.attempt := case when held.expires_at > v_now then held.attempt + 1 else 1 end;
    if held.key is null then
        insert into idempotency select asked.* on conflict do nothing;
    else
        update idempotency i set
            token = asked.token, attempt = asked.attempt, state = asked.state, holder = asked.holder,
            started_at = asked.started_at, renewed_at = asked.renewed_at, lease_seconds = asked.lease_seconds,
            ttl_seconds = asked.ttl_seconds, expires_at = asked.expires_at, doubted_at = null, finished_at = null,
            declaration = asked.declaration, fingerprint = asked.fingerprint, fields = asked.fields,
            resource = null, answer = null
        where (i.tenant_id, i.scope, i.key) = (held.tenant_id, held.scope, held.key)
          and (i.token, i.state, i.renewed_at) = (held.token, held.state, held.renewed_at);
    end if;
    if not found then
        asked.token := null;
    end if;
    return asked;
end
$$;

-- Says that the work under a key goes on: its lease starts again. Raises OS410 when the key was taken over.
create function ostinato.renew_idempotent(scope text, key text, token bigint, tenant_id text default null)
returns timestamptz language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(renew_idempotent.tenant_id);
    v_now    constant timestamptz := ostinato.now();
    v_until  timestamptz;
begin
    update idempotency i
    set renewed_at = v_now, doubted_at = null,
        expires_at = v_now + make_interval(secs => greatest(i.ttl_seconds, i.lease_seconds))
    where (i.tenant_id, i.scope, i.key) = (v_tenant, renew_idempotent.scope, renew_idempotent.key)
      and i.token = renew_idempotent.token and i.state = 'in_flight'
    returning i.renewed_at + make_interval(secs => i.lease_seconds) into v_until;
    if not found then
        perform ostinato_internal.refuse_key(v_tenant, renew_idempotent.scope, renew_idempotent.key,
                                             renew_idempotent.token);
    end if;
    return v_until;
end
$$;

-- Stores the answer, or what it is about (`resource`), for all who ask the same again. Raises OS410 when the key was
-- taken over. Again with the same token it does nothing: the first answer stays.
create function ostinato.finish_idempotent(
    scope text, key text, token bigint, answer json default null, resource text default null,
    tenant_id text default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(finish_idempotent.tenant_id);
    v_now    constant timestamptz := ostinato.now();
    v_limit  constant integer := ostinato_internal.most_bytes();
    v_bytes constant integer := coalesce(octet_length(finish_idempotent.answer::text), 0)
        + coalesce(octet_length(finish_idempotent.resource), 0);
begin
    if v_bytes > v_limit then
        raise exception using errcode = 'OS400',
            message = format('the answer is %s bytes, the limit is %s', v_bytes, v_limit),
            detail = json_build_object('bytes', v_bytes, 'limit', v_limit),
            hint = 'Store the answer in a table of your own, and its key here as the resource.';
    end if;
    update idempotency i set
        state = 'done', finished_at = v_now, answer = finish_idempotent.answer, resource = finish_idempotent.resource,
        expires_at = v_now + make_interval(secs => i.ttl_seconds), doubted_at = null,
        subjects = ostinato_internal.noted_subjects()
    where (i.tenant_id, i.scope, i.key) = (v_tenant, finish_idempotent.scope, finish_idempotent.key)
      and i.token = finish_idempotent.token and i.state = 'in_flight';
    if found or exists (
        select from idempotency i
        where (i.tenant_id, i.scope, i.key) = (v_tenant, finish_idempotent.scope, finish_idempotent.key)
          and i.token = finish_idempotent.token and i.state = 'done')
    then
        return;
    end if;
    perform ostinato_internal.refuse_key(v_tenant, finish_idempotent.scope, finish_idempotent.key,
                                         finish_idempotent.token);
end
$$;

-- Gives a key up without an answer. `forget`: nothing was done, the key is free for any request. Else something may
-- have been done: the next one who asks the same takes over at once, attempt + 1. False: the key was not held any more.
create function ostinato.abandon_idempotent(
    scope text, key text, token bigint, forget boolean default true, tenant_id text default null
) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(abandon_idempotent.tenant_id);
begin
    if forget then
        delete from idempotency i
        where (i.tenant_id, i.scope, i.key) = (v_tenant, abandon_idempotent.scope, abandon_idempotent.key)
          and i.token = abandon_idempotent.token and i.state = 'in_flight';
    else
        update idempotency i set state = 'abandoned'
        where (i.tenant_id, i.scope, i.key) = (v_tenant, abandon_idempotent.scope, abandon_idempotent.key)
          and i.token = abandon_idempotent.token and i.state = 'in_flight';
    end if;
    return found;
end
$$;

-- Says that a token does not hold its key any more, and who does.
create function ostinato_internal.refuse_key(tenant_id text, scope text, key text, token bigint) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_row idempotency;
begin
    select i.* into v_row from idempotency i
    where (i.tenant_id, i.scope, i.key) = (refuse_key.tenant_id, refuse_key.scope, refuse_key.key);
    raise exception using errcode = 'OS410',
        message = format('token %s does not hold key %L of %L any more', token, refuse_key.key, refuse_key.scope),
        detail = json_build_object('scope', refuse_key.scope, 'key', refuse_key.key, 'token', token,
                                   'state', v_row.state, 'holder', v_row.holder, 'attempt', v_row.attempt),
        hint = 'Write nothing: the request was taken over, answered or given up. Begin it again to learn the answer.';
end
$$;

-- Forgets keys that have expired, at most so many, oldest first; returns how many. Those that somebody works on stay.
create function ostinato.prune_idempotency(most integer default 5000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now   constant timestamptz := ostinato.now();
    v_count integer;
begin
    perform ostinato_internal.keep_answer(k) from (
        select k.* from idempotency k where k.expires_at <= v_now and k.state = 'done' and k.doubted_at is null
          and ostinato_internal.in_grace(k.ttl_seconds) order by k.expires_at limit most for update skip locked) k;
    delete from idempotency i where i.ctid = any (array(
        select d.ctid from idempotency d
        where d.expires_at <= v_now
          and case d.state
              when 'in_flight' then ostinato_internal.is_lapsed(d.renewed_at, d.lease_seconds, d.doubted_at, v_now)
              when 'done' then d.doubted_at is not null or not ostinato_internal.in_grace(d.ttl_seconds)
              else true end
        order by d.expires_at limit most for update skip locked));
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Returns the keys of requests that are kept, by tenant, scope and key: those after the last one of the page before.
-- Of a request there are only hashes, and its answer is for those who ask again. A tenant sees its own.
create function ostinato.list_idempotency(
    of_scope text default null, prefix text default '', tenant_id text default null, after_tenant text default '',
    after_scope text default '', after_key text default '', most integer default 50
) returns table (
    tenant text, scope text, key text, state text, fingerprint text, attempt integer, holder text,
    started_at timestamptz, until timestamptz, finished_at timestamptz, expires_at timestamptz, resource text
) language plpgsql stable
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
declare
    v_most   constant integer := ostinato_internal.page_size(most);
    v_tenant constant text := ostinato_internal.tenant_filter(list_idempotency.tenant_id);
begin
    return query
    select i.tenant_id, i.scope, i.key, i.state, i.fingerprint, i.attempt, i.holder, i.started_at,
           case when i.state = 'in_flight' then i.renewed_at + make_interval(secs => i.lease_seconds) end,
           i.finished_at, i.expires_at, i.resource
    from idempotency i
    where (v_tenant is null or i.tenant_id = v_tenant)
      and (i.tenant_id, i.scope, i.key) > (coalesce(v_tenant, after_tenant), after_scope, after_key)
      and (of_scope is null or i.scope = of_scope) and starts_with(i.key, prefix)
    order by i.tenant_id, i.scope, i.key limit v_most;
end
$$;
