-- Sessions: people who signed in with a browser. Each is bound to a tenant, a subject and roles, as an API key is.
--
--   open_session    writes a new session down, by its hash; or a ticket, which opens one
--   enter_session   makes a session of a ticket, once
--   find_sessions   returns the sessions that cookies name, and puts their end off while they are used
--   close_session   ends one; close_sessions ends those of a subject or of a key
--   list_sessions   shows who is signed in
--   prune_sessions  forgets those that ended
--
-- The text of a session never comes here (engine/sessions.py). A session ends when nobody used it for its idle time,
-- when its longest time is over, when its API key is revoked or its key or token has expired, or when it is closed.
-- Lock order: by id.

-- Returns the longest that a session lasts, however often it is used.
create function ostinato_internal.longest_session() returns interval language sql immutable as $$
    select interval '12 hours'
$$;

-- Returns how long an open session lasts without being used.
create function ostinato_internal.idle_session() returns interval language sql immutable as $$
    select interval '1 hour'
$$;

-- Returns a session as people see it.
create function ostinato_internal.session_line(session ostinato_data.session) returns ostinato_data.session_line
language sql immutable as $$
    select ($1).id, ($1).tenant_id, ($1).subject, ($1).roles, ($1).key_id, ($1).created_at, ($1).seen_at,
           ($1).expires_at
$$;

-- Writes a new session down. With `ticket_seconds` it is a ticket that can be entered once within that time. With
-- `ends_at` it ends then, as the token that signed in does.
create function ostinato.open_session(
    hash bytea, tenant_id text, subject text, roles text[], key_id bigint default null,
    ticket_seconds double precision default null, ends_at timestamptz default null
) returns ostinato_data.session_line language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_now constant timestamptz := ostinato.now();
    v_new session;
begin
    perform ostinato_internal.check_name('tenant_id', coalesce(tenant_id, 'all')),
            ostinato_internal.check_name('subject', subject);
    if not coalesce(length(hash) = 32 and cardinality(roles) between 1 and 100
                    and coalesce(ticket_seconds between 1 and 86400, ticket_seconds is null), false) then
        raise exception using errcode = 'OS400',
            message = 'a session has the SHA-256 of its text, 1 to 100 roles, and as a ticket a second to a day',
            detail = json_build_object('subject', subject, 'ticket_seconds', ticket_seconds),
            hint = 'Correct the value that the message names.';
    end if;
    insert into session as s
        (hash, tenant_id, subject, roles, key_id, is_ticket, created_at, seen_at, ends_at, expires_at)
    values (hash, tenant_id, subject, roles, key_id, ticket_seconds is not null, v_now, v_now, ends_at,
            least(v_now + coalesce(make_interval(secs => ticket_seconds), ostinato_internal.idle_session()), ends_at))
    returning s.* into v_new;
    return ostinato_internal.session_line(v_new);
end
$$;

-- Returns whether the API key of a session, if it has one, still works.
create function ostinato_internal.has_usable_key(session ostinato_data.session, at timestamptz) returns boolean
language sql stable set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ($1).key_id is null
        or exists (select from api_key k where k.id = ($1).key_id and ostinato_internal.is_api_key_usable(k, $2))
$$;

-- Makes a session of a ticket: it gets another text, so that the link works once. No line when there is no such ticket.
create function ostinato.enter_session(ticket bytea, hash bytea) returns setof ostinato_data.session_line
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_now constant timestamptz := ostinato.now();
    v_old session;
begin
    select s.* into v_old from session s
    where s.hash = ticket and s.is_ticket and s.expires_at > v_now for no key update;
    if not found or not ostinato_internal.has_usable_key(v_old, v_now) then
        return;
    end if;
    update session s
    set hash = enter_session.hash, is_ticket = false, created_at = v_now, seen_at = v_now,
        expires_at = least(v_now + ostinato_internal.idle_session(), s.ends_at)
    where s.id = v_old.id returning s.* into v_old;
    return next ostinato_internal.session_line(v_old);
end
$$;

-- Returns the sessions that cookies name, those that still last. Their end is put off, at most once a minute. In sets:
-- many pages that follow the figures ask at once.
create function ostinato.find_sessions(hashes bytea[]) returns setof ostinato_data.session language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now constant timestamptz := ostinato.now();
begin
    update session s
    set seen_at = v_now,
        expires_at = least(v_now + ostinato_internal.idle_session(),
                           s.created_at + ostinato_internal.longest_session(), s.ends_at)
    from (select o.id from session o
          where o.hash = any (hashes) and not o.is_ticket and o.expires_at > v_now
            and o.seen_at <= v_now - interval '1 minute' and ostinato_internal.has_usable_key(o, v_now)
          order by o.id for no key update) old
    where s.id = old.id;
    return query select s.* from session s
    where s.hash = any (hashes) and not s.is_ticket and s.expires_at > v_now
      and ostinato_internal.has_usable_key(s, v_now);
end
$$;

-- Ends a session; returns whether there was one.
create function ostinato.close_session(session_id bigint, tenant_id text default null) returns boolean language sql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with gone as (
        delete from session s where s.id = $1 and ($2 is null or s.tenant_id = $2) returning 1)
    select exists (select from gone)
$$;

-- Returns the sessions of a tenant (null = all) that still last, the newest first; `before` is the last one of the page
-- before.
create function ostinato.list_sessions(
    tenant_id text default null, most integer default 100, before bigint default null
) returns setof ostinato_data.session_line language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.* from (select ostinato.now() as at) n cross join session s
    cross join lateral ostinato_internal.session_line(s) l
    where ($1 is null or s.tenant_id = $1) and s.expires_at > n.at and not s.is_ticket
      and ($3 is null or s.id < $3)
    order by s.id desc limit ostinato_internal.page_size($2)
$$;

-- Forgets sessions and tickets that ended, a set at a time; returns how many.
create function ostinato.prune_sessions(most integer default 1000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_count integer;
begin
    delete from session s where s.id in (
        select o.id from session o where o.expires_at <= ostinato.now() order by o.expires_at limit most
        for update skip locked);
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
