-- The rows of the places that a job waits in: `ready` and `scheduled`. Their columns are listed here and nowhere else,
-- so a new one is added in this file. The functions return types of their own: one that returned the row of a table
-- would fail from the moment a migration adds a column to that table until the functions are replaced. All of it is
-- inlined: a plan reads as if the columns stood in the statement. For that, functions in `from` return a set, and take
-- no volatile argument.

-- Returns the key whose slots a job takes in its queue, as places, claims and rate_use hold it: the limit key with the
-- tenant in front of it, or with nobody, where the jobs of all tenants share it. The length of the tenant's name keeps
-- two of them apart, whatever characters they have. With the cast it is inlined: `||` of a number and a text is only
-- stable.
create function ostinato_internal.slot_key(tenant_id text, limit_key text, limit_scope text) returns text
language sql immutable parallel safe as $$
    select case when $2 is null then null when $3 = 'installation' then '0::' || $2
                else length($1)::text || ':' || $1 || ':' || $2 end
$$;

-- Returns the row of a job that is made now.
create function ostinato_internal.new_place(
    id bigint, priority integer, keyed boolean, queue text, tenant_id text, kind text, limit_key text,
    limit_scope text default null
) returns setof ostinato_data.place language sql immutable as $$
    select $1, $1, 1, $2::smallint, 0::smallint, 0::smallint, $3, $4, $5, $6, ostinato_internal.slot_key($5, $7, $8)
$$;

-- Returns the row of a job that is there, for its next run.
create function ostinato_internal.place_of(
    job ostinato_data.job, "position" bigint, attempt integer, failures integer, crashes integer
) returns ostinato_data.place language sql immutable as $$
    select row($2, ($1).id, $3, ($1).priority, $4::smallint, $5::smallint,
               ($1).unique_key is not null or ($1).group_id is not null, ($1).queue, ($1).tenant_id, ($1).kind,
               ostinato_internal.slot_key(($1).tenant_id, ($1).limit_key, ($1).limit_scope))::ostinato_data.place
$$;

-- Returns the row of a job that stands in line.
create function ostinato_internal.place_in_line(line ostinato_data.ready)
returns ostinato_data.place
language sql immutable as $$
    select row(($1).position, ($1).job_id, ($1).attempt, ($1).priority, ($1).failures, ($1).crashes, ($1).keyed,
               ($1).queue, ($1).tenant_id, ($1).kind, ($1).limit_key)::ostinato_data.place
$$;

-- Returns the same row at another position of its lane.
create function ostinato_internal.place_at(place ostinato_data.place, "position" bigint)
returns setof ostinato_data.place
language sql immutable as $$
    select $2, ($1).job_id, ($1).attempt, ($1).priority, ($1).failures, ($1).crashes, ($1).keyed, ($1).queue,
           ($1).tenant_id, ($1).kind, ($1).limit_key
$$;

-- Returns the row of a job that waits for a time, or for an event.
create function ostinato_internal.scheduled_row(place ostinato_data.place, run_at timestamptz, reason text)
returns setof ostinato_data.waiting_place language sql immutable as $$
    select ($1).job_id, $2, ($1).attempt, ($1).priority, ($1).failures, ($1).crashes, ($1).keyed, $3, ($1).queue,
           ($1).tenant_id, ($1).kind, ($1).limit_key
$$;

-- Returns the row of a job whose time has come.
create function ostinato_internal.ready_row(scheduled ostinato_data.scheduled, "position" bigint)
returns setof ostinato_data.place language sql immutable as $$
    select $2, ($1).job_id, ($1).attempt, ($1).priority, ($1).failures, ($1).crashes, ($1).keyed, ($1).queue,
           ($1).tenant_id, ($1).kind, ($1).limit_key
$$;
