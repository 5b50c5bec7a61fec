-- Leases: one holder of a name at a time, per tenant, and a fencing token that refuses those who come late.
--
--   acquire_lease      takes a name that is free or whose holder is gone (attempt + 1), or says who has it
--   renew_lease        says that the holder lives: its time starts again
--   guard_lease        holds the lease for the rest of the caller's transaction, or raises OS410: guards writes
--   release_lease      gives it back
--   enqueue_or_attach  starts a job that has the name until it ends, or joins the one that has it
--
-- A token is given under the row's lock, from a sequence: for one name a later holder has a greater one, whatever
-- happens.
-- A lease is lost when another holder took it, not when its time is up: a holder that renews late keeps it
-- if nobody took it meanwhile, and a guard asks for the token only. Time decides who may take over, and it is the
-- database's time.
--
-- How a lease that lives by its renewals ends: ttl_seconds after the last one, but not while the tick shows that the
-- database was away or its clock jumped (ostinato_internal.in_grace). Then the living get one more ttl to renew. Where
-- no worker ticks, the tick shows nothing: there the first to ask for an overdue lease notes a doubt, and who
-- asks a ttl later gets it.
-- One that hangs on an attempt or a job ends with it; rescue has the same patience there.
--
-- Lock order: lease, then what jobs.sql says. Acquiring waits only for another one who is just acquiring the same name;
-- a row that is locked is one that somebody holds. Acquire in a transaction of its own: until it commits, others wait.

-- Returns whether a lease of so many seconds cannot be taken for expired now: the tick stands still, went back, or did
-- so less than a grace and such a lease ago. Only reads: the tick is renewed by those who poll and beat
-- (ostinato_internal.tick).
create function ostinato_internal.in_grace(seconds double precision) returns boolean language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select n.at < t.grace_until + make_interval(secs => $1) or n.at < t.last - interval '1 second'
        or n.at > t.last + make_interval(secs => greatest(2, least(7, ostinato_internal.gap_seconds($1))))
    from tick t cross join (select ostinato.now() as at) n
$$;

-- Returns whether a lease that lives by its renewals has expired. It is late when is_expired says so; it has expired if
-- that is not the fault of an outage or of the clock, or if it has been doubted for as long as it should have lived.
create function ostinato_internal.is_lapsed(
    renewed_at timestamptz, seconds double precision, doubted_at timestamptz, at timestamptz
) returns boolean
language sql volatile as $$
    select ostinato_internal.is_expired($1, $2, $4)
      and (coalesce($4 - $3 > make_interval(secs => $2), false) or not ostinato_internal.in_grace($2))
$$;

-- Returns whether a late lease is to be noted as doubted now: nobody did so yet, or by a clock that was ahead.
create function ostinato_internal.is_new_doubt(
    renewed_at timestamptz, seconds double precision, doubted_at timestamptz, at timestamptz
) returns boolean
language sql immutable as $$
    select ostinato_internal.is_expired($1, $2, $4) and ($3 is null or $3 > $4)
$$;

-- Returns how a lease stands: held, late (its holder may still be alive), expired, or over (its attempt or job has
-- ended). Claims are not for tenants to see: to them an attempt ends when its outcome is written.
create function ostinato_internal.lease_state(lease ostinato_data.lease) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now  constant timestamptz := ostinato.now();
    v_over boolean;
begin
    if lease.lifetime = 'time' then
        return case when not ostinato_internal.is_expired(lease.renewed_at, lease.ttl_seconds, v_now) then 'held'
                    when ostinato_internal.is_lapsed(lease.renewed_at, lease.ttl_seconds, lease.doubted_at,
                                                     v_now) then 'expired'
                        else 'late' end;
    elsif lease.lifetime = 'job' then
        v_over := not exists (select from job_unique u where u.job_id = lease.job_id);
    else
        v_over := exists (select from outcome o where (o.job_id, o.attempt) = (lease.job_id, lease.job_attempt));
        if not v_over and has_table_privilege('ostinato_data.claim', 'select') then
            v_over := ostinato_internal.claim_of(lease.job_id, lease.job_attempt) is null;
        end if;
    end if;
    return case when v_over then 'over' else 'held' end;
end
$$;

-- Refuses a name, a holder or a lifetime that no lease can have, and attempts that are not held any more.
create function ostinato_internal.check_lease(
    tenant_id text, name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer
) returns void language plpgsql as $$
begin
    perform ostinato_internal.check_name('tenant_id', tenant_id), ostinato_internal.check_name('lease', name),
            ostinato_internal.check_name('holder', holder);
    if ttl_seconds not between 0.001 and 2592000 or (ttl_seconds is null and job_attempt is null)
       or (job_id is null and job_attempt is not null) then
        raise exception using errcode = 'OS400',
            message = format('lease %L has nothing to live by: ttl_seconds %s, job %s, attempt %s', name,
                             coalesce(ttl_seconds::text, 'null'), coalesce(job_id::text, 'null'),
                             coalesce(job_attempt::text, 'null')),
            detail = json_build_object('name', name, 'ttl_seconds', ttl_seconds::text, 'job_id', job_id,
                                       'job_attempt', job_attempt),
            hint = 'Give a ttl_seconds of 0.001 s to 30 days, or the job and the attempt that it ends with.';
    end if;
    if job_attempt is not null then
        perform ostinato_internal.refuse_stale(job_id, job_attempt)
            where ostinato_internal.claim_of(job_id, job_attempt) is null;
    end if;
end
$$;

-- Takes a lease, or says who has it: `acquired`, and the line of the one who holds it now. With ttl_seconds it lives by
-- its renewals; with a job and its attempt it ends with that attempt. An attempt of a job also gets what its own job
-- holds.
create function ostinato.acquire_lease(
    name text, holder text, ttl_seconds double precision default null, job_id bigint default null,
    job_attempt integer default null, tenant_id text default null,
    out acquired boolean, out token bigint, out attempt integer, out held_by text, out since timestamptz,
    out until timestamptz, out lifetime text, out held_job_id bigint, out held_job_attempt integer
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
declare
    v_asked lease;
    v_lease lease;
begin
    v_asked.tenant_id := ostinato.tenant(tenant_id);
    v_asked.name := name;
    v_asked.holder := holder;
    v_asked.lifetime := case when ttl_seconds is not null then 'time' else 'attempt' end;
    v_asked.ttl_seconds := ttl_seconds;
    v_asked.job_id := job_id;
    v_asked.job_attempt := job_attempt;
    perform ostinato_internal.check_lease(v_asked.tenant_id, name, holder, ttl_seconds, job_id, job_attempt);
    v_lease := ostinato_internal.take_lease(v_asked);
    acquired := v_lease.token is not null;
    if not acquired then
        select l.* into v_lease from lease l where (l.tenant_id, l.name) = (v_asked.tenant_id, v_asked.name);
    end if;
    token := case when acquired then v_lease.token end;
    attempt := v_lease.attempt;
    held_by := v_lease.holder;
    since := v_lease.acquired_at;
    until := v_lease.renewed_at + make_interval(secs => v_lease.ttl_seconds);
    lifetime := v_lease.lifetime;
    held_job_id := v_lease.job_id;
    held_job_attempt := v_lease.job_attempt;
end
$$;

-- Takes a lease that is free, or whose holder is gone, and returns its row; without a token when somebody has it.
create function ostinato_internal.take_lease(asked ostinato_data.lease) returns ostinato_data.lease language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_lease lease;
    v_now   timestamptz;
    v_own   boolean;
begin
    for v_try in 0 .. ostinato_internal.most_tries() loop
        if v_try = ostinato_internal.most_tries() then  -- cannot be, and must not go on for ever
            raise exception using errcode = '40001', message = format('lease %L keeps changing hands', asked.name),
                hint = 'Call again.';
        end if;
        v_now := ostinato.now();
        -- First without a lock: the holder must not wait for those who ask, nor they for it.
        select l.* into v_lease from lease l where (l.tenant_id, l.name) = (asked.tenant_id, asked.name);
        if not found then
            insert into lease (tenant_id, name, token, attempt, holder, acquired_at, renewed_at, lifetime, ttl_seconds,
                               job_id, job_attempt)
            values (asked.tenant_id, asked.name, 0, 0, asked.holder, v_now, v_now, asked.lifetime, asked.ttl_seconds,
                    asked.job_id, asked.job_attempt)
            on conflict do nothing;
            exit when found;
            continue;
        end if;
        v_own := ostinato_internal.is_own_lease(v_lease, asked);
        if not v_own and ostinato_internal.lease_state(v_lease) in ('held', 'late') then
            update lease l set doubted_at = v_now
            where (l.tenant_id, l.name, l.token) = (asked.tenant_id, asked.name, v_lease.token)
              and l.lifetime = 'time'
              and ostinato_internal.is_new_doubt(l.renewed_at, l.ttl_seconds, l.doubted_at, v_now);
            return null;
        end if;
        select l.* into v_lease from lease l where (l.tenant_id, l.name) = (asked.tenant_id, asked.name)
        for update skip locked;
        v_own := ostinato_internal.is_own_lease(v_lease, asked);
        if v_lease.name is null or (not v_own and ostinato_internal.lease_state(v_lease) in ('held', 'late')) then
            return null;  -- its holder renews or guards with it just now, or another one was faster
        end if;
        exit;
    end loop;
    -- The token is drawn while the row is ours, so that none that is held later is smaller.
    v_now := ostinato.now();
    update lease l set
        token = nextval('lease_token_seq'), attempt = l.attempt + 1, holder = asked.holder, acquired_at = v_now,
        renewed_at = v_now, lifetime = case when v_own then 'job' else asked.lifetime end,
        ttl_seconds = asked.ttl_seconds, job_id = asked.job_id, job_attempt = asked.job_attempt, doubted_at = null
    where (l.tenant_id, l.name) = (asked.tenant_id, asked.name)
    returning l.* into v_lease;
    return v_lease;
end
$$;

-- Returns whether an attempt asks for what its own job holds: then it gets it, and it stays the job's.
create function ostinato_internal.is_own_lease(held ostinato_data.lease, asked ostinato_data.lease) returns boolean
language sql immutable as $$
    select coalesce(held.lifetime = 'job' and asked.lifetime = 'attempt' and held.job_id = asked.job_id
                    and held.job_attempt is distinct from asked.job_attempt, false)
$$;

-- Says that the holder lives; returns until when, null for a lease that ends with its job. Raises OS410 when it was
-- taken.
create function ostinato.renew_lease(
    name text, token bigint, ttl_seconds double precision default null, tenant_id text default null
) returns timestamptz language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(renew_lease.tenant_id);
    v_lease  lease;
begin
    update lease l set
        renewed_at = ostinato.now(), doubted_at = null,
        ttl_seconds = case when l.lifetime = 'time' then coalesce(renew_lease.ttl_seconds, l.ttl_seconds) end
    where (l.tenant_id, l.name, l.token) = (v_tenant, renew_lease.name, renew_lease.token)
    returning l.* into v_lease;
    if not found then
        perform ostinato_internal.refuse_lease(v_tenant, renew_lease.name, renew_lease.token);
    elsif v_lease.lifetime <> 'time' and v_lease.job_attempt is not null then
        perform ostinato_internal.refuse_lease(v_tenant, renew_lease.name, renew_lease.token)
        where ostinato_internal.claim_of(v_lease.job_id, v_lease.job_attempt) is null;
    end if;
    return v_lease.renewed_at + make_interval(secs => v_lease.ttl_seconds);
end
$$;

-- Holds a lease for the rest of the caller's transaction, or raises OS410: until that ends, nobody takes it over.
-- Renewals go on beside it.
create function ostinato.guard_lease(name text, token bigint, tenant_id text default null) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(guard_lease.tenant_id);
    v_lease  lease;
begin
    select l.* into v_lease from lease l where (l.tenant_id, l.name) = (v_tenant, guard_lease.name) for key share;
    if not found or v_lease.token <> guard_lease.token or guard_lease.token is null then
        perform ostinato_internal.refuse_lease(v_tenant, guard_lease.name, guard_lease.token);
    end if;
    if v_lease.lifetime <> 'time' and v_lease.job_attempt is not null then
        perform ostinato.fence_job(v_lease.job_id, v_lease.job_attempt);
    end if;
end
$$;

-- Gives a lease back; false when this token does not hold it any more. Without a token it is what a person does: takes
-- away a lease whose holder is gone, or, with `force`, any.
create function ostinato.release_lease(
    name text, token bigint default null, force boolean default false, tenant_id text default null
) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    v_tenant constant text := ostinato.tenant(release_lease.tenant_id);
    v_lease  lease;
begin
    if release_lease.token is not null then
        delete from lease l where (l.tenant_id, l.name, l.token) = (v_tenant, release_lease.name, release_lease.token);
        return found;
    end if;
    select l.* into v_lease from lease l where (l.tenant_id, l.name) = (v_tenant, release_lease.name) for update;
    if not found then
        return false;
    end if;
    if not force and ostinato_internal.lease_state(v_lease) in ('held', 'late') then
        perform ostinato_internal.refuse_held(v_lease,
                                              'Wait for it, or take it away by force: its holder is refused from then '
                                              'on.');
    end if;
    delete from lease l where (l.tenant_id, l.name) = (v_tenant, release_lease.name);
    -- Who gives back a lease by its token holds it; who takes it away has none.
    perform ostinato_internal.record(
        'release', 'lease', release_lease.name, v_tenant,
        detail => json_build_object('holder', v_lease.holder, 'token', v_lease.token, 'force', force));
    return true;
end
$$;

-- Says that a lease is held, by whom and until when.
create function ostinato_internal.refuse_held(held ostinato_data.lease, hint text) returns void language plpgsql as $$
begin
    raise exception using errcode = 'OS423',
        message = format('lease %L is held by %s', held.name, held.holder),
        detail = json_build_object('name', held.name, 'holder', held.holder, 'since', held.acquired_at,
                                   'job_id', held.job_id, 'until',
                                   held.renewed_at + pg_catalog.make_interval(secs => held.ttl_seconds)),
        hint = hint;
end
$$;

-- Says that a token does not hold a lease any more, and who does.
create function ostinato_internal.refuse_lease(tenant_id text, name text, token bigint) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_lease lease;
begin
    select l.* into v_lease from lease l where (l.tenant_id, l.name) = (refuse_lease.tenant_id, refuse_lease.name);
    raise exception using errcode = 'OS410',
        message = format('token %s does not hold lease %L any more', coalesce(refuse_lease.token::text, 'null'),
                         refuse_lease.name),
        detail = json_build_object('name', refuse_lease.name, 'token', refuse_lease.token, 'holder', v_lease.holder,
                                   'attempt', v_lease.attempt, 'since', v_lease.acquired_at),
        hint = 'Stop and write nothing: it expired and was taken over, was given back, or its job was rescued.';
end
$$;

-- Adds a job that has a lease from now until it ends, or joins the job that has it. Raises OS423 when it is held by no
-- job.
-- The job also holds the unique key `lease:<name>`: that shows whether it is live, and a dead one that is run again
-- meets it.
create function ostinato.enqueue_or_attach(
    name text, kind text, args json default '{}', queue text default null, priority integer default null,
    run_at timestamptz default null, tenant_id text default null, correlation_id text default null,
    limit_key text default null, max_attempts integer default null, limit_scope text default 'tenant',
    subject text default null,
    out job_id bigint, out attached boolean
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_asked lease;
    v_lease lease;
    v_live  bigint;
begin
    v_asked.tenant_id := ostinato.tenant(enqueue_or_attach.tenant_id);
    v_asked.name := enqueue_or_attach.name;
    v_asked.holder := enqueue_or_attach.kind;
    v_asked.lifetime := 'job';
    v_asked.job_id := 0;  -- until it has one, in this transaction
    perform ostinato_internal.check_lease(v_asked.tenant_id, v_asked.name, v_asked.holder, 1, null, null);
    for v_try in 1 .. ostinato_internal.most_tries() loop  -- the one who has it may give it back while we look
        v_lease := ostinato_internal.take_lease(v_asked);
        if v_lease.token is not null then
            -- A lease that was taken away by force left its job alive.
            select u.job_id into v_live from job_unique u
            where (u.tenant_id, u.unique_key) = (v_asked.tenant_id, 'lease:' || v_asked.name);
            job_id := ostinato.enqueue_job(
                kind => enqueue_or_attach.kind, args => enqueue_or_attach.args, queue => enqueue_or_attach.queue,
                priority => enqueue_or_attach.priority, run_at => enqueue_or_attach.run_at,
                tenant_id => v_asked.tenant_id, correlation_id => enqueue_or_attach.correlation_id,
                limit_key => enqueue_or_attach.limit_key, max_attempts => enqueue_or_attach.max_attempts,
                limit_scope => enqueue_or_attach.limit_scope,
                unique_key => 'lease:' || v_asked.name, subject => enqueue_or_attach.subject);
            attached := job_id is not distinct from v_live;
            update lease l
            set job_id = enqueue_or_attach.job_id,
                holder = left(format('%s %s', l.holder, enqueue_or_attach.job_id), ostinato_internal.longest_name())
            where (l.tenant_id, l.name) = (v_asked.tenant_id, v_asked.name);
            return;
        end if;
        attached := true;
        select l.* into v_lease from lease l where (l.tenant_id, l.name) = (v_asked.tenant_id, v_asked.name);
        job_id := v_lease.job_id;
        exit when found and ostinato_internal.lease_state(v_lease) <> 'over';
        -- Its job has ended while its last write still holds the guard: wait for that, and join nobody.
        perform from lease l where (l.tenant_id, l.name) = (v_asked.tenant_id, v_asked.name) for update;
    end loop;
    if job_id is null then
        perform ostinato_internal.refuse_held(v_lease, 'There is no job to join: try again when it is free.');
    end if;
end
$$;

-- Forgets leases whose job has ended, and those that expired longer ago than `keep_seconds`; returns how many.
create function ostinato.prune_leases(keep_seconds double precision default 86400, most integer default 1000)
returns integer language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_before constant timestamptz := ostinato.now() - make_interval(secs => keep_seconds);
    v_count  integer;
begin
    delete from lease l where l.ctid = any (array(
        select d.ctid from lease d
        where (d.lifetime <> 'time' or d.renewed_at < v_before)
          and ostinato_internal.lease_state(d) in ('expired', 'over')
        limit most for update skip locked));
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Returns the leases: of a tenant or of all, whose names begin with a prefix, by name.
create function ostinato.list_leases(
    prefix text default '', tenant_id text default null, most integer default 100, after_tenant text default '',
    after_name text default ''
)
returns table (
    tenant text, name text, state text, holder text, token bigint, attempt integer, since timestamptz,
    renewed_at timestamptz, until timestamptz, lifetime text, ttl_seconds double precision, job_id bigint,
    job_attempt integer, job_state text
) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.tenant_id, l.name, ostinato_internal.lease_state(l), l.holder, l.token, l.attempt, l.acquired_at,
           l.renewed_at, l.renewed_at + make_interval(secs => l.ttl_seconds), l.lifetime, l.ttl_seconds, l.job_id,
           l.job_attempt, ostinato.job_state(l.job_id)
    from lease l
    where starts_with(l.name, coalesce($1, '')) and ($2 is null or l.tenant_id = $2)
      and (l.tenant_id, l.name) > (coalesce($4, ''), coalesce($5, ''))
    order by l.tenant_id, l.name limit ostinato_internal.page_size($3)
$$;

-- Returns one lease, as list_leases shows it; no line when nobody has it.
create function ostinato.show_lease(lease text, tenant_id text default null)
returns table (
    tenant text, name text, state text, holder text, token bigint, attempt integer, since timestamptz,
    renewed_at timestamptz, until timestamptz, lifetime text, ttl_seconds double precision, job_id bigint,
    job_attempt integer, job_state text
) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.* from ostinato.list_leases($1, ostinato.tenant($2), 1) l where l.name = $1
$$;
