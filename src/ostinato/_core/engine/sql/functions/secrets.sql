-- Secrets: values that clients seal before they are stored, and open after they were read.
--
-- The database has no key: it stores `ost1:<key id>:<base64>` and can tell which key sealed a value, no more. Here is
-- what `ostinato secrets` needs: to count values by key, to fetch those that are not sealed with the newest key, and to
-- replace each if it still is what was fetched. So a rotation may be killed and repeated at any point, and two at once
-- do no harm: of two new values for one row the second finds another old value, and changes nothing.
-- Lock order: none beyond the rows of one column; a set is one statement.

-- Returns whether a text has the form of a sealed value.
create function ostinato.is_sealed(value text) returns boolean language sql immutable parallel safe as $$
    select $1 ~ '^ost1:[0-9a-f]{8}:[A-Za-z0-9_-]+$'
$$;

-- Returns arguments as people may see them: what is sealed, or belongs to a secret argument of the kind, is hidden.
create function ostinato_internal.masked_args(kind text, args json) returns json language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select case
        when exists (select from json_each_text($2) a
                     where a.value is not null and a.key = any (
                         select unnest(k.secret_args) from kind k where k.name = $1))
        then (select json_object_agg(a.key, case when s.is_secret and json_typeof(a.value) <> 'null'
                                                 then to_json('•••'::text) else a.value end order by a.n)
              from json_each($2) with ordinality a (key, value, n)
              cross join lateral (select exists (
                  select from kind k where k.name = $1 and a.key = any (k.secret_args)) as is_secret) s)
        else $2
    end
$$;

-- Hides sealed values wherever they stand in a JSON text.
create function ostinato_internal.masked(value json) returns json language sql immutable as $$
    select case when strpos($1::text, '"ost1:') = 0 then $1
           else regexp_replace($1::text, '"ost1:[0-9a-f]{8}:[A-Za-z0-9_-]+"', '"•••"', 'g')::json end
$$;

-- Refuses arguments whose secret ones are in the clear: a row, a dump and a replica would have them. Clients seal them.
create function ostinato_internal.check_secret_args(kind text, args json, secret_args text[]) returns void
language plpgsql immutable as $$
begin
    if exists (select from json_each_text(args) a
               where a.key = any (secret_args) and a.value is not null and not ostinato.is_sealed(a.value)) then
        raise exception using errcode = 'OS400',
            message = format('%s has secret arguments that are not sealed: %s', kind,
                             array_to_string(secret_args, ', ')),
            detail = json_build_object('kind', kind, 'secret_args', secret_args),
            hint = 'Enqueue it by a client of Ostinato, which seals them: the database has no key.';
    end if;
end
$$;

-- Returns how many values of a column were sealed with each key; a key_id of null counts those in the clear.
create function ostinato.count_sealed(entity text, "column" text)
returns table (key_id text, values_ bigint) language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.column_type(entity, "column");
    return query execute format(
        'select case when ostinato.is_sealed(t.%1$I) then split_part(t.%1$I, '':'', 2) end, count(*)'
        ' from %2$s t where t.%1$I is not null group by 1 order by 1', "column", entity);
end
$$;

-- Returns some values of a column that are not sealed with the newest key: where each stands, and the columns it is
-- bound to.
create function ostinato.list_to_seal(entity text, "column" text, bound_to text[], newest text, most integer,
                                      skip text[] default '{}')
returns table (place text, bound text[], value text) language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.column_type(entity, c) from unnest(bound_to || "column") c;
    return query execute format(
        'select t.tableoid || '' '' || t.ctid, array[%3$s]::text[], t.%1$I from %2$s t'
        ' where t.%1$I is not null and not starts_with(t.%1$I, ''ost1:'' || $1 || '':'')'
        ' and t.tableoid || '' '' || t.ctid <> all ($3) limit $2',
        "column", entity, (select string_agg(format('t.%I::text', b), ', ') from unnest(bound_to) b))
    using newest, most, skip;
end
$$;

-- Replaces values of a column, each if it still stands where it was found; returns how many were.
create function ostinato.reseal(entity text, "column" text, places text[], olds text[], news text[])
returns integer language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    v_count integer;
begin
    perform ostinato_internal.column_type(entity, "column");
    execute format(
        'update %2$s t set %1$I = n.new from unnest($1, $2, $3) n (place, old, new)'
        ' where t.ctid = split_part(n.place, '' '', 2)::tid and t.tableoid = split_part(n.place, '' '', 1)::oid'
        ' and t.%1$I = n.old', "column", entity)
    using places, olds, news;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;

-- Returns the kinds that have secret arguments.
create function ostinato.secret_kinds() returns table (kind text, secret_args text[]) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select k.name, k.secret_args from kind k where k.secret_args <> '{}' order by k.name
$$;

-- Returns the jobs with secret arguments among the next ones after an id, with the id to go on from; `upto` is null at
-- the end. It reads so many jobs and no more, because few of many may have any.
create function ostinato.secret_jobs(after bigint, most integer)
returns table (job_id bigint, tenant_id text, kind text, args text, secret_args text[], upto bigint) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with seen as materialized (select j.* from job j where j.id > $1 order by j.id limit $2)
    select s.id, s.tenant_id, s.kind, s.args::text, k.secret_args, m.upto
    from (select max(s.id) as upto from seen s) m
    left join (seen s join kind k on k.name = s.kind and k.secret_args <> '{}') on true
$$;

-- Replaces the arguments of jobs, each if they still are what was read; returns how many were. A job is written once
-- but for this: its arguments mean the same before and after, and a reader can open either.
create function ostinato.reseal_args(job_ids bigint[], olds text[], news text[]) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_count integer;
begin
    update job j set args = n.new::json from unnest(job_ids, olds, news) n (id, old, new)
    where j.id = n.id and j.args::text = n.old;
    get diagnostics v_count = row_count;
    return v_count;
end
$$;
