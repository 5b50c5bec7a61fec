-- The sources, seen by all workers at once: whose turn it is, which one is paused, and INPI's token.
--
-- A source is called at most so often by all workers together (its ban would hit them together), and not at all while
-- it is paused: after some fetches in a row that failed, or because it said Retry-After. When the pause is over one
-- caller probes it; the others wait for what that one says.

-- Returns until when a source may not be called at all: it is paused, another caller probes it, or its day is used up.
-- Null: it may be called. `probing`: the caller is the one that probes it.
create function enrichment.closed_until(
    source enrichment.source, per_day integer, at timestamptz, probing boolean default false
) returns timestamptz language sql immutable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select greatest(
        case when ($1).paused_until > $3 then ($1).paused_until
             when ($1).paused_until is not null and ($1).probing_until > $3 and not $4 then ($1).probing_until end,
        case when ($1).day = ($3 at time zone 'UTC')::date and ($1).day_calls >= $2
             then (($1).day + 1)::timestamp at time zone 'UTC' end)
$$;

-- Keeps a place for a job that sleeps until a source may be called again; how many seconds that is. Not all wake up at
-- once: one every five seconds (the first one probes it, and when that was answered all others are woken), or at the
-- pace of the source when its day is over; within an hour.
create function enrichment.keep_place(source enrichment.source, per_second double precision, until timestamptz)
returns double precision language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_pause constant double precision := case when (keep_place.source).paused_until is null then 0 else 5 end;
    v_each  constant double precision := greatest(1 / per_second, v_pause);
begin
    update source s set asleep = s.asleep + 1 where s.source_api = (keep_place.source).source_api;
    return extract(epoch from until - ostinato.now())
        + v_each * ((keep_place.source).asleep % greatest(1, floor(3600 / v_each)::integer));
end
$$;

-- Gives a caller its turn: `go` in `wait` seconds; or `paused`, and why: it may be called again in `wait` seconds.
-- `probe`: the first one after a pause. `waited`: seconds that it took to be asked, which are over.
-- `again`: the turn that the caller had went by, and its call was counted. `probing`: it had that of a probe.
create function enrichment.take_turn(
    source text, per_second double precision, per_day integer default null, again boolean default false,
    probing boolean default false,
    out verdict text, out wait double precision, out probe boolean, out reason text, out waited double precision
) language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_asked  constant timestamptz := ostinato.now();
    v_now    timestamptz;
    v_source source;
    v_closed timestamptz;
    v_at     timestamptz;
begin
    select s.* into v_source from source s where s.source_api = take_turn.source for no key update;
    v_now := ostinato.now();
    waited := extract(epoch from v_now - v_asked);
    probe := v_source.paused_until is not null;
    v_closed := enrichment.closed_until(v_source, case when not again then per_day end, v_now, probing);
    if v_closed is not null then
        verdict := 'paused';
        reason := case when v_source.paused_until is null then 'RATE_LIMIT' else v_source.paused_for end;
        wait := enrichment.keep_place(v_source, per_second, v_closed);
        return;
    end if;
    verdict := 'go';
    v_at := greatest(v_source.next_at, v_source.held_until, v_now);
    wait := extract(epoch from v_at - v_now);
    update source s set
        next_at = v_at + make_interval(secs => 1 / per_second),
        day = (v_now at time zone 'UTC')::date, day_limit = per_day,
        day_calls = case when s.day = (v_now at time zone 'UTC')::date then s.day_calls else 0 end
            + case when again then 0 else 1 end,
        probing_until = case when probe then v_at + interval '30 seconds' else s.probing_until end,
        asleep = 0
    where s.source_api = take_turn.source;
end
$$;

-- Returns the seconds that a job is to sleep before its run begins, because one of the sources may not be called, or
-- only in more than `longest` seconds; 0: it may begin. A job that sleeps has its place in the line of that source.
create function enrichment.sleep_before(
    sources text[], per_seconds double precision[], per_days integer[], longest double precision
) returns double precision language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_now    constant timestamptz := ostinato.now();
    v_pace   double precision;
    v_quota  integer;
    v_name   text;
    v_source source;
    v_closed timestamptz;
    v_at     timestamptz;
begin
    -- Most of the time there is nothing to wait for, which is seen without a lock.
    select g.name, g.per_second, g.per_day into v_name, v_pace, v_quota
    from unnest(sources, per_seconds, per_days) g (name, per_second, per_day)
    join source s on s.source_api = g.name
    cross join lateral (select enrichment.closed_until(s, g.per_day, v_now) as until) c
    where c.until is not null or greatest(s.next_at, s.held_until) > v_now + make_interval(secs => longest)
    order by coalesce(c.until, s.next_at) desc limit 1;
    if not found then
        return 0;
    end if;
    select s.* into v_source from source s where s.source_api = v_name for no key update;
    v_closed := enrichment.closed_until(v_source, v_quota, v_now);
    if v_closed is not null then
        return enrichment.keep_place(v_source, v_pace, v_closed);
    end if;
    v_at := greatest(v_source.next_at, v_source.held_until, v_source.asleep_until);
    update source s set asleep_until = v_at + make_interval(secs => 1 / v_pace) where s.source_api = v_name;
    return greatest(0, extract(epoch from v_at - v_now));
end
$$;

-- Lets the run of a job sleep: if it has begun, its company keeps its lock until then (M3C-invariant-1), and for `ttl`
-- seconds more.
create function enrichment.sleep_run(siren text, job_id bigint, seconds double precision, ttl double precision)
returns void language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_token bigint;
begin
    update company c set asleep_until = ostinato.now() + make_interval(secs => seconds)
    where c.siren = sleep_run.siren and c.job_id = sleep_run.job_id and c.enrichment_status = 'RUNNING'
    returning c.lock_token into v_token;
    if found then
        perform ostinato.renew_lease('company_enrichment:' || siren, v_token, seconds + ttl, '@enrichment');
    end if;
exception when sqlstate 'OS410' then
    null;  -- somebody took it away: the job asks for it when it wakes up
end
$$;

-- Keeps everybody away from a source for some seconds that runs wait for: it said so, and bans callers
-- that go on.
create function enrichment.hold_back(source text, seconds double precision) returns void language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
begin
    update source s set held_until = greatest(s.held_until, ostinato.now() + make_interval(secs => seconds))
    where s.source_api = hold_back.source;
end
$$;

-- Returns whether a source must not be called now: a caller asks after it has waited for its turn, when another may
-- have learnt that.
create function enrichment.is_held(source text) returns boolean language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select coalesce(greatest(s.held_until, s.paused_until) > ostinato.now(), false) from source s
    where s.source_api = $1
$$;

-- Notes what came of a fetch. A failure of the source counts towards the breaker; `pause_seconds` pauses it at once. A
-- pause that still runs is not lifted, nor made shorter, by an answer that was under way when it began: only a probe
-- comes after its end. Whether a pause is over with it.
create function enrichment.note_fetch(
    source text, failed boolean, error text, pause_seconds double precision, most_failures integer,
    breaker_seconds double precision
) returns boolean language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_now    constant timestamptz := ostinato.now();
    v_source source;
    v_until  timestamptz;
    v_for    text;
begin
    select s.* into v_source from source s where s.source_api = note_fetch.source for no key update;
    if pause_seconds is not null then
        v_until := v_now + make_interval(secs => pause_seconds);
        v_for := 'RATE_LIMIT';
    elsif failed and (v_source.failures + 1 >= most_failures or v_source.paused_until is not null) then
        v_until := v_now + make_interval(secs => breaker_seconds);
        v_for := 'SOURCE_UNAVAILABLE';
    end if;
    if v_source.paused_until > coalesce(v_until, v_now) then
        v_until := v_source.paused_until;
        v_for := v_source.paused_for;
    end if;
    update source s set
        configured = true,
        failures = case when failed then s.failures + 1 else 0 end,
        last_ok_at = case when error is null then v_now else s.last_ok_at end,
        last_error_at = case when error is null then s.last_error_at else v_now end,
        last_error = coalesce(error, s.last_error),
        probing_until = null,
        paused_until = v_until,
        paused_for = v_for
    where s.source_api = note_fetch.source;
    return v_source.paused_until is not null and v_until is null;
end
$$;

-- INPI's token, sealed: `token`, if one is stored that lives and is not the one that the caller found useless (it does
-- not open, or INPI refuses what is in it); else `login`, if the caller is to log in; `wait`, if another one does just
-- now; `limited` after five logins within 30 seconds: a sixth would be answered with a ban of ten minutes.
create function enrichment.ask_token(refused text default null, out verdict text, out token text) language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_now    constant timestamptz := ostinato.now();
    v_source source;
    v_recent timestamptz[];
begin
    select s.* into v_source from source s where s.source_api = 'INPI_RNE' for no key update;
    if v_source.token is not null and v_source.token_until > v_now and v_source.token is distinct from refused then
        verdict := 'token';
        token := v_source.token;
        return;
    end if;
    if v_source.login_until > v_now then
        verdict := 'wait';
        return;
    end if;
    v_recent := array(select l from unnest(v_source.logins) l where l > v_now - interval '30 seconds');
    verdict := case when cardinality(v_recent) >= 5 then 'limited' else 'login' end;
    if verdict = 'login' then
        update source s set login_until = v_now + interval '15 seconds', logins = v_recent || v_now
        where s.source_api = 'INPI_RNE';
    end if;
end
$$;

-- Keeps a token, sealed by the caller, for the seconds that it lives; null: the login failed, or nothing may be stored.
create function enrichment.keep_token(token text, seconds double precision) returns void language sql
set search_path = enrichment, pg_catalog, pg_temp as $$
    update source s set token = $1, token_until = ostinato.now() + make_interval(secs => $2), login_until = null
    where s.source_api = 'INPI_RNE'
$$;
