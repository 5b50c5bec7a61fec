-- The sources, seen by all workers at once: whose turn it is, which one is paused, and INPI's token.
--
-- A source is called at most so often by all workers together (its ban would hit them together), and not at all while
-- it is paused: after some fetches in a row that failed, or because it said Retry-After. When the pause is over one
-- caller probes it; the others wait for what that one says.

-- Gives a caller its turn: `go` in `wait` seconds, or why not: `paused` for SOURCE_UNAVAILABLE or RATE_LIMIT. `probe`:
-- the first one after a pause. With `look_only` nothing is taken.
create function enrichment.take_turn(
    source text, per_second double precision, per_day integer default null, look_only boolean default false,
    out verdict text, out wait double precision, out probe boolean, out reason text
) language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
declare
    v_now    constant timestamptz := ostinato.now();
    v_today  constant date := (v_now at time zone 'UTC')::date;
    v_source source;
    v_at     timestamptz;
begin
    select s.* into v_source from source s where s.source_api = take_turn.source for no key update;
    verdict := 'paused';
    wait := 0;
    probe := v_source.paused_until <= v_now and coalesce(v_source.probing_until <= v_now, true);
    probe := coalesce(probe, false);
    if v_source.paused_until is not null and not probe then
        reason := v_source.paused_for;
        return;
    end if;
    if v_source.day = v_today and v_source.day_calls >= per_day then
        reason := 'RATE_LIMIT';
        return;
    end if;
    verdict := 'go';
    v_at := greatest(v_source.next_at, v_source.held_until, v_now);
    wait := extract(epoch from v_at - v_now);
    if not look_only then
        update source s set
            next_at = v_at + make_interval(secs => 1 / per_second),
            day = v_today, day_calls = case when s.day = v_today then s.day_calls + 1 else 1 end, day_limit = per_day,
            probing_until = case when probe then v_now + interval '30 seconds' else s.probing_until end
        where s.source_api = take_turn.source;
    end if;
end
$$;

-- Keeps everybody away from a source for some seconds that runs wait for: it said so, and whoever goes on calling is
-- banned.
create function enrichment.hold_back(source text, seconds double precision) returns void language plpgsql
set search_path = enrichment, pg_catalog, pg_temp as $$
begin
    update source s set held_until = greatest(s.held_until, ostinato.now() + make_interval(secs => seconds))
    where s.source_api = hold_back.source;
end
$$;

-- Whether a source must not be called now: for whoever waited for its turn, while another one learnt that.
create function enrichment.is_held(source text) returns boolean language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select coalesce(greatest(s.held_until, s.paused_until) > ostinato.now(), false) from source s
    where s.source_api = $1
$$;

-- Notes what came of a fetch. A failure of the source counts towards the breaker; `pause_seconds` pauses it at once. A
-- pause that still runs is not lifted, nor made shorter, by an answer that was under way when it began: only a probe
-- comes after its end.
create function enrichment.note_fetch(
    source text, failed boolean, error text, pause_seconds double precision, most_failures integer,
    breaker_seconds double precision
) returns void language plpgsql
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
end
$$;

-- INPI's token: `token`, if there is one that lives and is not the refused one; else `login`, if the caller is to log
-- in; `wait`, if another one does just now; `limited` after five logins within 30 seconds: a sixth would be answered
-- with a ban of ten minutes.
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

-- Keeps a token for the seconds that it lives; null: the login failed.
create function enrichment.keep_token(token text, seconds double precision) returns void language sql
set search_path = enrichment, pg_catalog, pg_temp as $$
    update source s set token = $1, token_until = ostinato.now() + make_interval(secs => $2), login_until = null
    where s.source_api = 'INPI_RNE'
$$;
