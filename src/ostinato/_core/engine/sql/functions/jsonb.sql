-- The verbs for callers that send jsonb: `select ostinato.enqueue_job('a.b', jsonb_build_object('n', 1))`, and drivers
-- that bind it. Each has a twin with json, which it calls; a test compares their names and defaults.
--
-- The engine stores json, because it keeps the text as it came and costs no conversion. PostgreSQL converts jsonb to
-- json by itself only in assignments, so a call needs a function that takes it. Two functions make a literal
-- ambiguous, '{}' may be either, unless one of them is preferred: the first text of a twin is `varchar` here. `text`
-- is the preferred type of strings, so literals and parameters without a type go to the function with json, as before.
-- Verbs without a text before their JSON (complete_job, fail_job, signal_job, upsert_schedules, declare_alerts) take
-- any type instead.

-- Adds a job, see enqueue_job with json.
create function ostinato.enqueue_job(
    kind varchar, args jsonb, queue text default null, priority integer default null, run_at timestamptz default null,
    tenant_id text default null, correlation_id text default null, limit_key text default null,
    unique_key text default null, unique_policy text default 'return',
    unique_states text[] default '{scheduled,ready,running}', max_attempts integer default null,
    limit_scope text default 'tenant', subject text default null, traceparent text default null
) returns bigint language sql as $$
    select ostinato.enqueue_job(
        $1::text, $2::json, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
$$;

-- Adds a job under a lease, or attaches to the one there, see enqueue_or_attach with json.
create function ostinato.enqueue_or_attach(
    name varchar, kind text, args jsonb, queue text default null, priority integer default null,
    run_at timestamptz default null, tenant_id text default null, correlation_id text default null,
    limit_key text default null, max_attempts integer default null, limit_scope text default 'tenant',
    subject text default null,
    out job_id bigint, out attached boolean
) language sql as $$
    select * from ostinato.enqueue_or_attach(
        $1::text, $2, $3::json, $4, $5, $6, $7, $8, $9, $10, $11, $12)
$$;

-- Emits an event, see emit_event with json.
create function ostinato.emit_event(
    type varchar, payload jsonb, ordering_key text default null, version integer default 1,
    tenant_id text default null, correlation_id text default null, occurred_at timestamptz default null,
    producer text default null, subject text default null
) returns bigint language sql as $$
    select ostinato.emit_event(
        $1::text, $2::json, $3, $4, $5, $6, $7, $8, $9)
$$;

-- Begins a request, see begin_idempotent with json.
create function ostinato.begin_idempotent(
    scope varchar, key text, fingerprint text, fields jsonb, declaration text default '', holder text default null,
    lease_seconds double precision default 60, ttl_seconds double precision default 86400, tenant_id text default null,
    wait boolean default true, out decision text, out token bigint, out attempt integer, out held_by text,
    out since timestamptz, out until timestamptz, out answer json, out resource text, out finished_at timestamptz,
    out expires_at timestamptz, out differing text[], out declaration_changed boolean
) language sql as $$
    select * from ostinato.begin_idempotent(
        $1::text, $2, $3, $4::json, $5, $6, $7, $8, $9, $10)
$$;

-- Stores the answer of a request, see finish_idempotent with json.
create function ostinato.finish_idempotent(
    scope varchar, key text, token bigint, answer jsonb, resource text default null, tenant_id text default null
) returns void language sql as $$
    select ostinato.finish_idempotent(
        $1::text, $2, $3, $4::json, $5, $6)
$$;

-- Saves a step, see save_step with json.
create function ostinato.save_step(
    job_id bigint, attempt integer, "position" integer, name varchar, result jsonb, duration_ms integer default null,
    claim_id bigint default null
) returns void language sql as $$
    select ostinato.save_step(
        $1, $2, $3, $4::text, $5::json, $6, $7)
$$;

-- Lets an event happen to a row, see transition with json.
create function ostinato.transition(
    machine varchar, entity text, id text, event text, by text default null, why text default null,
    correlation_id text default null, changes jsonb default null, tenant_id text default null,
    job_id bigint default null, attempt integer default null, lease text default null, token bigint default null,
    lease_tenant text default null
) returns text language sql as $$
    select ostinato.transition(
        $1::text, $2, $3, $4, $5, $6, $7, $8::json, $9, $10, $11, $12, $13, $14)
$$;

-- Lets an event happen to rows, see transition_all with json.
create function ostinato.transition_all(
    machine varchar, entity text, ids text[], event text, by text default null, why text default null,
    correlation_id text default null, changes jsonb default null, tenant_id text default null,
    job_id bigint default null, attempt integer default null, lease text default null, token bigint default null,
    lease_tenant text default null, skip boolean default false, correlation_ids text[] default null
) returns table (id text, from_state text, to_state text) language sql as $$
    select * from ostinato.transition_all(
        $1::text, $2, $3, $4, $5, $6, $7, $8::json, $9, $10, $11, $12, $13, $14, $15, $16)
$$;

-- Makes or changes a schedule, see upsert_schedule with json.
create function ostinato.upsert_schedule(
    name varchar, kind text, args jsonb, cron text default null, at_time time default null,
    weekdays text[] default null, at timestamp default null, zone text default 'UTC', gap text default null,
    overlap text default null, key text default null, owner text default null, queue text default null,
    priority integer default null, catch_up text default 'last', catch_up_most integer default 100,
    catch_up_seconds double precision default null, grace_seconds double precision default 60,
    jitter_seconds double precision default 0, starts_at timestamptz default null, ends_at timestamptz default null,
    tenant_id text default null
) returns bigint language sql as $$
    select ostinato.upsert_schedule(
        $1::text, $2, $3::json, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
$$;

-- Makes an endpoint, see create_webhook_endpoint with json.
create function ostinato.create_webhook_endpoint(
    name varchar, url text, event_types text[] default '{*}', tenant_id text default null, description text default '',
    headers jsonb default '{}', retry jsonb default null, timeout_seconds double precision default 5,
    disable_after_seconds double precision default 432000, ordered boolean default true,
    endpoint_id bigint default null,
    secret text default null, secret_hint text default null, header_values text default null
) returns bigint language sql as $$
    select ostinato.create_webhook_endpoint(
        $1::text, $2, $3, $4, $5, $6::json, $7::json, $8, $9, $10, $11, $12, $13, $14)
$$;

-- Changes an endpoint, see change_webhook_endpoint with json.
create function ostinato.change_webhook_endpoint(
    name varchar, tenant_id text default null, url text default null, event_types text[] default null,
    description text default null, headers jsonb default null, retry jsonb default null,
    timeout_seconds double precision default null, disable_after_seconds double precision default null,
    header_values text default null
) returns void language sql as $$
    select ostinato.change_webhook_endpoint(
        $1::text, $2, $3, $4, $5, $6::json, $7::json, $8, $9, $10)
$$;

-- Records an action, see note_action with json.
create function ostinato.note_action(
    verb varchar, noun text, target text default null, tenant_id text default null, job_ids bigint[] default null,
    count bigint default 1, filter jsonb default null, detail jsonb default null
) returns void language sql as $$
    select ostinato.note_action($1::text, $2, $3, $4, $5, $6, $7::json, $8::json)
$$;
