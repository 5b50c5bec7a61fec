-- What alerts look at: each a label and a value, no row where nothing is wrong.

-- Sources that refuse our credentials: an account that expired, a token that was withdrawn.
create function enrichment.refusing_sources() returns table (label text, value double precision) language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select s.source_api, 1::double precision from source s
    where s.configured and s.last_error in ('AUTH_ERROR', 'FORBIDDEN')
      and s.last_error_at > coalesce(s.last_ok_at, '-infinity')
$$;

-- Sources that have no credentials: every company lacks what only they know.
create function enrichment.missing_sources() returns table (label text, value double precision) language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select s.source_api, 1::double precision from source s where not s.configured
$$;

-- Sources that are paused, or were and have not answered since.
create function enrichment.paused_sources() returns table (label text, value double precision) language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select s.source_api, 1::double precision from source s where s.paused_until is not null
$$;

-- Returns the share of the calls that a source allows in a day (UTC) that is used up, from 0 to 1.
create function enrichment.used_quotas() returns table (label text, value double precision) language sql stable
set search_path = enrichment, pg_catalog, pg_temp as $$
    select s.source_api, s.day_calls / s.day_limit::double precision from source s
    where s.day_limit is not null and s.day = (ostinato.now() at time zone 'UTC')::date
$$;
