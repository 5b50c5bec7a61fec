-- API keys: a text that says who asks. Each is bound to a tenant, a subject and roles.
--
--   next_api_key_id   draws the id that the text of a new key begins with
--   create_api_key    writes a new key down, by its hash
--   find_api_key      a key, for those who keep keys
--   match_api_keys    the keys that were shown, by their hashes
--   note_api_key_use  writes down that keys were used, at most once a minute each
--   rotate_api_key    gives a key a successor; it works on for an overlap
--   revoke_api_key    ends a key at once
--   prune_api_keys    forgets keys that ended long ago
--
-- The text of a key never comes here: it is made, hashed and compared where it is shown (engine/keys.py), so that no
-- log of statements, no list of sessions and no backup has it. A role that can write this table can make itself a key;
-- one that can only read it cannot.
--
-- A key is usable until it is revoked or expires. A revocation is for good, whatever the clock does; the next
-- look-up finds it. Lock order: one row of api_key; a successor is written under the lock of the key that it
-- replaces, so that of two rotations, or of a rotation and a revocation, one comes first and the other sees it. Notes
-- of use never wait.

-- Returns a new key's id. One that was drawn and never used is no loss.
create function ostinato.next_api_key_id() returns bigint language sql volatile as $$
    select pg_catalog.nextval('ostinato_data.api_key_id_seq')
$$;

-- Refuses a key that could not work, or that nobody could tell from another.
create function ostinato_internal.check_api_key(key ostinato_data.api_key) returns void language plpgsql immutable as $$
declare
    v_bad text;
begin
    perform ostinato_internal.check_name('tenant_id', key.tenant_id),
            ostinato_internal.check_name('subject', key.subject);
    v_bad := case
        when key.name is not null
            and length(key.name) not between 1 and ostinato_internal.longest_name()
            then format('name: 1 to %s characters, or none', ostinato_internal.longest_name())
        when key.roles is null or cardinality(key.roles) not between 1 and 100 then 'roles: 1 to 100 of them'
        when exists (select from unnest(key.roles) r where r is null or r !~ '^[a-z0-9_]{1,200}$')
            then 'roles: each 1 to 200 lower-case letters, digits or _'
        when not coalesce(key.lifetime_seconds between 1 and 315360000, key.lifetime_seconds is null)
            then 'expires: a second to ten years from now, or never'
        when key.id is null or key.id < 1 or key.hash is null
            or length(key.hash) <> 32 then 'an id and the SHA-256 of its text'
    end;
    if v_bad is not null then
        raise exception using errcode = 'OS400', message = format('an API key cannot be: %s', v_bad),
            detail = json_build_object('tenant_id', key.tenant_id, 'subject', key.subject, 'rule', v_bad),
            hint = 'Correct the value that the message names.';
    end if;
end
$$;

-- Returns whether a key may be used at a time.
create function ostinato_internal.is_api_key_usable(key ostinato_data.api_key, at timestamptz) returns boolean
language sql immutable as $$
    select ($1).revoked_at is null and coalesce(($1).expires_at > $2, true)
$$;

-- Returns a key as people see it.
create function ostinato_internal.api_key_line(key ostinato_data.api_key, at timestamptz)
returns ostinato_data.api_key_line
language sql immutable as $$
    select ($1).id, ($1).tenant_id, ($1).subject, ($1).roles, ($1).name, ($1).created_at, ($1).expires_at,
           ($1).last_used_at, ($1).revoked_at, ($1).replaces, ostinato_internal.is_api_key_usable($1, $2)
$$;

-- Writes a new key down. `replaces` is the key that it is rotated from, which the caller holds.
create function ostinato.create_api_key(
    key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text default null,
    expires_seconds double precision default null, replaces bigint default null
) returns ostinato_data.api_key_line language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_made constant ostinato_data.api_key_line := ostinato_internal.create_api_key(
        key_id, hash, tenant_id, subject, roles, name, expires_seconds, replaces);
begin
    perform ostinato_internal.record(
        'create', 'key', 'ost_' || key_id, tenant_id,
        detail => json_build_object('subject', subject, 'roles', v_made.roles, 'expires_at', v_made.expires_at));
    return v_made;
end
$$;

-- Writes a new key down for a verb.
create function ostinato_internal.create_api_key(
    key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text,
    expires_seconds double precision, replaces bigint
) returns ostinato_data.api_key_line language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_now constant timestamptz := ostinato.now();
    v_key api_key;
begin
    v_key.id := key_id;
    v_key.tenant_id := tenant_id;
    v_key.subject := subject;
    v_key.roles := roles;
    v_key.name := name;
    v_key.hash := hash;
    v_key.lifetime_seconds := expires_seconds;
    v_key.created_at := v_now;
    v_key.replaces := replaces;
    perform ostinato_internal.check_api_key(v_key);
    v_key.expires_at := v_now + make_interval(secs => expires_seconds);
    v_key.roles := array(select distinct r.r from unnest(roles) r (r) order by r.r);
    insert into api_key select v_key.*;
    return ostinato_internal.api_key_line(v_key, v_now);
end
$$;

-- Returns a key by its id, with its hash; no line when there is none.
create function ostinato.find_api_key(key_id bigint)
returns table (
    id bigint, tenant_id text, subject text, roles text[], name text, created_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz, revoked_at timestamptz, replaces bigint, usable boolean, hash bytea
) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.*, k.hash from api_key k cross join lateral ostinato_internal.api_key_line(k, ostinato.now()) l
    where k.id = $1
$$;

-- Returns the keys whose hash was shown, with their ids: for the role of the API, which so reads no key that nobody
-- sent. That hashes are not compared in constant time reveals at most how a SHA-256 begins, which opens nothing.
create function ostinato.match_api_keys(key_ids bigint[], hashes bytea[])
returns table (
    id bigint, tenant_id text, subject text, roles text[], name text, created_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz, revoked_at timestamptz, replaces bigint, usable boolean, hash bytea
) language sql volatile security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.*, k.hash from unnest($1, $2) s (id, hash) join api_key k on k.id = s.id and k.hash = s.hash
    cross join lateral ostinato_internal.api_key_line(k, ostinato.now()) l
$$;

-- Writes down that keys were used just now, unless that was done less than a minute ago; returns for how many. A key
-- that somebody changes at the moment is left out: nobody waits for a note.
create function ostinato.note_api_key_use(key_ids bigint[]) returns integer language plpgsql security definer
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_now   constant timestamptz := ostinato.now();
    v_count integer;
begin
    with due as (
        select k.id from api_key k
        where k.id = any (key_ids) and coalesce(k.last_used_at <= v_now - interval '1 minute', true)
        order by k.id for no key update skip locked)
    update api_key k set last_used_at = v_now from due d where k.id = d.id;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Returns the keys of a tenant (null = all), newest first: all, or those that can or cannot be used. `before` is the
-- key to go on from.
create function ostinato.list_api_keys(
    tenant_id text default null, usable boolean default null, before bigint default null, most integer default 100
) returns setof ostinato_data.api_key_line language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select l.* from (select ostinato.now() as at) n cross join api_key k
    cross join lateral ostinato_internal.api_key_line(k, n.at) l
    where ($1 is null or k.tenant_id = $1) and ($2 is null or l.usable = $2) and ($3 is null or k.id < $3)
    order by k.id desc limit ostinato_internal.page_size($4)
$$;

-- Locks a key by its id until the end of the transaction; with a tenant, only if it is that one's.
create function ostinato_internal.lock_api_key(key_id bigint, tenant_id text default null) returns ostinato_data.api_key
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_key api_key;
begin
    select k.* into v_key from api_key k where k.id = key_id and (tenant_id is null or k.tenant_id = tenant_id)
    for no key update;
    if not found then
        raise exception using errcode = 'OS404', message = format('there is no API key ost_%s', key_id),
            detail = json_build_object('key_id', key_id, 'tenant_id', tenant_id),
            hint = 'See them with: ostinato keys list';
    end if;
    return v_key;
end
$$;

-- Gives a key a successor with the same tenant, subject, roles and name, that lives as long as it was to live, or as
-- `expires_seconds` says. The old one works on for the overlap, but no longer than it would have; without an overlap it
-- is revoked.
create function ostinato.rotate_api_key(
    key_id bigint, new_id bigint, new_hash bytea, overlap_seconds double precision default 86400,
    expires_seconds double precision default null, tenant_id text default null
) returns ostinato_data.api_key_line language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_old  constant api_key := ostinato_internal.lock_api_key(key_id, tenant_id);
    v_now  constant timestamptz := ostinato.now();
    v_next bigint;
begin
    if not coalesce(overlap_seconds between 0 and ostinato_internal.year_seconds(), false) then
        raise exception using errcode = 'OS400',
            message = format('the overlap of two keys cannot be %s s', coalesce(overlap_seconds::text, 'null')),
            detail = json_build_object('overlap_seconds', overlap_seconds::text), hint = 'Choose 0 seconds to a year.';
    end if;
    if not ostinato_internal.is_api_key_usable(v_old, v_now) then
        raise exception using errcode = 'OS409',
            message = format('API key ost_%s %s: it has no successor', key_id,
                             case when v_old.revoked_at is null then 'has expired' else 'was revoked' end),
            detail = json_build_object('key_id', key_id, 'expires_at', v_old.expires_at,
                                       'revoked_at', v_old.revoked_at),
            hint = 'Make a new one with: ostinato keys create';
    end if;
    select max(k.id) into v_next from api_key k
    where k.replaces = key_id and ostinato_internal.is_api_key_usable(k, v_now);
    if v_next is not null then
        raise exception using errcode = 'OS409',
            message = format('API key ost_%s was rotated already: ost_%s takes its place', key_id, v_next),
            detail = json_build_object('key_id', key_id, 'replaced_by', v_next),
            hint = format('Rotate ost_%s; if nobody has its text, revoke it first: ostinato keys revoke ost_%s', v_next,
                          v_next);
    end if;
    if overlap_seconds = 0 then
        update api_key k set revoked_at = v_now where k.id = key_id;
    else
        update api_key k set expires_at = least(k.expires_at, v_now + make_interval(secs => overlap_seconds))
        where k.id = key_id;
    end if;
    perform ostinato_internal.record(
        'rotate', 'key', 'ost_' || key_id, v_old.tenant_id,
        detail => json_build_object('successor', 'ost_' || new_id, 'overlap_seconds', overlap_seconds));
    return ostinato_internal.create_api_key(
        new_id, new_hash, v_old.tenant_id, v_old.subject, v_old.roles, v_old.name,
        coalesce(expires_seconds, v_old.lifetime_seconds), key_id);
end
$$;

-- Ends a key at once and for good. One that was revoked before stays as it was.
create function ostinato.revoke_api_key(key_id bigint, tenant_id text default null) returns ostinato_data.api_key_line
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_key api_key := ostinato_internal.lock_api_key(key_id, tenant_id);
    v_now constant timestamptz := ostinato.now();
begin
    v_key.revoked_at := coalesce(v_key.revoked_at, v_now);
    update api_key k set revoked_at = v_key.revoked_at where k.id = key_id;
    perform ostinato_internal.record('revoke', 'key', 'ost_' || key_id, v_key.tenant_id);
    return ostinato_internal.api_key_line(v_key, v_now);
end
$$;

-- Deletes keys that ended that long ago; returns how many. Until then they are listed, and a refusal says why they
-- are refused; a successor that still works forgets what it replaced. A key that somebody else is changing is left for
-- the next time.
create function ostinato.prune_api_keys(keep_days integer, most integer default 1000) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_past constant timestamptz := ostinato.now() - make_interval(days => keep_days);
    v_gone bigint[];
begin
    select array_agg(o.id) into v_gone from (
        select k.id from api_key k where least(k.revoked_at, k.expires_at) < v_past order by k.id limit most
        for update skip locked) o;
    update api_key k set replaces = null where k.replaces = any (v_gone);
    delete from api_key k where k.id = any (v_gone);
    return coalesce(cardinality(v_gone), 0);
end
$$;
